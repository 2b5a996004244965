"""A folder -> songs, what they sound like, who listens to their artists, and their tags: what an experiment reads.

::

    songs.csv          song_id, artist, title; perhaps genre; frames (a .npy of n_frames x 13 or x 39 each) or audio
    vectors.npy        instead of frames or audio: row i is song i; vector_columns.txt may name the columns
    listens.csv[.gz]   user, artist, plays; or the Last.fm 360K file as it is
    tags.csv[.gz]      perhaps: song_id or artist, tag, perhaps count

Artists are matched between the files by a key of their names, ``artist_key``.
"""

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from nearsong.audio import Frames, load_frames
from nearsong.errors import DatasetError
from nearsong.experiment import dataset_tags
from nearsong.experiment.dataset_content import check_sound_files, read_frames, read_vector_names, read_vectors
from nearsong.experiment.dataset_files import find_one, read_table
from nearsong.experiment.dataset_listens import find_listens, read_listens
from nearsong.names import artist_key
from nearsong.validation import check_count

__all__ = ["Dataset"]

_EXAMPLES = 3  # names shown in a note


@dataclass(frozen=True, eq=False)
class Dataset:
    """Songs, what they sound like, and who listens to their artists. Make one with :meth:`open`.

    Attributes
    ----------
    name : str
        Of the folder.
    folder : Path
        Where the files are.
    song_ids, titles : tuple of str
        Of each song, in the order of songs.csv.
    genres : tuple of str, or None
        Of each song, "" where unknown.
    artists : tuple of str
        The songs' artists as keys, sorted.
    artist_names : tuple of str
        The same artists as songs.csv first writes them.
    song_artist : array of int64 and shape (n_songs,)
        Each song's place in ``artists``.
    content : {"vectors", "frames", "audio"}
        What there is to hear of a song.
    vectors : array of float64 and shape (n_songs, d), or None
        If the content is vectors.
    vector_names : tuple of str, or None
        Names of their columns, if there are any.
    plays : csr_array of float64 and shape (n_listening_users, n_artists)
        Play counts; repeated rows are summed, users who played none of the artists are left out.
    n_users : int
        Users in the whole file of listens.
    tags : csr_array of bool and shape (n_songs, n_tags), or None
        Which song has which tag.
    tag_names : tuple of str
        The tags, sorted.
    sound_files : tuple of str
        Each song's file of frames or audio, relative to the folder; empty for vectors.
    notes : tuple of str
        What a user should know about the data: artists without listeners, rows that were skipped.

    Examples
    --------
    >>> import tempfile
    >>> from nearsong.experiment import make_dataset
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = make_dataset(folder, n_artists=8, songs_per_artist=(2, 2), n_users=40)
    ...     data = Dataset.open(folder)
    ...     frames = data.frames_of(0)
    >>> len(data.song_ids), len(data.artists), data.n_users, data.plays.shape, data.content, frames.shape
    (16, 8, 40, (40, 8), 'frames', (200, 39))
    """

    name: str
    folder: Path
    song_ids: tuple[str, ...]
    titles: tuple[str, ...]
    genres: tuple[str, ...] | None
    artists: tuple[str, ...]
    artist_names: tuple[str, ...]
    song_artist: npt.NDArray[np.int64]
    content: str
    vectors: npt.NDArray[np.float64] | None
    vector_names: tuple[str, ...] | None
    plays: sp.csr_array
    n_users: int
    tags: sp.csr_array | None
    tag_names: tuple[str, ...]
    notes: tuple[str, ...]
    sound_files: tuple[str, ...]
    _tables: tuple[str, ...]

    @classmethod
    def open(cls, folder: str | os.PathLike[str]) -> Self:
        """Read a data-set folder; sound stays on disk until :meth:`frames_of` asks for it.

        Parameters
        ----------
        folder : path-like

        Returns
        -------
        Dataset

        Raises
        ------
        DatasetError
            If something is missing or wrong: one line that names the file and the row.
        """
        place = Path(folder)
        if not place.is_dir():
            raise DatasetError(f"{place} is not a folder; give one that has songs.csv and listens.csv.")
        songs = _read_songs(place / "songs.csv")
        artists, names, song_artist = _number_artists(songs.artists)
        content = _read_content(place, songs)
        listens_file = find_listens(place)
        listens = read_listens(listens_file, artists)
        notes = list(content.notes)
        if listens.n_nameless:
            notes.append(f"{listens_file.name}: {listens.n_nameless} rows have no user or no artist; skipped.")
        notes += _listener_notes(listens_file, listens.plays, artists)
        tags_file = find_one(place, dataset_tags.NAMES)
        tags: sp.csr_array | None = None
        tag_names: tuple[str, ...] = ()
        if tags_file is not None:
            tags, tag_names, tag_notes = _read_tags(tags_file, songs.ids, artists, song_artist)
            notes += tag_notes
        tables = [place / "songs.csv", listens_file, *([tags_file] if tags_file else []), *content.tables]
        return cls(
            name=place.resolve().name,
            folder=place,
            song_ids=songs.ids,
            titles=songs.titles,
            genres=songs.genres,
            artists=artists,
            artist_names=names,
            song_artist=song_artist,
            content=content.kind,
            vectors=content.vectors,
            vector_names=content.vector_names,
            plays=listens.plays,
            n_users=listens.n_users,
            tags=tags,
            tag_names=tag_names,
            notes=tuple(notes),
            sound_files=content.files,
            _tables=tuple(path.name for path in tables),
        )

    @property
    def n_songs(self) -> int:
        """Number of songs."""
        return len(self.song_ids)

    def frames_of(self, song: int) -> Frames:
        """Read the frames of one song from its file; nothing is kept.

        Parameters
        ----------
        song : int
            Its place in ``song_ids``.

        Returns
        -------
        array of shape (n_frames, 39), float32

        Raises
        ------
        DatasetError
            If the content is vectors, or the file holds no usable frames.
        AudioError
            If the content is audio and the file gives no usable sound.
        """
        if self.content == "vectors":
            raise DatasetError(f"{self.folder} has a vector for every song and no frames; use `vectors`.")
        song = check_count(song, "song", 0)
        if song >= self.n_songs:
            raise DatasetError(f"song={song} is not in {self.folder}, which has songs 0 to {self.n_songs - 1}.")
        path = self.folder / self.sound_files[song]
        return read_frames(path) if self.content == "frames" else load_frames(path)

    def fingerprint(self) -> str:
        """Return a short hash of what the folder holds now: another one means other data.

        The tables and vectors count with all their bytes, a file of frames or audio with its name and size.

        Returns
        -------
        str
            Sixteen hexadecimal digits.
        """
        whole = hashlib.sha256()
        try:
            for name in self._tables:
                with (self.folder / name).open("rb") as file:
                    whole.update(f"{name}\0{hashlib.file_digest(file, 'sha256').hexdigest()}\n".encode())
            for name in self.sound_files:
                whole.update(f"{name}\0{(self.folder / name).stat().st_size}\n".encode())
        except OSError as error:
            raise DatasetError(f"{error.filename} cannot be read ({error.strerror}).") from error
        return whole.hexdigest()[:16]


