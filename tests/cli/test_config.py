"""Options from ``nearsong.toml`` and the environment: every one of every command, and errors in one line."""

import json
import os
from contextlib import suppress
from pathlib import Path
from unittest import mock

import pytest
import typer
from hypothesis import given, settings
from hypothesis import strategies as st

from command_line import run_nearsong
from nearsong.cli import app
from nearsong.cli.operation.option_names import all_commands, settable_options, subcommands, variable_of

ROOT = typer.main.get_command(app)
OPTIONS = [
    pytest.param(path, key, id=" ".join([*path, f"--{key}"]))
    for path, command in all_commands(ROOT)
    for key in settable_options(command, path)
]


def command_at(root, path):
    for name in path:
        root = subcommands(root)[name]
    return root


def texts_for(option) -> list[str]:
    """Return three texts that an option takes."""
    taken = []
    for text in ("1", "2", "3", "0.25", "0.5"):
        with suppress(typer.BadParameter):
            option.process_value(typer.Context(ROOT), [text] if option.multiple else text)
            taken.append(text)
    return taken[:3]


def seen(path, key, arguments, file: Path, **environment: str):
    """Return what a command gets for an option when it is run; nothing else of it runs."""
    command = command_at(ROOT, path)
    found = {}
    words = ["1" for parameter in command.params if parameter.param_type_name == "argument"]
    words += [
        word
        for one_key, option in settable_options(command, path).items()
        if option.required and one_key != key
        for word in (f"--{one_key}", "1")
    ]
    more = ["status"] if not path else []
    clean = {name: value for name, value in os.environ.items() if not name.startswith("NEARSONG")}
    with (
        mock.patch.dict(os.environ, clean | {"NEARSONG_CONFIG": str(file)} | environment, clear=True),
        mock.patch.object(command_at(ROOT, ("status",)), "callback", return_value=None),
        mock.patch.object(command, "callback", found.update),
    ):
        ROOT.main([*path, *arguments, *words, *more], prog_name="nearsong", standalone_mode=False)
    return found[settable_options(command, path)[key].name]


def written(file: Path, path, key: str, value) -> Path:
    section = f"[{'.'.join(path)}]\n" if path else ""
    file.write_text(f"{section}{key} = {json.dumps(value)}\n")
    return file


@pytest.mark.parametrize(("path", "key"), OPTIONS)
def test_a_flag_wins_over_the_environment_that_over_the_file_that_over_the_default(tmp_path, path, key):
    option = settable_options(command_at(ROOT, path), path)[key]
    variable = variable_of(path, key, option)
    nothing = tmp_path / "empty.toml"
    nothing.touch()
    if option.is_flag:
        default, on = option.default, not option.default
        assert seen(path, key, [], nothing) == default
        file = written(tmp_path / "n.toml", path, key, on)
        assert seen(path, key, [], file) == on
        assert seen(path, key, [], file, **{variable: str(not on)}) == (not on)
        flag = option.opts[0] if on else (option.secondary_opts or [None])[0]
        assert flag is not None, "an option that is on by default needs a flag that switches it off"
        assert seen(path, key, [flag], written(file, path, key, not on), **{variable: str(not on)}) == on
        return
    one, two, three = texts_for(option)
    values = [seen(path, key, [f"--{key}", text], nothing) for text in (one, two, three)]
    assert len(set(map(str, values))) == 3
    file = written(tmp_path / "n.toml", path, key, [one] if option.multiple else json.loads(one))
    assert seen(path, key, [], file) == values[0]
    assert seen(path, key, [], file, **{variable: two}) == values[1]
    assert seen(path, key, [f"--{key}", three], file, **{variable: two}) == values[2]


def test_no_option_has_the_name_of_a_command_beside_it_and_no_two_share_a_variable():
    variables = []
    for path, command in all_commands(ROOT):
        options = settable_options(command, path)
        assert not set(options) & set(subcommands(command))
        variables += [variable_of(path, key, option) for key, option in options.items()]
    assert len(set(variables)) == len(variables)


def one_line_error(file: Path, *arguments: str) -> str:
    result = run_nearsong("--config", file, *(arguments or ("status",)))
    assert result.returncode == 2
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1
    return result.stderr.strip().removeprefix(f"nearsong: {file}")


