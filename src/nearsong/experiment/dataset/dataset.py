"""A data-set folder -> songs with vectors or sound files, listens of their artists, and tags.

::

    songs.csv          song_id, artist, title; optionally genre; frames (a .npy of n x 13 or n x 39 each) or audio
    vectors.npy        instead of frames or audio: row i is song i; vector_columns.txt may name the columns
    listens.csv[.gz]   user, artist, plays; or the Last.fm 360K file unchanged
    tags.csv[.gz]      optional: song_id or artist, tag, optionally count
    <encoder>.npy      optional: vectors of an encoder or of any other name; row i is song i
    <features>.npz     optional: frames that encoders read instead of MFCCs, an array per song_id

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

from nearsong.audio import DeltaMFCC, FrameFeatures, Frames
from nearsong.errors import DatasetError
from nearsong.experiment.dataset import tags as dataset_tags
from nearsong.experiment.dataset.content import check_sound_files, read_vector_names, read_vectors
from nearsong.experiment.dataset.files import find_one, read_table
from nearsong.experiment.dataset.listens import find_listens, read_listens
from nearsong.experiment.dataset.sounds import SoundFiles, find_encoder_files
from nearsong.names import artist_key
from nearsong.validation import check_count

__all__ = ["Dataset"]

_MAX_EXAMPLES = 3  # names in a note


@dataclass(frozen=True, eq=False)
class Dataset:
    """Songs, their sound and the listeners of their artists; see :meth:`open`.

    Attributes
    ----------
    name : str
        Name of the folder.
    folder : Path
        The folder.
    song_ids, titles : tuple of str
        Id and title of each song, in the order of songs.csv.
    genres : tuple of str, or None
        Genre of each song, "" where unknown.
    artists : tuple of str
        Keys of the artists, sorted.
    artist_names : tuple of str
        Names of these artists as first written in songs.csv.
    song_artist : array of int64 and shape (n_songs,)
        Index of each song's artist in ``artists``.
    content : {"vectors", "frames", "audio"}
        The kind of data that describes the sound of the songs.
    vectors : array of float64 and shape (n_songs, d), or None
        If the content is vectors.
    vector_names : tuple of str, or None
        Names of their columns, if available.
    plays : csr_array of float64 and shape (n_listening_users, n_artists)
        Play counts; repeated rows are summed, users who played none of the artists are dropped.
    other_plays : csr_array of float64 and shape (n_all_users, n_other_artists)
        Play counts of artists without songs; rows are the users of ``plays``, then all others.
    n_users : int
        Number of users in the complete file of listens.
    tags : csr_array of bool and shape (n_songs, n_tags), or None
        Which song has which tag.
    tag_names : tuple of str
        The tags, sorted.
    sound_files : tuple of str
        File of frames or audio of each song, relative to the folder; empty for vectors.
    sounds : SoundFiles
        The same files and those of encoders, to read frames and vectors from.
    notes : tuple of str
        Notes for the user, such as artists without listeners or skipped rows.

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
    other_plays: sp.csr_array
    n_users: int
    tags: sp.csr_array | None
    tag_names: tuple[str, ...]
    notes: tuple[str, ...]
    sound_files: tuple[str, ...]
    sounds: SoundFiles
    _tables: tuple[str, ...]

    @classmethod
    def open(cls, folder: str | os.PathLike[str]) -> Self:
        """Read a data-set folder; frames and audio are only read by :meth:`frames_of`.

        Raises
        ------
        DatasetError
            If something is missing or invalid: one line with file and row.
        """
        path = Path(folder)
        if not path.is_dir():
            raise DatasetError(f"Folder not found: {path}")
        songs = _read_songs(path / "songs.csv")
        artists, names, song_artist = _number_artists(songs.artists)
        content = _read_content(path, songs)
        listens_file = find_listens(path)
        listens = read_listens(listens_file, artists)
        notes = list(content.notes)
        if listens.n_nameless:
            notes.append(f"{listens_file.name}: {listens.n_nameless} rows have no user or no artist; skipped.")
        notes += _listener_notes(listens_file, listens.plays, artists)
        tags_file = find_one(path, dataset_tags.NAMES)
        tags: sp.csr_array | None = None
        tag_names: tuple[str, ...] = ()
        if tags_file is not None:
            tags, tag_names, tag_notes = _read_tags(tags_file, songs.ids, artists, song_artist)
            notes += tag_notes
        tables = [path / "songs.csv", listens_file, *([tags_file] if tags_file else []), *content.tables]
        archives, vectors = find_encoder_files(path, content.files)
        tables += [Path(name) for name in (*archives.values(), *vectors.values())]
        return cls(
            name=path.resolve().name,
            folder=path,
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
            other_plays=listens.other_plays,
            n_users=listens.n_users,
            tags=tags,
            tag_names=tag_names,
            notes=tuple(notes),
            sound_files=content.files,
            sounds=SoundFiles(
                content=content.kind,
                song_ids=songs.ids,
                songs=tuple(str((path / name).resolve()) for name in content.files),
                archives=archives,
                vectors=vectors,
            ),
            _tables=tuple(dict.fromkeys(table.name for table in tables)),
        )

    @property
    def n_songs(self) -> int:
        """Number of songs."""
        return len(self.song_ids)

    def frames_of(self, song: int, features: FrameFeatures | None = None) -> Frames:
        """Read the frames of a song from its file.

        Parameters
        ----------
        song : int
            Its index in ``song_ids``.
        features : FrameFeatures, optional
            Which frames; by default the paper's 39 numbers per frame.

        Returns
        -------
        array of shape (n_frames, n_features), float32

        Raises
        ------
        DatasetError
            If the data set has no such frames, or the file has no valid ones.
        AudioError
            If the content is audio and the file cannot be decoded.
        """
        kind = features or DeltaMFCC()
        if not self.sounds.has_frames(kind):
            instead = f"no frames of the kind {kind.name}; add {kind.name}.npz, an array of frames per song_id"
            if self.content == "vectors":
                instead = "vectors instead of frames; use `vectors`"
            raise DatasetError(f"{self.folder} has {instead}.")
        song = check_count(song, "song", 0)
        if song >= self.n_songs:
            raise DatasetError(f"song={song} is not in {self.folder}, which has songs 0 to {self.n_songs - 1}.")
        return self.sounds.frames_of(song, [kind])[0]

    def fingerprint(self) -> str:
        """Return a short hash of the current content of the folder.

        It covers all bytes of tables, vectors and files of encoders, and names and sizes of files of frames or audio.

        Returns
        -------
        str
            Sixteen hexadecimal digits.
        """
        digest = hashlib.sha256()
        try:
            for name in self._tables:
                with (self.folder / name).open("rb") as file:
                    digest.update(f"{name}\0{hashlib.file_digest(file, 'sha256').hexdigest()}\n".encode())
            for name in self.sound_files:
                digest.update(f"{name}\0{(self.folder / name).stat().st_size}\n".encode())
        except OSError as error:
            raise DatasetError(f"{error.filename} cannot be read ({error.strerror}).") from error
        return digest.hexdigest()[:16]


