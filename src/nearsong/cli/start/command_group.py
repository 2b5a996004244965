"""A table of commands -> a group of the command line that imports each command when it is used.

So ``nearsong status`` does not wait for what ``nearsong train`` is made of. Help and shell completion, which describe
all commands, import all of them.
"""

from collections.abc import Iterator, Mapping, MutableMapping
from importlib import import_module
from typing import Any

import typer

from nearsong.cli.operation.defaults import ConfiguredGroup
from nearsong.cli.start.conversion import skip_needless_conversions

Panels = Mapping[str, Mapping[str, str]]
"""Panel of the help -> name of a command -> its module in `nearsong.cli` and its name there, ``module:name``."""


class CommandTable(MutableMapping[str, Any]):
    """Name -> command, imported when it is first looked up.

    Parameters
    ----------
    panels : mapping
        See `Panels`.
    """

    def __init__(self, panels: Panels) -> None:
        self._homes = {name: (panel, home) for panel, homes in panels.items() for name, home in homes.items()}
        self._commands: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._commands:
            panel, home = self._homes[name]
            self._commands[name] = _command(name, panel, home)
        return self._commands[name]

    def __setitem__(self, name: str, command: Any) -> None:
        self._commands[name] = command

    def __delitem__(self, name: str) -> None:
        del self._commands[name]

    def __iter__(self) -> Iterator[str]:
        return iter({**self._homes, **self._commands})

    def __len__(self) -> int:
        return len({**self._homes, **self._commands})

    def __contains__(self, name: object) -> bool:
        return name in self._homes or name in self._commands


def group_of(panels: Panels) -> type[ConfiguredGroup]:
    """Return the class of a group that has the commands of a table, in its order."""

    class CommandGroup(ConfiguredGroup):
        """A group whose commands are imported when they are used."""

        def __init__(self, **options: Any) -> None:
            super().__init__(**options)
            self.commands = CommandTable(panels)
            skip_needless_conversions(self)

        def list_commands(self, ctx: Any) -> list[str]:
            """Return the names of the commands, without importing them."""
            return list(self.commands)

    return CommandGroup


def _command(name: str, panel: str, home: str) -> Any:
    module, attribute = home.split(":")
    found = getattr(import_module(f"nearsong.cli.{module}"), attribute)
    parent = typer.Typer(add_completion=False, rich_markup_mode="markdown")
    parent.callback()(lambda: None)  # a group, even of one command
    if isinstance(found, typer.Typer):
        parent.add_typer(found, name=name, rich_help_panel=panel)
    else:
        parent.command(name=name, rich_help_panel=panel)(found)
    command = typer.main.get_command(parent).commands[name]  # type: ignore[attr-defined]
    for one in (command, *getattr(command, "commands", {}).values()):
        skip_needless_conversions(one)
    return command