class _Songs(NamedTuple):
    """The rows of songs.csv, field by field."""

    path: Path
    lines: tuple[int, ...]
    ids: tuple[str, ...]
    artists: tuple[str, ...]
    titles: tuple[str, ...]
    genres: tuple[str, ...] | None
    frames: tuple[str, ...] | None
    audio: tuple[str, ...] | None


class _Content(NamedTuple):
    """What there is to hear."""

    kind: str
    vectors: npt.NDArray[np.float64] | None = None
    vector_names: tuple[str, ...] | None = None
    files: tuple[str, ...] = ()
    tables: tuple[Path, ...] = ()
    notes: tuple[str, ...] = ()


def _read_songs(path: Path) -> _Songs:
    """Read songs.csv; every song has an id of its own and an artist."""
    if not path.is_file():
        raise DatasetError(f"{path.parent} has no songs.csv; give a folder that has songs.csv and listens.csv.")
    columns, rows = read_table(path, ["song_id", "artist", "title"])
    line_of: dict[str, int] = {}
    for line, row in rows:
        name = row["song_id"]
        if not name:
            raise DatasetError(f"{path}, line {line}: song_id is empty; every song needs one of its own.")
        if name in line_of:
            raise DatasetError(f"{path}, lines {line_of[name]} and {line}: both have song_id {name!r}; rename one.")
        if not artist_key(row["artist"]):
            raise DatasetError(f"{path}, line {line}: song {name!r} has no artist; give it one or drop the row.")
        line_of[name] = line

    def column(name: str) -> tuple[str, ...]:
        return tuple(row[name] for _, row in rows)

    def optional(name: str) -> tuple[str, ...] | None:
        return column(name) if name in columns else None

    return _Songs(
        path,
        tuple(line_of.values()),
        column("song_id"),
        column("artist"),
        column("title"),
        optional("genre"),
        optional("frames"),
        optional("audio"),
    )