class _Songs(NamedTuple):
    """The columns of songs.csv."""

    path: Path
    lines: tuple[int, ...]
    ids: tuple[str, ...]
    artists: tuple[str, ...]
    titles: tuple[str, ...]
    genres: tuple[str, ...] | None
    frames: tuple[str, ...] | None
    audio: tuple[str, ...] | None


class _Content(NamedTuple):
    """Vectors or files of sound."""

    kind: str
    vectors: npt.NDArray[np.float64] | None = None
    vector_names: tuple[str, ...] | None = None
    files: tuple[str, ...] = ()
    tables: tuple[Path, ...] = ()
    notes: tuple[str, ...] = ()


def _read_songs(path: Path) -> _Songs:
    """Read songs.csv and check that every song has a unique id and an artist."""
    if not path.is_file():
        raise DatasetError(f"{path.parent} has no songs.csv; give a folder with songs.csv and listens.csv.")
    columns, rows = read_table(path, ["song_id", "artist", "title"])
    line_of: dict[str, int] = {}
    for line, row in rows:
        name = row["song_id"]
        if not name:
            raise DatasetError(f"{path}, line {line}: song_id is empty; give every song a unique id.")
        if name in line_of:
            raise DatasetError(
                f"{path}, lines {line_of[name]} and {line} have the same song_id {name!r}; rename one."
            )
        if not artist_key(row["artist"]):
            raise DatasetError(f"{path}, line {line}: song {name!r} has no artist; add one or drop the row.")
        line_of[name] = line

    def column(name: str) -> tuple[str, ...]:
        return tuple(row[name] for _, row in rows)

    def optional(name: str) -> tuple[str, ...] | None:
        return column(name) if name in columns else None

    return _Songs(
        path=path,
        lines=tuple(line_of.values()),
        ids=column("song_id"),
        artists=column("artist"),
        titles=column("title"),
        genres=optional("genre"),
        frames=optional("frames"),
        audio=optional("audio"),
    )


