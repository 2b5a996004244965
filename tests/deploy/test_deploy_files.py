"""The files of `deploy/` name commands, options and variables that nearsong has, and who reads them agrees."""

import json
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import typer
import yaml

from command_line import run_nearsong
from nearsong.cli import app
from nearsong.cli.operation.config_file import CONFIG_VARIABLE
from nearsong.cli.operation.option_names import all_commands, settable_options, variable_of

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
COMMANDS = typer.main.get_command(app)


def takes(words: list[str]) -> None:
    """Parse a command line without running it; Typer raises what it does not take."""
    context = COMMANDS.make_context("nearsong", list(words))
    name, command, rest = COMMANDS.resolve_command(context, [*context._protected_args, *context.args])
    command.make_context(name, rest, parent=context)


def list_of(text: str, instruction: str) -> list[str]:
    return json.loads(re.search(rf"^{instruction} (\[.*\])$", text, re.MULTILINE)[1])


def test_the_image_runs_a_command_of_nearsong():
    text = (DEPLOY / "Containerfile").read_text()
    assert list_of(text, "ENTRYPOINT") == ["nearsong"]
    takes(list_of(text, "CMD"))
    for source in re.findall(r"^COPY (?!--from)(.*) \S+$", text, re.MULTILINE):
        assert all((ROOT / one).exists() for one in source.split())
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert set(re.search(r'"\.\[(.*?)\]"', text)[1].split(",")) <= set(extras)


def test_the_compose_file_runs_commands_of_nearsong_with_variables_that_it_reads():
    text = (DEPLOY / "compose.yaml").read_text()
    services = yaml.safe_load(text)["services"]
    assert set(services) == {"service", "database", "scheduler", "worker", "experiment"}
    takes(services["service"]["command"])
    known = {
        variable_of(path, key, option)
        for path, command in all_commands(COMMANDS)
        for key, option in settable_options(command, path).items()
    }
    variables = {name for name in services["service"]["environment"] if name.startswith("NEARSONG")}
    assert variables <= known | {CONFIG_VARIABLE}
    assert services["worker"]["profiles"] == ["cluster", "experiment"]  # the service itself needs no worker
    comments = re.findall(r"(?:nearsong|experiment) (\w+ .*8786)$", text, re.MULTILINE)
    assert [comment.split()[0] for comment in comments] == ["scan", "run"]
    takes(shlex.split(comments[0]))
    takes(["experiment", *shlex.split(comments[1])])


def test_workers_of_the_compose_file_have_the_music_where_the_service_has_it_and_the_password_of_the_database():
    services = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]
    service, worker, experiment = (services[name] for name in ("service", "worker", "experiment"))
    (music,) = [volume for volume in service["volumes"] if "MUSIC" in volume]
    assert music.endswith(":/music:ro")
    assert music in worker["volumes"]
    assert "/music" in service["command"]
    assert worker["environment"]["PGPASSWORD"] == service["environment"]["PGPASSWORD"]
    assert set(experiment["volumes"]) < set(worker["volumes"])
    assert all("networks" not in one for one in services.values())  # so that all reach `database` and `scheduler`


def test_the_unit_and_the_config_file_are_those_of_nearsong():
    line = re.search(r"^ExecStart=(.*)$", (DEPLOY / "nearsong.service").read_text(), re.MULTILINE)[1]
    program, *words = shlex.split(line)
    assert Path(program).name == "nearsong"
    takes([str(DEPLOY / "nearsong.toml") if word.endswith("nearsong.toml") else word for word in words])
    commented = re.sub(r"^# (?=[a-z-]+ = )", "", (DEPLOY / "nearsong.toml").read_text(), flags=re.MULTILINE)
    assert "allow-folder" in tomllib.loads(commented)["serve"]
    result = run_nearsong("--config", DEPLOY / "nearsong.toml", "config")
    assert result.returncode == 0, result.stderr


def test_programs_that_read_these_files_find_nothing_wrong():
    """Skips, with the reason in what it prints, what is not installed here."""
    done = subprocess.run([sys.executable, "deploy/check.py", "--quick"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    checks = dict(line.split(": ", 1) for line in done.stdout.splitlines())
    assert set(checks) == {"lint", "compose", "unit"}
    assert checks["lint"] == "hadolint finds nothing"
    if shutil.which("docker-compose") is not None:
        assert re.fullmatch(r"(docker compose|docker-compose) takes it", checks["compose"])
    if shutil.which("systemd-analyze") is not None:
        assert checks["unit"].startswith("systemd takes it")
