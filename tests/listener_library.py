"""A trained library -> the same library under a listener space, through a model file."""

from pathlib import Path

import numpy as np

from nearsong.library.listeners.histories import Histories
from nearsong.model import FusedProjector, SimilarityModel
from nearsong.model.fusion import Fusion
from nearsong.model.listener_space import ListenerSpace


def use_listener_space(library, folder: Path) -> None:
    """Fit a listener space over the encoders that are scanned, and make it the active model."""
    store = library._store
    rows = [row for row in library.models() if row.kind == "native"]
    encoder = library.load_model(rows[-1].id).encoder
    blocks = list(store.songs.vectors(rows[-1].encoder_ids))
    ids, vectors = np.concatenate([block[0] for block in blocks]), np.vstack([block[1] for block in blocks])
    vectors = encoder.restore(vectors)
    histories = Histories(store)
    listening, catalogue = histories.listening(), histories.catalogue
    column = {song.id: int(artist) for song, artist in zip(histories.songs, catalogue.song_artist, strict=True)}
    song_artist = np.array([column[song] for song in ids.tolist()])
    fusion = Fusion.fit(encoder.phi(vectors), encoder.parts)
    space = ListenerSpace(anchor_listeners=2, factor_listeners=2)
    space.fit(fusion.transform(encoder.phi(vectors)), song_artist, listening.artist_plays)
    facts = {
        "listeners": int(listening.artist_plays.shape[0]),
        "anchors": {str(number): name for number, name in enumerate(catalogue.artists)},
    }
    SimilarityModel(encoder, FusedProjector(fusion, space), facts).save(folder / "listeners.npz")
    _, is_active = library.import_model(folder / "listeners.npz")
    assert is_active