def _number_artists(
    song_artists: Sequence[str],
) -> tuple[tuple[str, ...], tuple[str, ...], npt.NDArray[np.int64]]:
    """Return the keys of the artists, sorted, their names as first written, and the index of each song's artist."""
    keys = [artist_key(name) for name in song_artists]
    written: dict[str, str] = {}
    for key, name in zip(keys, song_artists, strict=True):
        written.setdefault(key, name)
    artists = tuple(sorted(written))
    index = {key: i for i, key in enumerate(artists)}
    return artists, tuple(written[key] for key in artists), np.array([index[key] for key in keys], np.int64)


def _read_content(folder: Path, songs: _Songs) -> _Content:
    """Read vectors, or check the files of frames or audio; the first of these that exists is used."""
    vectors_file, names_file = folder / "vectors.npy", folder / "vector_columns.txt"
    if vectors_file.is_file():
        vectors = read_vectors(vectors_file, len(songs.ids))
        unused = [name for name in ("frames", "audio") if getattr(songs, name) is not None]
        notes = tuple(f"songs.csv: column {name!r} is ignored because vectors.npy exists." for name in unused)
        if not names_file.is_file():
            return _Content("vectors", vectors, tables=(vectors_file,), notes=notes)
        names = read_vector_names(names_file, vectors.shape[1])
        return _Content("vectors", vectors, names, tables=(vectors_file, names_file), notes=notes)
    for kind, files in (("frames", songs.frames), ("audio", songs.audio)):
        if files is not None:
            check_sound_files(songs.path, kind, songs.lines, folder, files)
            return _Content(kind, files=files)
    raise DatasetError(f"{folder} has no vectors.npy, and songs.csv has no column 'frames' or 'audio'; add one.")


def _listener_notes(path: Path, plays: sp.csr_array, artists: Sequence[str]) -> list[str]:
    """Return a note on artists without listeners; raise if no artist has any."""
    listeners = np.bincount(plays.indices, minlength=len(artists))
    without = np.flatnonzero(listeners == 0)
    if len(without) == len(artists):
        raise DatasetError(
            f"{path}: none of its artists is in songs.csv, whose first is {artists[0]!r}; use the same names."
        )
    if len(without) == 0:
        return []
    examples = ", ".join(artists[i] for i in without[:_MAX_EXAMPLES])
    return [f"{path.name}: {len(without)} of {len(artists)} artists have no listeners (such as {examples})."]


def _read_tags(
    path: Path, song_ids: Sequence[str], artists: Sequence[str], song_artist: npt.NDArray[np.int64]
) -> tuple[sp.csr_array | None, tuple[str, ...], list[str]]:
    """Read the tags; return notes on skipped rows, and no tags if no song has one."""
    tags = dataset_tags.read_tags(path, song_ids, artists, song_artist)
    notes = []
    if tags.n_unknown:
        kind = "songs" if tags.key_column == "song_id" else "artists"
        notes.append(f"{path.name}: skipped {tags.n_unknown_rows} rows for {tags.n_unknown} unknown {kind}.")
    if not tags.names:
        return None, (), [*notes, f"{path.name}: ignored, because no song has a tag."]
    return tags.matrix, tags.names, notes
