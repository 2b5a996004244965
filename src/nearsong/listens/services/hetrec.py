"""Last.fm's part of HetRec 2011 -> blocks: ``user_artists.dat`` counts listens, ``artists.dat`` names the artists."""

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Any

from nearsong.errors import ListensError
from nearsong.listens.blocks import BlockBuilder
from nearsong.listens.formats.listen_format import ListenFormat, with_names
from nearsong.listens.formats.table_records import header_of, read_table_records, table_records
from nearsong.listens.json_records import ListenRow
from nearsong.listens.records import ListenBlock
from nearsong.listens.sources import SourceFile, zip_members

ARTISTS_FILE = "artists.dat"


def read_hetrec(source: SourceFile, builder: BlockBuilder, user: str) -> Iterator[ListenBlock]:
    """Read how often each user played each artist."""
    names = _artist_names(_artists_file(source))

    def row(record: Any) -> ListenRow:
        artist = names.get(record["artistid"].strip(), "")
        return ListenRow(user=record["userid"], artist=artist, plays=record["weight"])

    yield from read_table_records(source, builder, user, row)


def _artists_file(source: SourceFile) -> SourceFile:
    """Return the file of artists in the same folder, packed or not; raise if there is none."""
    for name in (ARTISTS_FILE, f"{ARTISTS_FILE}.gz"):
        if source.member:
            member = str(PurePosixPath(source.member).with_name(name))
            if member in zip_members(source):
                return replace(source, member=member, progress=None)
        elif os.path.isfile(source.path.with_name(name)):
            return replace(source, path=source.path.with_name(name), progress=None)
    raise ListensError(
        f"{source.name} names artists by number only; put {ARTISTS_FILE} of the same data set into its folder."
    )


def _artist_names(source: SourceFile) -> dict[str, str]:
    builder = BlockBuilder()
    builder.begin(source.name, "")
    header = header_of(source)
    records = table_records(source, builder, header)
    names = {record.get("id", "").strip(): record.get("name", "") for _, record in records}
    if not any(names.values()):
        raise ListensError(f"{source.name} has no artists: its columns must be id and name.")
    return names


HETREC = ListenFormat(
    name="hetrec",
    kind="counts",
    read=read_hetrec,
    matches=with_names("userID", "artistID", "weight"),
    needs=("userID", "artistID", "weight"),
    endings=(".dat",),
)
