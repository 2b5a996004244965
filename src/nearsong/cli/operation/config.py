"""``nearsong config``: which options are set, and where."""

from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit, urlunsplit

import typer

from nearsong.cli.common import JsonOption, address_of, output, plain_table, print_json, print_line, printable


def config(
    context: typer.Context,
    every: Annotated[bool, typer.Option("--all", help="Also options that are not set, with their defaults.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Show which options are set, and where; and check all of nearsong.toml.

    A flag wins over its environment variable (NEARSONG_SERVE_PORT), that over the config file, that over the default.
    The file is that of --config, of NEARSONG_CONFIG, or nearsong.toml in your config folder:

        library = "/srv/nearsong/library.sqlite"
        [serve]
        port = 8080
        host-name = ["music.example.org"]
        [listens.import]
        user = "anna"
    """
    from nearsong.cli.operation.config_file import default_config

    file, sections = context.meta["nearsong.config"]
    rows = _rows(context.find_root(), file, sections, every)
    if as_json:
        print_json({"file": None if file is None else str(file), "options": rows})
        return
    console = output()
    none = f"No config file; to have one, write {default_config()}."
    print_line(console, none if file is None else f"Config file: {file}")
    table = plain_table("command", "option", "value", "from", "variable")
    for row in rows:
        table.add_row(*(printable(str(row[key])) for key in ("command", "option", "value", "from", "variable")))
    console.print(table, markup=False)


def _rows(root: Any, file: Path | None, sections: dict[str, Any], every: bool) -> list[dict[str, Any]]:
    """Return the options that are set, of all commands; with ``every``, all others too."""
    from nearsong.cli.operation.defaults import settings_of
    from nearsong.cli.operation.option_names import all_commands, settable_options, variable_of

    rows = []
    for path, command in all_commands(root.command):
        section = _section(sections, path)
        settings = settings_of(command, path, root, file, section)
        for key, option in settable_options(command, path).items():
            is_library = key == "library" and not path
            if key not in settings and not every and not is_library:
                continue
            value = settings[key][1].value if key in settings else option.default
            origin = settings[key][1].origin if key in settings else "default"
            if is_library:
                value = address_of(None)
                if root.params.get("library") not in (None, settings[key][1].value if key in settings else None):
                    origin = "--library"
            rows.append(
                {
                    "command": " ".join(path),
                    "option": key,
                    "value": _shown(key, value),
                    "from": origin,
                    "variable": variable_of(path, key, option),
                }
            )
    return rows


def _section(sections: dict[str, Any], path: tuple[str, ...]) -> Any:
    """Return what the file says about a command; at the top, only what is not a section."""
    found: Any = sections
    for name in path:
        found = found.get(name, {})
    return {key: value for key, value in found.items() if not isinstance(value, dict)} if not path else found


def _shown(key: str, value: Any) -> Any:
    """Return a value that may be printed: without tokens and passwords."""
    if key == "token" and value:
        return "(hidden)"
    if key == "library" and "://" in str(value):
        parts = urlsplit(str(value))
        user = f"{parts.username}@" if parts.username else ""
        port = f":{parts.port}" if parts.port else ""
        return urlunsplit((parts.scheme, f"{user}{parts.hostname or ''}{port}", parts.path, "", ""))
    return "" if value is None else str(value) if isinstance(value, Path) else value
