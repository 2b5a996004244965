"""Folders of the library: those that are scanned, those that can be, and files that could not be read."""

import os
from collections.abc import Callable
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field

from nearsong.names import readable
from nearsong.web.http.dependencies import ADMIN
from nearsong.web.http.problems import ApiError, responses
from nearsong.web.service.allowed_folders import list_folder
from nearsong.web.service.service import Service, Shared
from nearsong.web.service.writes import queued

router = APIRouter(prefix="/folders", tags=["folders"])

FolderPath = Annotated[str, Query(min_length=1, max_length=4_000, description="Path of a folder.")]


class FolderOut(BaseModel):
    """A folder that scans read."""

    path: str
    scanned: float = Field(description="When it was last scanned, in seconds since 1970.")
    songs: int
    missing: int = Field(description="Songs whose files are missing.")
    unreadable: int = Field(description="Files that could not be read.")
    exists: bool = Field(description="Whether it is there now; a drive may not be connected.")
    removal_words: str = Field(description="What removing it does, and how it can be undone.")


class FoldersOut(BaseModel):
    """The scanned folders, and where others can be chosen."""

    folders: list[FolderOut]
    watch: bool = Field(description="Whether new files in them are scanned soon.")
    is_watching: bool = Field(description="The same, if the service does anything by itself at all.")
    roots: list[str] = Field(description="Folders within which others can be chosen; none if they cannot.")
    may_type: bool = Field(description="Whether any other path may be given, too.")


class RemovedOut(BaseModel):
    """What became of the songs of a folder."""

    words: str


class ListedFolder(BaseModel):
    """A folder that can be chosen."""

    name: str
    path: str
    is_scanned: bool = Field(description="Whether it is scanned already, perhaps with the folder that it is in.")


class ListingOut(BaseModel):
    """What is in a folder that can be chosen."""

    path: str
    parent: str | None = Field(description="The folder that it is in; null if that cannot be chosen.")
    is_scanned: bool
    folders: list[ListedFolder]
    n_audio_files: int = Field(description="Files in it, not in the folders in it, that are named like audio.")
    is_cut: bool = Field(description="Whether there are more folders than are listed.")


@router.get(
    "",
    response_description="The folders.",
    summary="List the folders that are scanned",
    dependencies=[ADMIN],
    responses=responses(403, 503),
)
def folders(service: Shared) -> FoldersOut:
    """Return the folders of the library with what is in them, and where others can be chosen."""
    settings = service.library.automation.settings()
    return FoldersOut(
        folders=[
            FolderOut(
                path=readable(folder.path),
                scanned=folder.scanned,
                songs=folder.songs,
                missing=folder.missing,
                unreadable=folder.unreadable,
                exists=folder.exists,
                removal_words=folder.removal_words,
            )
            for folder in service.library.scanned_folders()
        ],
        watch=settings.watch,
        is_watching=settings.watch and settings.is_on and service.automation.is_running,
        roots=list(service.settings.folder_roots),
        may_type=service.settings.may_scan_anywhere,
    )


@router.delete(
    "",
    response_description="What became of its songs.",
    summary="Scan a folder no longer",
    dependencies=[ADMIN],
    responses=responses(400, 403, 409, 422, 503),
)
@queued
def remove(
    service: Shared,
    path: FolderPath,
    forget: Annotated[bool, Query(description="Whether to delete all that is known about its songs, too.")] = False,
) -> RemovedOut:
    """Scan a folder no longer. Its songs are hidden until it is scanned again; no file is deleted."""
    if any(job.kind == "scan" and job.ended is None for job in service.jobs.all()):
        raise ApiError(409, "a scan is running and may be reading this folder; wait for it, or stop it.", "scanning")
    words = service.library.remove_folder(path, forget=forget)
    service.refresh(now=True)
    return RemovedOut(words=readable(words))


@router.get(
    "/browse",
    response_description="The folders in it.",
    summary="List folders that can be added",
    dependencies=[ADMIN],
    responses=responses(403, 404, 422, 503),
)
def browse(service: Shared, path: FolderPath) -> ListingOut:
    """Return the folders in a folder, within those that the operator allows; no files, nothing hidden, no links."""
    with service.concurrency.slot():
        listing = list_folder(service.settings.folder_roots, path)
    is_scanned = _scanned_test(service)
    return ListingOut(
        path=listing.path,
        parent=listing.parent,
        is_scanned=is_scanned(listing.path),
        folders=[
            ListedFolder(name=name, path=inside, is_scanned=is_scanned(inside))
            for name, inside in ((name, os.path.join(path, name)) for name in listing.folders)
        ],
        n_audio_files=listing.n_audio_files,
        is_cut=listing.is_cut,
    )


def _scanned_test(service: Service) -> Callable[[str], bool]:
    """Return a function that tells whether a folder is scanned already."""
    known = service.library.folders
    inside = tuple(os.path.join(folder, "") for folder in known)
    return lambda path: path in known or path.startswith(inside)
