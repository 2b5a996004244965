"""Songs under a listener space: planted artists, of whom some are popular, and a space without files."""

from pathlib import Path

import numpy as np
import scipy.sparse as sp

from nearsong.library.neighbours.space import Space
from nearsong.library.records import Song
from nearsong.model import FusedProjector, SimilarityModel
from nearsong.model.encoders import joined
from nearsong.model.encoders.fisher import FisherEncoder
from nearsong.model.encoders.texture import TextureEncoder
from nearsong.model.fused_projector import SoundSpace
from nearsong.model.fusion import Fusion
from nearsong.model.listener_space import ListenerSpace

N_ARTISTS, SONGS_EACH = 30, 4


def fused_encoder():
    """Two encoders whose parts are fused."""
    random = np.random.default_rng(1)
    frames = [random.normal(size=(120, 39)) for _ in range(12)]
    return joined([FisherEncoder.fit(frames), TextureEncoder.fit(frames)])


def planted(seed=0):
    """Song vectors, the artist of each song, and who plays whom: the first artists are played by more people."""
    encoder, random = fused_encoder(), np.random.default_rng(seed)
    taste = random.normal(size=(N_ARTISTS, 4))
    sound = taste @ random.normal(size=(4, encoder.n_dimensions))
    song_artist = np.repeat(np.arange(N_ARTISTS), SONGS_EACH)
    vectors = sound[song_artist] + random.normal(size=(len(song_artist), encoder.n_dimensions))
    people = random.normal(size=(300, 4))
    popular = np.linspace(3, -3, N_ARTISTS)
    plays = sp.csr_array((people @ taste.T + popular + random.normal(size=(300, N_ARTISTS))) > 2)
    return encoder, vectors, song_artist, plays


def fused_model(kind="listeners", seed=0):
    """Return a fused model and the embeddings of its songs as a library stores them."""
    encoder, vectors, song_artist, plays = planted(seed)
    fusion = Fusion.fit(encoder.phi(vectors), encoder.parts)
    phi = fusion.transform(encoder.phi(vectors))
    anchors = {str(column): f"Artist {column}" for column in range(N_ARTISTS)}
    if kind == "sound":
        model = SimilarityModel(encoder, FusedProjector(fusion, SoundSpace.fit(phi)), {"kind": "native"})
    else:
        factor = np.random.default_rng(5).normal(size=(3, phi.shape[1])) if kind == "metric" else None
        space = ListenerSpace().fit(phi, song_artist, plays, metric=factor)
        model = SimilarityModel(encoder, FusedProjector(fusion, space), {"listeners": 300, "anchors": anchors})
    return model, model.project_database(vectors, song_artist).astype(np.float32), vectors, plays


def fused_space(kind="listeners", seed=0) -> Space:
    """A space of these songs; song i + 1 is by artist i // 4."""
    model, embeddings, _, _ = fused_model(kind, seed)
    songs = [
        Song(
            id=i + 1,
            path=f"/music/{i}.mp3",
            artist=f"Artist {i // SONGS_EACH}",
            title=f"Song {i}",
            artist_key=f"artist {i // SONGS_EACH}",
            seconds=100.0 + i,
        )
        for i in range(len(embeddings))
    ]
    return Space(1, model, songs, embeddings, Path("/nowhere"))
