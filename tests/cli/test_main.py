"""The command line's entry point: version, help, unknown commands."""

import errno
import subprocess
import sys

import pytest
from typer.testing import CliRunner

import nearsong
from nearsong import cli


def run_nearsong(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "nearsong", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=300)


def test_version_is_the_package_version():
    assert run_nearsong("--version").stdout.strip() == f"nearsong {nearsong.__version__}"


def test_help_lists_the_commands():
    answer = run_nearsong("--help")
    assert answer.returncode == 0
    for command in (
        "scan",
        "listens",
        "train",
        "similar",
        "playlist",
        "map",
        "status",
        "models",
        "demo",
        "experiment",
    ):
        assert f" {command} " in answer.stdout


@pytest.mark.parametrize("command", ["status", "why", "encoders", "similar"])
def test_the_help_of_a_command_has_each_example_on_its_own_line(command):
    lines = [line.strip() for line in CliRunner().invoke(cli.app, [command, "--help"]).stdout.splitlines()]
    examples = [line for line in lines if line.startswith(f"nearsong {command}")]
    assert len(examples) > 1
    assert not any("nearsong" in example[1:] for example in examples)


def test_help_does_not_import_numerical_libraries():
    code = (
        "import sys; sys.argv = ['nearsong', '--help']\n"
        "from nearsong.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "print([m for m in ('numpy', 'numba', 'sqlalchemy', 'sklearn', 'matplotlib') if m in sys.modules])"
    )
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert printed.strip().splitlines()[-1] == "[]"


def test_an_unknown_command_is_refused_with_exit_code_2():
    assert run_nearsong("sing").returncode == 2


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (errno.ENOSPC, "nearsong: the disk is full (no room); free some space and try again."),
        (errno.EROFS, "nearsong: the disk is read-only (no room); make it writable and try again."),
    ],
)
def test_a_full_disk_is_one_line(monkeypatch, capsys, number, words):
    def fail() -> None:
        raise OSError(number, "no room", "/cache/x")

    monkeypatch.setattr(cli, "app", fail)
    with pytest.raises(SystemExit) as caught:
        cli.main()
    assert caught.value.code == 2
    assert capsys.readouterr().err.strip() == words


def test_another_error_of_the_system_is_not_hidden(monkeypatch):
    def fail() -> None:
        raise OSError(errno.EIO, "broken disk")

    monkeypatch.setattr(cli, "app", fail)
    with pytest.raises(OSError, match="broken disk"):
        cli.main()


@pytest.mark.parametrize("words", [["--help"], ["sync", "subsonic", "--help"]], ids=" ".join)
def test_help_shows_no_value_for_a_flag(words):
    printed = CliRunner().invoke(cli.app, words).stdout
    assert "--help" in printed
    assert "bool" not in printed


def test_after_the_scan_of_an_empty_folder_the_next_step_is_to_add_music(tmp_path):
    (tmp_path / "music").mkdir()
    printed = run_nearsong("--library", tmp_path / "l.sqlite", "scan", tmp_path / "music").stdout
    assert f"Next: No songs from {tmp_path / 'music'} yet; add music, or finish" in " ".join(printed.split())
