"""The library's table of filters -> query parameters, and the controls of a form."""

from inspect import Parameter, Signature
from typing import Annotated, Any

from fastapi import Depends, Query

from nearsong.library import FILTERS, Filters
from nearsong.web.json.schemas import FilterOut


async def _filters(**values: Any) -> Filters:  # a plain function would be called in a thread for each request
    return Filters.from_options(values)


_filters.__signature__ = Signature(  # type: ignore[attr-defined]  # FastAPI reads the parameters from it
    [
        Parameter(
            filter.option,
            Parameter.KEYWORD_ONLY,
            default=[] if filter.is_list else filter.default,
            annotation=Annotated[
                list[str] if filter.is_list else filter.type,
                Query(description=filter.description, **filter.bounds),
            ],
        )
        for filter in FILTERS
    ]
)

FilterParameters = Annotated[Filters, Depends(_filters)]

FILTER_FORM = [
    FilterOut(
        name=filter.name,
        parameter=filter.option,
        kind=filter.kind,
        label=filter.control.label,
        summary=filter.control.summary,
        group=filter.control.group,
        value=filter.control.checked,
        min=filter.bounds.get("ge", filter.bounds.get("gt")),
        max=filter.bounds.get("le"),
        choices=filter.control.choices,
    )
    for filter in FILTERS
]
"""All filters, as a form shows them."""
