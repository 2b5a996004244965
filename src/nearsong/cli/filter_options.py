"""The library's table of filters -> options of a command."""

import functools
import inspect
from collections.abc import Callable, Collection
from typing import Annotated, Any

import typer

from nearsong.library import FILTERS, Filters


def with_filters(*, without: Collection[str] = ()) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command an option for each filter instead of its parameter ``filters``.

    Parameters
    ----------
    without : collection of str
        Filters that mean nothing for this command.
    """
    chosen = [filter for filter in FILTERS if filter.name not in without]
    options = [
        inspect.Parameter(
            filter.option,
            inspect.Parameter.KEYWORD_ONLY,
            default=None if filter.is_list else filter.default,
            annotation=Annotated[
                list[str] | None if filter.is_list else filter.type,
                typer.Option(f"--{filter.option.replace('_', '-')}", help=filter.description),
            ],
        )
        for filter in chosen
    ]

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(command)
        def run(*args: Any, **values: Any) -> None:
            filters = Filters.from_options({filter.option: values.pop(filter.option, None) for filter in chosen})
            command(*args, filters=filters, **values)

        merged: list[inspect.Parameter] = []
        for parameter in inspect.signature(command).parameters.values():
            merged += options if parameter.name == "filters" else [parameter]
        run.__signature__ = inspect.Signature(merged)  # type: ignore[attr-defined]  # typer reads both
        run.__annotations__ = {parameter.name: parameter.annotation for parameter in merged}
        return run

    return decorate
