"""A command of typer -> the same, which converts only those options that need it, and shows no type of flags.

Typer converts every value with pydantic, whose import takes as long as the rest of a light command, even where an
option was not given. An option whose value already has its type stays as it is here; all others are left to typer.
"""

from typing import Any

_PLAIN_TYPES = (str, int, float, bool)


class _NeedlessConversion:
    """Stands in for the conversion of one option until a value needs it."""

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        """Return the value as a command takes it; typer calls this."""
        if value is None:
            return () if param.multiple or param.nargs == -1 else None
        if _has_its_type(value, param.type_descriptor):
            return value
        param._runtime_param = None  # typer makes its own
        return param.get_runtime_param().coerce(value, param=param, ctx=ctx)


def skip_needless_conversions(command: Any) -> None:
    """Make a command convert only what needs it; with a typer that converts in another way this changes nothing."""
    parse_args = command.parse_args

    def parse(ctx: Any, args: list[str]) -> Any:
        for param in command.get_params(ctx):  # not before: some options are added last, such as --help
            if getattr(param, "is_flag", False) and hasattr(param, "display_type_rich"):
                param.display_type_rich = _no_type
            if hasattr(param, "get_runtime_param") and getattr(param, "_runtime_param", 0) is None:
                param._runtime_param = _NeedlessConversion()
        return parse_args(ctx, args)

    command.parse_args = parse


def _no_type(ctx: Any) -> None:
    """Stand in for the type of a flag in the help: typer would print ``--version <bool>``, which takes no value."""


def _has_its_type(value: Any, descriptor: Any) -> bool:
    if descriptor.parameter_info.parser is not None:
        return False
    if descriptor.is_ranged or descriptor.is_choice or descriptor.is_path or descriptor.is_file:
        return False
    if descriptor.annotation == list[str]:
        return isinstance(value, list | tuple) and all(type(one) is str for one in value)
    return descriptor.annotation in _PLAIN_TYPES and type(value) is descriptor.annotation
