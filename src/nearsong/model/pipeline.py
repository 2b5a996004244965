"""The chain: a file, its samples or its frames -> song vector -> embedding whose distances are dissimilarity.

The only module that combines the stages. A model is an encoder, a projector and a record of its training.
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Optional, Self

import numpy as np
import numpy.typing as npt

from nearsong.audio import DeltaMFCC
from nearsong.encoding import Codewords
from nearsong.errors import AudioError, InvalidInputError
from nearsong.model.encoders import CodewordEncoder, EncodedFile, Quantizer, SongEncoder, joined
from nearsong.model.encoders.registry import build_encoder
from nearsong.model.file_format import fingerprint, load_bytes, load_file, save_file, to_bytes
from nearsong.model.fused_projector import FusedProjector
from nearsong.model.projection import Projection, learn_projection
from nearsong.model.projector import MetricProjector, Projector
from nearsong.types import FloatArray
from nearsong.validation import check_positive

if TYPE_CHECKING:
    from nearsong.metric import MetricLearningToRank

Path = str | os.PathLike[str]

PROJECTORS: dict[str, type[Projector]] = {
    projector.kind: projector for projector in (MetricProjector, FusedProjector)
}
"""What may turn song vectors into embeddings."""

_PROJECTOR_PREFIX = "projector_"


@dataclass(frozen=True, eq=False)
class SimilarityModel:
    """Maps songs to embeddings whose distances reflect what listeners find similar.

    Create one with :meth:`learn` or :meth:`load`.

    Parameters
    ----------
    encoder : SongEncoder
        Turns the frames of a song into a vector.
    projector : Projector
        Turns song vectors into embeddings.
    trained_on : mapping
        A JSON-serialisable record of the training.

    Attributes
    ----------
    n_dimensions : int
        Length of a song vector.
    rank : int
        Length of an embedding.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> from nearsong import Codebook, SimilarityModel
    >>> random = np.random.default_rng(0)
    >>> songs = [random.normal(2 * (i % 2), size=(200, 39)) for i in range(12)]  # frames of two kinds of music
    >>> codebook = Codebook(16).fit(np.concatenate(songs))
    >>> same_kind = sp.csr_array(np.equal.outer(np.arange(12) % 2, np.arange(12) % 2))
    >>> model = SimilarityModel.learn(codebook, songs, same_kind, tau=2)
    >>> embeddings = model.project(model.encode_all(songs))
    >>> new = model.project(model.encode(random.normal(2, size=(150, 39))))
    >>> int(np.argmin(np.linalg.norm(embeddings - new, axis=1)) % 2)  # nearest to the second kind
    1
    """

    encoder: SongEncoder
    projector: Projector
    trained_on: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.projector.check(self.encoder)

    @property
    def n_dimensions(self) -> int:
        """Length of a song vector."""
        return self.encoder.n_dimensions

    @property
    def rank(self) -> int:
        """Length of an embedding."""
        return self.projector.rank

    # ---- learning

    @classmethod
    def learn(
        cls,
        encoder: SongEncoder | Codewords,
        songs: Any,
        relevant: Any = None,
        ignored: Any = None,
        *,
        tau: int = 1,
        apply_phi: bool = True,
        explained_variance: float = 0.95,
        learner: Optional["MetricLearningToRank"] = None,
        features: DeltaMFCC | None = None,
        trained_on: Mapping[str, Any] | None = None,
    ) -> Self:
        """Learn a metric over songs from relevant pairs.

        Parameters
        ----------
        encoder : SongEncoder or Codebook
            A fitted codebook is short for a :class:`CodewordEncoder` with it, ``tau`` and ``features``.
        songs : array of shape (n_songs, n_dimensions), or sequence of arrays of shape (n_frames, n_features)
            Vectors of this encoder, or frames to encode.
        relevant, ignored : sparse matrix of shape (n_songs, n_songs), optional
            Which songs are relevant to which, and which to ignore; see :func:`nearsong.relevant_songs`. ``relevant``
            may be a list of labels instead. Without it the model has the native metric.
        tau : int, default=1
            Codewords counted per frame; for a codebook only.
        apply_phi : bool, default=True
            Whether vectors are compared after the encoder's ``phi``: histograms by their square roots (PPK).
        explained_variance : float, default=0.95
            Share of the variance retained by PCA.
        learner : MetricLearningToRank, optional
            Loss, C and the rest; by default ``loss="auc", C=1e3``.
        features : DeltaMFCC, optional
            What computed the frames; for a codebook only.
        trained_on : mapping, optional
            Anything to store with the model (JSON).
        """
        if isinstance(encoder, Codewords):
            encoder = CodewordEncoder(Quantizer(encoder, tau), features or DeltaMFCC())
        is_encoded = isinstance(songs, np.ndarray) and songs.ndim == 2
        vectors = encoder.check(songs) if is_encoded else encoder.encode_all(songs)
        projection, fitted = learn_projection(
            vectors,
            relevant,
            ignored,
            encoder=encoder,
            apply_phi=apply_phi,
            explained_variance=explained_variance,
            learner=learner,
        )
        facts: dict[str, Any] = {"songs": len(vectors), "fingerprint": fingerprint(vectors, relevant, ignored)}
        if fitted is not None:
            facts |= {"loss": fitted.loss, "C": float(fitted.C), "gap": float(fitted.gap_)}
        return cls(encoder, MetricProjector([projection]), {**facts, **(trained_on or {})})

    @classmethod
    def combined(cls, models: Sequence["SimilarityModel"], weights: Sequence[float] | None = None) -> Self:
        """Average models: their squared distances, each scaled to the same mean over its training songs, are summed.

        Models that share an encoder (the same codebook and tau, another C or loss, say) encode songs with it once.

        Parameters
        ----------
        models : sequence of SimilarityModel
        weights : sequence of float, optional
            By default all the same; they are scaled to sum to one.
        """
        if not models:
            raise InvalidInputError("no models given; give at least one.")
        shares = [
            check_positive(weight, "weight") for weight in (weights if weights is not None else [1.0] * len(models))
        ]
        if len(shares) != len(models):
            raise InvalidInputError(f"{len(shares)} weights given for {len(models)} models; give one each.")
        encoders: dict[str, SongEncoder] = {}
        projections: list[Projection] = []
        for model, share in zip(models, shares, strict=True):
            if not isinstance(model.projector, MetricProjector):
                raise InvalidInputError(f"a model of kind {model.projector.kind!r} cannot be averaged, only metrics.")
            spread = sum(projection.weight * projection.spread for projection in model.projector.projections)
            for projection in model.projector.projections:
                encoder = model.encoder.encoders[projection.encoder_index]
                encoders.setdefault(encoder.key, encoder)
                weight = projection.weight * share / (sum(shares) * spread)
                index = list(encoders).index(encoder.key)
                projections.append(replace(projection, encoder_index=index, weight=weight))
        return cls(
            joined(list(encoders.values())),
            MetricProjector(projections),
            {"combined": [dict(model.trained_on) for model in models]},
        )

    # ---- encoding and projecting

    def encode(self, source: Path | npt.ArrayLike) -> FloatArray:
        """Return the vector of one song.

        Parameters
        ----------
        source : path-like, array of shape (n_samples,) or array of shape (n_frames, n_features)
            A file in any common format; mono samples at ``features.sample_rate``; or frames.

        Returns
        -------
        array of shape (n_dimensions,)
            Identical in every process, and for a file, its samples and its frames.

        Raises
        ------
        AudioError
            If a file has no usable audio.
        """
        return self.encoder.encode(source)

    def encode_all(self, songs: Iterable[Path | npt.ArrayLike]) -> FloatArray:
        """Return the vectors (songs x n_dimensions) of songs as :meth:`encode` takes them, in this process."""
        return self.encoder.encode_all(songs)

    def encode_files(
        self, paths: Iterable[Path], *, workers: int | None = None, timeout: float | None = 600.0, nice: int = 0
    ) -> Iterator[tuple[Path, EncodedFile | AudioError]]:
        """Encode many files in worker processes; an unreadable file yields an error and does not stop the others.

        The parameters are those of :func:`nearsong.audio.map_audio_files`.

        Yields
        ------
        path, EncodedFile or AudioError
            In the order of completion.
        """
        return self.encoder.encode_files(paths, workers=workers, timeout=timeout, nice=nice)

    def project(self, encoded: npt.ArrayLike) -> FloatArray:
        """Return the embeddings of encoded songs: plain Euclidean distance between them is the learned distance.

        Parameters
        ----------
        encoded : array of shape (n_songs, n_dimensions) or (n_dimensions,)
            From :meth:`encode`.

        Returns
        -------
        array of shape (n_songs, rank) or (rank,)
        """
        array = np.asarray(encoded)
        if array.ndim == 2 and len(array) == 0:
            return np.empty((0, self.rank))
        embeddings = self.projector.project(self.encoder, self._check(array))
        return embeddings[0] if array.ndim == 1 else embeddings

    def project_database(self, encoded: npt.ArrayLike, artists: npt.ArrayLike) -> FloatArray:
        """Return the embeddings of songs of a database; some models draw songs to the mean of their artist's songs.

        Parameters
        ----------
        encoded : array of shape (n_songs, n_dimensions)
            All songs of the artists.
        artists : array of int and shape (n_songs,)
            Any number for each artist; -1 for songs without one.

        Returns
        -------
        array of shape (n_songs, rank)
        """
        array = np.asarray(encoded)
        if len(array) == 0:
            return np.empty((0, self.rank))
        numbers = np.asarray(artists, dtype=np.int64)
        if numbers.shape != (len(array),):
            raise InvalidInputError(f"artists has shape {numbers.shape} for {len(array)} songs; give one per song.")
        return self.projector.project_database(self.encoder, self._check(array), numbers)

    def _check(self, encoded: npt.NDArray[Any]) -> FloatArray:
        """Return vectors as rows (n_songs, n_dimensions), or raise."""
        rows = np.atleast_2d(encoded)
        if rows.ndim != 2 or rows.shape[1] != self.n_dimensions:
            raise InvalidInputError(
                f"encoded has {rows.shape[-1]} columns and the model {self.n_dimensions} dimensions; encode songs "
                "with the same model."
            )
        return rows

    def _refuse_zero(self) -> None:
        """Raise if all songs have the same embedding: such a model is neither stored nor read."""
        if self.projector.is_zero:
            raise InvalidInputError("the model's basis or factor is zero, so that all songs would be equally similar")

    # ---- storing

    def save(self, path: Path) -> None:
        """Write the model to one file, which is replaced atomically."""
        save_file(path, self._header(), self._arrays())

    def to_bytes(self) -> bytes:
        """Return the model as bytes, the same as in a file."""
        return to_bytes(self._header(), self._arrays())

    def _header(self) -> dict[str, Any]:
        self._refuse_zero()
        projector = {"kind": self.projector.kind, "parameters": self.projector.parameters()}
        return {**self.encoder.header(), "projector": projector, "trained_on": dict(self.trained_on)}

    def _arrays(self) -> dict[str, npt.NDArray[Any]]:
        own = {f"{_PROJECTOR_PREFIX}{name}": array for name, array in self.projector.arrays().items()}
        return self.encoder.arrays() | own

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read a model that :meth:`save` wrote.

        Raises
        ------
        ModelFileError
            If the file is not a model, was changed or truncated, or was written by a later version.
        """
        return load_file(path, cls._build)

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Read a model from :meth:`to_bytes`; raises the same errors as :meth:`load`."""
        return load_bytes(data, cls._build)

    @classmethod
    def _build(cls, header: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> Self:
        encoder = build_encoder(header, arrays)
        facts = header["projector"]
        own = {
            name.removeprefix(_PROJECTOR_PREFIX): array
            for name, array in arrays.items()
            if name.startswith(_PROJECTOR_PREFIX)
        }
        projector = PROJECTORS[facts["kind"]].build(facts["parameters"], own)
        model = cls(encoder, projector, dict(header["trained_on"].items()))
        model._refuse_zero()
        return model
