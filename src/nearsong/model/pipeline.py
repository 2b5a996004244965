"""The chain: a file, its samples or its frames -> histograms -> a place where distance is dissimilarity.

The only module where the stages meet. A model is what one keeps: the codebook, tau, PPK, PCA and the metric, and
what it was trained on, in one file.
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from nearsong.audio import DeltaMFCC
from nearsong.encoding import Codebook
from nearsong.errors import AudioError, InvalidInputError
from nearsong.metric import MetricLearningToRank
from nearsong.model.ear import Ear, EncodedFile
from nearsong.model.encoder import Encoder
from nearsong.model.file_format import fingerprint, load_bytes, load_file, save_file, to_bytes
from nearsong.model.views import FloatArray, View, learn_view
from nearsong.validation import check_positive, check_vectors

Path = str | os.PathLike[str]


@dataclass(frozen=True, eq=False)
class SimilarityModel:
    """What listeners find similar, as a place for every sound.

    Make one with :meth:`learn` or :meth:`load`.

    Parameters
    ----------
    encoders : sequence of Encoder
        What makes histograms of frames.
    views : sequence of View
        Metrics over those histograms.
    features : DeltaMFCC
        What makes frames of samples.
    trained_on : mapping
        What the model was trained on, as JSON can hold it.

    Attributes
    ----------
    n_codewords : int
        Length of an encoded song: all encoders' histograms, one after the other.
    rank : int
        Length of a projected song.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> from nearsong import Codebook, SimilarityModel
    >>> random = np.random.default_rng(0)
    >>> songs = [random.normal(2 * (i % 2), size=(200, 39)) for i in range(12)]  # frames of two kinds of music
    >>> codebook = Codebook(16).fit(np.concatenate(songs))
    >>> same_kind = sp.csr_array(np.equal.outer(np.arange(12) % 2, np.arange(12) % 2))
    >>> model = SimilarityModel.learn(codebook, songs, same_kind, tau=2)
    >>> places = model.project(model.encode_all(songs))
    >>> new = model.project(model.encode(random.normal(2, size=(150, 39))))
    >>> int(np.argmin(np.linalg.norm(places - new, axis=1)) % 2)  # nearest to the second kind
    1
    """

    encoders: Sequence[Encoder]
    views: Sequence[View]
    features: DeltaMFCC = field(default_factory=DeltaMFCC)
    trained_on: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.encoders or not self.views:
            raise InvalidInputError("a model needs at least one encoder and one view; use SimilarityModel.learn.")
        object.__setattr__(self, "_ear", Ear(self.encoders, self.features))
        for view in self.views:
            if not 0 <= view.encoder < len(self.encoders):
                raise InvalidInputError(f"a view asks for encoder {view.encoder}; there are {len(self.encoders)}.")
            if len(view.mean) != self.encoders[view.encoder].histogram.n_codewords:
                raise InvalidInputError("a view and its encoder disagree on the number of codewords.")

    @property
    def ear(self) -> Ear:
        """What the model hears."""
        found: Ear = self._ear  # type: ignore[attr-defined]
        return found

    @property
    def n_codewords(self) -> int:
        """Length of an encoded song."""
        return self.ear.n_codewords

    @property
    def rank(self) -> int:
        """Length of a projected song."""
        return sum(len(view.factor) for view in self.views)

    # ---- learning

    @classmethod
    def learn(
        cls,
        codebook: Codebook,
        songs: Any,
        relevant: Any = None,
        ignored: Any = None,
        *,
        tau: int = 1,
        product_kernel: bool = True,
        explained_variance: float = 0.95,
        learner: MetricLearningToRank | None = None,
        features: DeltaMFCC | None = None,
        trained_on: Mapping[str, Any] | None = None,
    ) -> Self:
        """Learn a metric over songs from who is relevant to whom.

        Parameters
        ----------
        codebook : Codebook
            Fitted.
        songs : array of shape (n_songs, V), or sequence of arrays of shape (n_frames, n_features)
            Histograms that this codebook and ``tau`` gave, or the frames to make them of.
        relevant, ignored : sparse matrix of shape (n_songs, n_songs), optional
            Who is relevant to whom, and who is neither; :func:`nearsong.relevant_songs` makes both. ``relevant``
            may be a list of labels instead. Without it the model has the native metric.
        tau : int, default=1
            Codewords a frame counts for.
        product_kernel : bool, default=True
            Whether histograms are compared by their square roots (PPK).
        explained_variance : float, default=0.95
            Share of the variance that PCA keeps.
        learner : MetricLearningToRank, optional
            Loss, C and the rest; by default ``loss="auc", C=1e3``.
        features : DeltaMFCC, optional
            What made the frames.
        trained_on : mapping, optional
            Anything to remember with the model (JSON).

        Returns
        -------
        SimilarityModel
        """
        encoder = Encoder(codebook, tau)
        histograms = encoder.histograms_of(songs)
        view, fitted = learn_view(
            histograms,
            relevant,
            ignored,
            product_kernel=product_kernel,
            explained_variance=explained_variance,
            learner=learner,
        )
        facts: dict[str, Any] = {"songs": len(histograms), "fingerprint": fingerprint(histograms, relevant, ignored)}
        if fitted is not None:
            facts |= {"loss": fitted.loss, "C": float(fitted.C), "gap": float(fitted.gap_)}
        return cls([encoder], [view], features or DeltaMFCC(), {**facts, **(trained_on or {})})

    @classmethod
    def combined(cls, models: Sequence["SimilarityModel"], weights: Sequence[float] | None = None) -> Self:
        """Average models: their squared distances, each scaled to the same mean over its training songs, are summed.

        Models that share an encoder (the same codebook and tau, another C or loss, say) encode a song once.

        Parameters
        ----------
        models : sequence of SimilarityModel
            With the same features.
        weights : sequence of float, optional
            By default all the same; they are scaled to sum to one.

        Returns
        -------
        SimilarityModel
        """
        if not models:
            raise InvalidInputError("no models came; give at least one.")
        shares = [
            check_positive(weight, "weight") for weight in (weights if weights is not None else [1.0] * len(models))
        ]
        if len(shares) != len(models):
            raise InvalidInputError(f"{len(shares)} weights came for {len(models)} models; give one each.")
        if any(model.features.parameters() != models[0].features.parameters() for model in models):
            raise InvalidInputError("the models hear different features; combine models that hear the same.")
        encoders: list[Encoder] = []
        views: list[View] = []
        for model, share in zip(models, shares, strict=True):
            whole = sum(view.weight * view.spread for view in model.views)
            for view in model.views:
                encoder = model.encoders[view.encoder]
                place = next((i for i, known in enumerate(encoders) if known.same_as(encoder)), len(encoders))
                if place == len(encoders):
                    encoders.append(encoder)
                views.append(replace(view, encoder=place, weight=view.weight * share / (sum(shares) * whole)))
        return cls(encoders, views, models[0].features, {"combined": [dict(model.trained_on) for model in models]})

    # ---- hearing

    def encode(self, source: Path | npt.ArrayLike) -> FloatArray:
        """Return the histograms of one song.

        Parameters
        ----------
        source : path-like, array of shape (n_samples,) or array of shape (n_frames, n_features)
            A file in any common format; mono samples at ``features.sample_rate``; or frames.

        Returns
        -------
        array of shape (n_codewords,)
            The same bytes in every process, and whether the song came as a file, its samples or its frames.

        Raises
        ------
        AudioError
            If a file gives no usable sound.
        """
        return self.ear.encode(source)

    def encode_all(self, songs: Iterable[Path | npt.ArrayLike]) -> FloatArray:
        """Return the histograms (songs x n_codewords) of songs as :meth:`encode` takes them, in this process."""
        rows = [self.encode(song) for song in songs]
        return np.array(rows).reshape(len(rows), self.n_codewords)

    def encode_files(
        self, paths: Iterable[Path], *, workers: int | None = None, timeout: float | None = 600.0, nice: int = 0
    ) -> Iterator[tuple[Path, EncodedFile | AudioError]]:
        """Encode many files in worker processes; a bad file is an error in its place and stops nothing.

        The parameters are those of :func:`nearsong.audio.map_audio_files`.

        Yields
        ------
        path, EncodedFile or AudioError
            As they are done, in any order.
        """
        return self.ear.encode_files(paths, workers=workers, timeout=timeout, nice=nice)

    def project(self, encoded: npt.ArrayLike) -> FloatArray:
        """Return the places of encoded songs: plain Euclidean distance between them is the learned distance.

        Parameters
        ----------
        encoded : array of shape (n_songs, n_codewords) or (n_codewords,)
            From :meth:`encode`.

        Returns
        -------
        array of shape (n_songs, rank) or (rank,)
        """
        array = np.asarray(encoded)
        if array.ndim == 2 and len(array) == 0:
            return np.empty((0, self.rank))
        rows = check_vectors(np.atleast_2d(array), "encoded")
        if rows.shape[1] != self.n_codewords:
            raise InvalidInputError(
                f"encoded has {rows.shape[1]} columns and the model {self.n_codewords} codewords; encode songs with "
                "the same model."
            )
        ends = np.cumsum([0] + [encoder.histogram.n_codewords for encoder in self.encoders])
        blocks = [rows[:, start:stop] for start, stop in pairwise(ends)]
        places = np.hstack([view.project(blocks[view.encoder]) for view in self.views])
        return places[0] if array.ndim == 1 else places

    # ---- keeping

    def save(self, path: Path) -> None:
        """Write the model to one file; whoever reads it finds the old one or the new one, never half of it."""
        save_file(path, self._header(), self._arrays())

    def to_bytes(self) -> bytes:
        """Return the model as bytes, the same as in a file."""
        return to_bytes(self._header(), self._arrays())

    def _header(self) -> dict[str, Any]:
        views = [
            {name: getattr(view, name) for name in ("encoder", "product_kernel", "weight", "spread")}
            for view in self.views
        ]
        return {**self.ear.header(), "views": views, "trained_on": dict(self.trained_on)}

    def _arrays(self) -> dict[str, npt.NDArray[Any]]:
        arrays = self.ear.arrays()
        for i, view in enumerate(self.views):
            arrays |= {f"view{i}_{name}": getattr(view, name) for name in ("mean", "basis", "factor")}
        return arrays

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read a model that :meth:`save` wrote.

        Raises
        ------
        ModelFileError
            If the file is not such a model, was changed or cut short, or was written by a later version.
        """
        return load_file(path, cls._build)

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Return the model of bytes that :meth:`to_bytes` made; refuses what :meth:`load` refuses."""
        return load_bytes(data, cls._build)

    @classmethod
    def _build(cls, header: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> Self:
        ear = Ear.build(header, arrays)
        views = []
        for i, facts in enumerate(header["views"]):
            mean, basis, factor = (arrays[f"view{i}_{name}"] for name in ("mean", "basis", "factor"))
            views.append(View(mean=mean, basis=basis, factor=factor, **facts))
        return cls(ear.encoders, views, ear.features, dict(header["trained_on"].items()))
