"""Files of the scanned folders that are no songs, or only in part, and why."""

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field

from nearsong.names import readable
from nearsong.web.http.dependencies import ADMIN
from nearsong.web.http.problems import responses
from nearsong.web.service.service import Shared

router = APIRouter(tags=["folders"])


class FileReason(BaseModel):
    """A file, and what is wrong with it."""

    path: str
    reason: str = Field(description="What is wrong or missing; a predicate such as `is silent.`")


class FilesOut(BaseModel):
    """Files with problems: the first of each kind, and how many there are."""

    unreadable: list[FileReason] = Field(description="Files that cannot be read.")
    n_unreadable: int
    damaged: list[FileReason] = Field(description="Songs of which only a part can be read.")
    n_damaged: int
    set_aside: list[FileReason] = Field(description="Files without music: silent, very short, steady, or speech.")
    n_set_aside: int


@router.get(
    "/files",
    response_description="The first of them.",
    summary="List files that are no songs, or only in part",
    dependencies=[ADMIN],
    responses=responses(403, 422, 503),
)
def files(service: Shared, limit: Annotated[int, Query(ge=1, le=10_000)] = 200) -> FilesOut:
    """Return the files that cannot be read, damaged ones, and those set aside since they hold no music; and why."""
    library = service.library
    lists = {"unreadable": library.unreadable(), "damaged": library.damaged(), "set_aside": library.set_aside()}
    shown = {
        name: [FileReason(path=readable(path), reason=readable(reason)) for path, reason in rows[:limit]]
        for name, rows in lists.items()
    }
    return FilesOut.model_validate(shown | {f"n_{name}": len(rows) for name, rows in lists.items()})