@pytest.mark.parametrize(
    ("text", "command", "words"),
    [
        ("[serve]\nprot = 1", "serve", ": in [serve], prot is unknown; did you mean port?"),
        ("[serve]\nupload_megabytes = 1", "serve", "upload_megabytes is unknown; did you mean upload-megabytes?"),
        ("[srve]\nport = 1", "status", ": the section [srve] is unknown; did you mean [serve]?"),
        ("libary = 'x'", "status", ": the option libary is unknown; did you mean library?"),
        ("[scan]\nlibrary = 'x'", "scan", ": set library once, above all sections, not in [scan]."),
        ("scan = 3", "status", ": scan is a command; write [scan] and its options below."),
        ("[serve]\nport = 'many'", "serve", ": port in [serve] is 'many': "),
        ("[serve]\nport = true", "serve", ": port in [serve] is True; give a text or a number."),
        ("[serve]\nplays = 'no'", "serve", ": plays in [serve] is 'no'; give true or false."),
        ("[serve]\nhost-name = 'a.b'", "serve", ": host-name in [serve] is 'a.b'; give a list, such as ['a.b']."),
        ("[serve]\nhost = [1]", "serve", ": host in [serve] is [1]; give a text or a number."),
        (
            "[serve]\nport = 1\nport 2",
            "serve",
            " is not valid TOML: expected '=' after a key in a key/value pair, at line 3",
        ),
        ("[serve]\nfrobnicate = 1", "serve", ": in [serve], frobnicate is unknown; see `nearsong config --all`."),
        (
            "[listens]\nimport = 1",
            "listens",
            ": listens.import is a command; write [listens.import] and its options below.",
        ),
    ],
)
def test_a_mistake_in_the_file_is_one_line_that_says_where(tmp_path, text, command, words):
    file = tmp_path / "n.toml"
    file.write_text(text)
    arguments = {"listens": ["listens", "list"], "scan": ["scan", "x"]}.get(command, [command])
    assert words in one_line_error(file, *arguments)
    assert words in one_line_error(file, "config")  # which checks all of the file


@settings(max_examples=25)
@given(
    key=st.from_regex(r"[a-z][a-z-]{0,20}", fullmatch=True),
    path=st.sampled_from([path for path, _ in all_commands(ROOT)]),
)
def test_no_unknown_key_passes(tmp_path_factory, key, path):
    command = command_at(ROOT, path)
    if key in settable_options(command, path) or key in subcommands(command):
        return
    file = written(tmp_path_factory.getbasetemp() / "unknown.toml", path, key, 1)
    assert key in one_line_error(file, "config")


def test_a_missing_file_that_was_asked_for_is_an_error_and_help_needs_none(tmp_path):
    assert "config file not found: " in run_nearsong("--config", tmp_path / "none.toml", "status").stderr
    (tmp_path / "broken.toml").write_text("[")
    assert run_nearsong("--help", NEARSONG_CONFIG=str(tmp_path / "broken.toml")).returncode == 0


def test_the_file_in_the_config_folder_of_the_user_applies(tmp_path):
    (tmp_path / "nearsong").mkdir()
    (tmp_path / "nearsong" / "nearsong.toml").write_text(f"library = {json.dumps(str(tmp_path / 'mine.sqlite'))}")
    result = run_nearsong("status", XDG_CONFIG_HOME=str(tmp_path))
    assert f"library not found: {tmp_path / 'mine.sqlite'};" in result.stderr


def test_config_says_what_applies_and_where_from_and_shows_no_secret(tmp_path):
    file = tmp_path / "n.toml"
    file.write_text(
        "library = 'postgresql://me:secret@db/music'\n[serve]\nport = 9\ntoken = 'secret'\nhost-name = ['a']\n"
    )
    result = run_nearsong("--config", file, "config", "--json", NEARSONG_SERVE_PORT="8")
    assert "secret" not in result.stdout
    found = json.loads(result.stdout)
    assert found["file"] == str(file)
    rows = {(row["command"], row["option"]): (row["value"], row["from"]) for row in found["options"]}
    assert rows == {
        ("", "library"): ("postgresql://me@db/music", str(file)),
        ("serve", "port"): ("8", "NEARSONG_SERVE_PORT"),
        ("serve", "token"): ("(hidden)", str(file)),
        ("serve", "host-name"): (["a"], str(file)),
    }
    everything = json.loads(run_nearsong("config", "--all", "--json").stdout)["options"]
    assert len(everything) == len(OPTIONS)
    table = run_nearsong("--config", file, "--library", tmp_path / "x.sqlite", "config").stdout
    assert f"Config file: {file}" in table
    assert "--library" in table
