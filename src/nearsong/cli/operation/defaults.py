"""The environment and ``nearsong.toml`` -> the defaults of a command's options, in Typer's ``default_map``.

A flag wins over its environment variable, that over the file, that over the default. Only the command that runs is
looked at, so that no other has to be loaded; ``nearsong config`` checks all of the file.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperGroup

from nearsong.cli.operation.config_file import read_config, unknown
from nearsong.cli.operation.option_names import (
    LIST_SEPARATOR,
    Command,
    Option,
    settable_options,
    subcommands,
    variable_of,
)
from nearsong.errors import InvalidInputError

_TRUE, _FALSE = ("1", "true", "yes", "on"), ("0", "false", "no", "off")


@dataclass(frozen=True)
class Setting:
    """A value for an option, and where it comes from."""

    value: Any
    origin: str


class ConfiguredGroup(TyperGroup):
    """The commands of nearsong, with defaults from the environment and the config file."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that the arguments name, after its defaults were set."""
        name, command, rest = super().resolve_command(ctx, args)
        if command is not None and name is not None and not ctx.resilient_parsing:
            file, sections = ctx.meta.get("nearsong.config", (None, {}))
            given = defaults(command, (name,), ctx, file, sections.get(name, {}))
            ctx.default_map = {**(ctx.default_map or {}), name: given}
        return name, command, rest


def load_config(context: typer.Context, path: Path | None) -> Path | None:
    """Read the config file, and set the defaults of the options that all commands share."""
    if context.resilient_parsing:  # for completion, which must not fail
        return path
    file, sections = read_config(path)
    context.meta["nearsong.config"] = file, sections
    names = context.command.list_commands(context)  # type: ignore[attr-defined]
    own = settable_options(context.command, ())
    for key, value in sections.items():
        if isinstance(value, dict) and key not in names:
            raise unknown(file or "", "the section", f"[{key}]", [f"[{name}]" for name in names])
        if not isinstance(value, dict) and key in names:
            raise _no_section(file, key)
        if not isinstance(value, dict) and key not in own:
            raise unknown(file or "", "the option", key, list(own))
    shared = {key: value for key, value in sections.items() if key in own}
    context.default_map = _values(settings_of(context.command, (), context, file, shared))
    return file


def defaults(
    command: Command, path: tuple[str, ...], context: Any, file: Path | None, section: dict[str, Any]
) -> dict[str, Any]:
    """Return the ``default_map`` of a command and all commands below it."""
    given = _values(settings_of(command, path, context, file, section))
    for name, one in subcommands(command).items():
        given[name] = defaults(one, (*path, name), context, file, section.get(name, {}))
    return given


def settings_of(
    command: Command, path: Sequence[str], context: Any, file: Path | None, section: Any
) -> dict[str, tuple[Option, Setting]]:
    """Return key -> option and its setting, of those options of a command that the environment or the file sets.

    Raises
    ------
    InvalidInputError
        If the section has a key that the command does not have, or a value does not fit its option.
    """
    options = settable_options(command, path)
    if not isinstance(section, dict):
        raise _no_section(file, ".".join(path))
    below = subcommands(command) if path else {}
    for key in section:
        if key not in options and key not in below and path:
            if key == "library":
                raise InvalidInputError(f"{file}: set library once, above all sections, not in [{'.'.join(path)}].")
            raise unknown(f"{file}", f"in [{'.'.join(path)}],", key, [*options, *below])
    found = {}
    for key, option in options.items():
        variable = variable_of(path, key, option)
        if os.environ.get(variable):
            text = os.environ[variable]
            found[key] = (
                option,
                Setting(_checked(option, _from_text(option, text, variable), context, variable), variable),
            )
        elif key in section:
            where = f"{file}: {key} in [{'.'.join(path)}]" if path else f"{file}: {key}"
            found[key] = (
                option,
                Setting(_checked(option, _from_toml(option, section[key], where), context, where), str(file)),
            )
    return found


def _no_section(file: Path | None, name: str) -> InvalidInputError:
    return InvalidInputError(f"{file}: {name} is a command; write [{name}] and its options below.")


def _values(settings: dict[str, tuple[Option, Setting]]) -> dict[str, Any]:
    return {option.name: setting.value for option, setting in settings.values()}


def _from_text(option: Option, text: str, variable: str) -> Any:
    """Return what an environment variable means."""
    if option.is_flag:
        if text.lower() not in (*_TRUE, *_FALSE):
            raise InvalidInputError(f"{variable}={text}: give true or false.")
        return text.lower() in _TRUE
    return text.split(LIST_SEPARATOR) if option.multiple else text


def _from_toml(option: Option, value: Any, where: str) -> Any:
    """Return a value of the file as the command line would have it: flags are booleans, all else is text."""
    if option.is_flag:
        if not isinstance(value, bool):
            raise InvalidInputError(f"{where} is {value!r}; give true or false.")
        return value
    if option.multiple:
        if not isinstance(value, list):
            raise InvalidInputError(f"{where} is {value!r}; give a list, such as [{value!r}].")
        return [_text_of(one, where) for one in value]
    return _text_of(value, where)


def _text_of(value: Any, where: str) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise InvalidInputError(f"{where} is {value!r}; give a text or a number.")
    return str(value)


def _checked(option: Option, value: Any, context: Any, where: str) -> Any:
    """Return a value if the command would take it from the command line."""
    try:
        option.process_value(context, value)
    except typer.BadParameter as error:
        words = " ".join(str(error.message).split()).rstrip(".")
        raise InvalidInputError(f"{where} is {value!r}: {words[:1].lower()}{words[1:]}.") from None
    return value
