"""A projector whose embeddings depend on the other songs of the artist, as a listener space's do."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from nearsong.library.store import Store
from nearsong.model import Projector, SimilarityModel, SongEncoder

SHARE = 0.7
"""How far songs of a database are drawn to the mean of their artist's songs."""


@dataclass(frozen=True, eq=False)
class ArtistMeans(Projector):
    """Maps vectors linearly; songs of a database are drawn to the mean of their artist's songs."""

    kind: ClassVar[str] = "artist_means"
    basis: npt.NDArray[np.float64]

    @property
    def uses_artists(self) -> bool:
        return True

    @property
    def rank(self) -> int:
        return int(self.basis.shape[1])

    @property
    def is_zero(self) -> bool:
        return not self.basis.any()

    def check(self, encoder: SongEncoder) -> None:
        assert encoder.n_dimensions == len(self.basis)

    def project(self, encoder, vectors):
        rows = np.nan_to_num(np.asarray(vectors, np.float64), nan=0.5)
        return np.array([(row[:, None] * self.basis).sum(axis=0) for row in rows]).reshape(len(rows), self.rank)

    def project_database(self, encoder, vectors, artists):
        own = self.project(encoder, vectors)
        drawn = own.copy()
        for artist in set(artists.tolist()) - {-1}:
            songs = artists == artist
            drawn[songs] = (1 - SHARE) * own[songs] + SHARE * own[songs].mean(axis=0)
        return drawn

    def parameters(self) -> dict[str, Any]:
        return {}

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        return {"basis": self.basis}

    @classmethod
    def build(cls, parameters: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> Self:
        return cls(arrays["basis"])


def artist_model(encoder: SongEncoder, seed: int = 0) -> SimilarityModel:
    """Return a model whose embeddings depend on artists."""
    return SimilarityModel(encoder, ArtistMeans(np.random.default_rng(seed).normal(size=(encoder.n_dimensions, 3))))


def check_artist_embeddings(store: Store, model_id: int, model: SimilarityModel) -> None:
    """Check that the embeddings are those of all songs projected at once, by artist, to the last bit."""
    encoder_ids = store.models.row(model_id).encoder_ids
    keys = {song.id: song.artist_key for song in store.songs.all()}
    ids, embeddings = store.songs.embeddings(model_id)
    blocks = list(store.songs.vectors(encoder_ids))
    songs = np.concatenate([block for block, _ in blocks])
    vectors = np.concatenate([rows for _, rows in blocks])
    numbers = {key: number for number, key in enumerate(sorted(set(keys.values()) - {""}))}
    artists = np.array([numbers.get(keys[song], -1) for song in songs.tolist()])
    assert ids.tolist() == songs.tolist()
    assert embeddings.tobytes() == model.project_database(vectors, artists).astype(np.float32).tobytes()