def _number_artists(
    song_artists: Sequence[str],
) -> tuple[tuple[str, ...], tuple[str, ...], npt.NDArray[np.int64]]:
    """Return the artists' keys, sorted; their names as first written; and each song's place among them."""
    keys = [artist_key(name) for name in song_artists]
    written: dict[str, str] = {}
    for key, name in zip(keys, song_artists, strict=True):
        written.setdefault(key, name)
    artists = tuple(sorted(written))
    place = {key: i for i, key in enumerate(artists)}
    return artists, tuple(written[key] for key in artists), np.array([place[key] for key in keys], np.int64)


def _read_content(folder: Path, songs: _Songs) -> _Content:
    """Read the vectors, or check the files of frames or audio; the first of these that is there counts."""
    vectors_file, names_file = folder / "vectors.npy", folder / "vector_columns.txt"
    if vectors_file.is_file():
        vectors = read_vectors(vectors_file, len(songs.ids))
        unused = [name for name in ("frames", "audio") if getattr(songs, name) is not None]
        notes = tuple(f"songs.csv: the column {name!r} is not used because there is vectors.npy." for name in unused)
        if not names_file.is_file():
            return _Content("vectors", vectors, tables=(vectors_file,), notes=notes)
        names = read_vector_names(names_file, vectors.shape[1])
        return _Content("vectors", vectors, names, tables=(vectors_file, names_file), notes=notes)
    for kind, files in (("frames", songs.frames), ("audio", songs.audio)):
        if files is not None:
            check_sound_files(songs.path, kind, songs.lines, folder, files)
            return _Content(kind, files=files)
    raise DatasetError(f"{folder} has no vectors.npy, and songs.csv no column 'frames' or 'audio'; one is needed.")


def _listener_notes(path: Path, plays: sp.csr_array, artists: Sequence[str]) -> list[str]:
    """Say how many artists nobody listens to; refuse data where that is all of them."""
    listeners = np.bincount(plays.indices, minlength=len(artists))
    silent = np.flatnonzero(listeners == 0)
    if len(silent) == len(artists):
        raise DatasetError(
            f"{path}: none of its artists is in songs.csv, whose first is {artists[0]!r}; name them alike."
        )
    if len(silent) == 0:
        return []
    some = ", ".join(artists[i] for i in silent[:_EXAMPLES])
    return [f"{path.name}: {len(silent)} of {len(artists)} artists have no listener (such as {some})."]


def _read_tags(
    path: Path, song_ids: Sequence[str], artists: Sequence[str], song_artist: npt.NDArray[np.int64]
) -> tuple[sp.csr_array | None, tuple[str, ...], list[str]]:
    """Read the tags and say what was skipped; tags for none of the songs are no tags."""
    tags = dataset_tags.read_tags(path, song_ids, artists, song_artist)
    notes = []
    if tags.n_unknown:
        whose = "songs" if tags.whose == "song_id" else "artists"
        notes.append(f"{path.name}: {tags.n_unknown_rows} rows are for {tags.n_unknown} unknown {whose}; skipped.")
    if not tags.names:
        return None, (), [*notes, f"{path.name}: no song has a tag; the file is not used."]
    return tags.matrix, tags.names, notes
