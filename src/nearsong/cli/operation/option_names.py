"""A command -> its options that a config file and the environment can set, under the names they have there."""

from collections.abc import Iterator, Sequence
from typing import Any

VARIABLE_PREFIX = "NEARSONG"
LIST_SEPARATOR = ";"
"""Between the values of a repeatable option in an environment variable."""

Command = Any
"""A command or a group of Typer; its classes have moved between modules from version to version."""

Option = Any


def settable_options(command: Command, path: Sequence[str]) -> dict[str, Option]:
    """Return key -> option. A key is the long name: ``--host-name`` is ``host-name``.

    The library is set once for all commands, not for each; what only prints something, such as ``--version``, never.
    """
    found = {}
    for option in command.params:
        if option.param_type_name != "option" or option.is_eager or not option.expose_value:
            continue
        key = max(option.opts, key=len).removeprefix("--")
        if key != "library" or not path:
            found[key] = option
    return found


def variable_of(path: Sequence[str], key: str, option: Option) -> str:
    """Return the environment variable of an option: of ``serve --port`` it is ``NEARSONG_SERVE_PORT``.

    A command may name another, as that of ``serve --token`` is ``NEARSONG_TOKEN``.
    """
    if option.envvar:
        return str(option.envvar)
    return "_".join([VARIABLE_PREFIX, *path, key]).upper().replace("-", "_")


def subcommands(command: Command) -> dict[str, Command]:
    """Return name -> command of a group; nothing of a plain command."""
    if not hasattr(command, "list_commands"):
        return {}
    return {name: command.get_command(None, name) for name in command.list_commands(None)}


def all_commands(command: Command, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Command]]:
    """Yield a command and all below it, each with the words that lead to it."""
    yield path, command
    for name, one in subcommands(command).items():
        yield from all_commands(one, (*path, name))
