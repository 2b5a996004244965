"""The files of a data set that describe how its songs sound -> frames and vectors for the encoders.

::

    audio or frames    a file per song, as songs.csv names them
    <features>.npz     an array of frames per song id, for encoders that read other frames than MFCCs: chroma.npz
    <encoder>.npy      row i is the vector of song i, for an encoder or under any other name: musicnn.npy
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self
from zipfile import BadZipFile

import numpy as np
import numpy.typing as npt

from nearsong.audio import DeltaMFCC, FrameFeatures, Frames, load_audio, load_frames
from nearsong.errors import DatasetError
from nearsong.experiment.dataset.content import read_frames, read_vectors


@dataclass(frozen=True, kw_only=True)
class SoundFiles:
    """Where the sound of a data set is.

    Attributes
    ----------
    content : {"vectors", "frames", "audio"}
        What ``songs`` are; they are empty for vectors.
    song_ids : tuple of str
        Ids of the songs.
    songs : tuple of str
        File of frames or audio of each song.
    archives : mapping of str to str
        Name of frame features -> file with their frames.
    vectors : mapping of str to str
        Name of an encoder, or of other vectors -> file with them.
    """

    content: str
    song_ids: tuple[str, ...]
    songs: tuple[str, ...]
    archives: Mapping[str, str]
    vectors: Mapping[str, str]

    def has_frames(self, features: FrameFeatures) -> bool:
        """Return whether frames of this kind can be read or computed."""
        if self.content == "audio" or features.name in self.archives:
            return True
        return self.content == "frames" and features.key == DeltaMFCC().key

    def frames_of(self, song: int, kinds: Sequence[FrameFeatures]) -> list[Frames]:
        """Read or compute the frames of a song for several kinds of features.

        Parameters
        ----------
        song : int
            Its row in songs.csv.
        kinds : sequence of FrameFeatures
            Of which :meth:`has_frames` is true.

        Returns
        -------
        list of arrays of shape (n_frames, n_features)
        """
        if self.content == "audio" and len(kinds) > 1 and not self.archives:
            samples = load_audio(self.songs[song])  # decoded once for all kinds
            return [features.transform(samples) for features in kinds]
        return [self._read(song, features) for features in kinds]

    def _read(self, song: int, features: FrameFeatures) -> Frames:
        if features.name in self.archives:
            path = Path(self.archives[features.name])
            return _read_archive(path, self.song_ids[song], features.n_features)
        path = Path(self.songs[song])
        return read_frames(path) if self.content == "frames" else load_frames(path, features)

    def vectors_of(self, name: str) -> npt.NDArray[np.float64]:
        """Read the vectors of a name in ``vectors``, an array of shape (n_songs, n_dimensions)."""
        return read_vectors(Path(self.vectors[name]), len(self.song_ids))

    def check_archive(self, features: FrameFeatures) -> None:
        """Raise if the file of frames of this kind, where there is one, has none for some song."""
        if features.name in self.archives:
            path = Path(self.archives[features.name])
            with _opened(path) as archive:
                present = set(archive.files)
            missing = [name for name in self.song_ids if name not in present]
            if missing:
                raise DatasetError(
                    f"{path} has no frames for {len(missing)} of {len(self.song_ids)} songs (first: "
                    f"{missing[0]!r}); give an array of frames for every song_id of songs.csv."
                )

    def as_json(self) -> dict[str, Any]:
        """Return a dictionary that JSON can represent."""
        return asdict(self)

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Self:
        """Return what :meth:`as_json` described."""
        fields: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in values.items()
        }
        return cls(**fields)


def find_encoder_files(folder: Path, own: Sequence[str]) -> tuple[dict[str, str], dict[str, str]]:
    """Return the archives of frames and the files of vectors in a folder, by name, without its ``own`` files."""
    archives, vectors = (
        {path.stem: str(path.absolute()) for path in sorted(folder.glob(pattern)) if path.name not in own}
        for pattern in ("*.npz", "*.npy")
    )
    return archives, vectors


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    with ExitStack() as stack:
        try:
            archive = stack.enter_context(np.load(stack.enter_context(path.open("rb")), allow_pickle=False))
        except (ValueError, OSError, EOFError, BadZipFile) as error:
            problem = " ".join(str(error).split())
            raise DatasetError(f"{path} cannot be read as an .npz file ({problem}); save it again.") from error
        yield archive


def _read_archive(path: Path, song_id: str, n_features: int) -> Frames:
    with _opened(path) as archive:
        if song_id not in archive.files:
            raise DatasetError(f"{path} has no frames for song {song_id!r}; add them, or drop the song.")
        try:
            frames = np.asarray(archive[song_id])
        except (ValueError, OSError, EOFError, BadZipFile) as error:
            raise DatasetError(f"{path}: the frames of song {song_id!r} cannot be read; save it again.") from error
    if frames.dtype.kind != "f" or frames.ndim != 2 or frames.shape[1] != n_features or not len(frames):
        raise DatasetError(
            f"{path}: song {song_id!r} has {frames.dtype} of shape {frames.shape}; give frames x {n_features} "
            "floating-point numbers."
        )
    frames = frames.astype(np.float32)
    if not np.isfinite(frames).all():
        row = int(np.flatnonzero(~np.isfinite(frames).all(axis=1))[0])
        raise DatasetError(
            f"{path}: song {song_id!r} has a NaN or infinite value, first in frame {row}; compute it again or drop "
            "the song."
        )
    return frames
