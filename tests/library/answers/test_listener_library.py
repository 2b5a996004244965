"""A library under a listener space: similar songs, reasons, playlists, map, cold start and the dial."""

import shutil

import numpy as np
import pytest

from listener_library import use_listener_space
from nearsong.library import Filters, PlaylistRules


@pytest.fixture
def library(trained, tmp_path):
    use_listener_space(trained, tmp_path)
    return trained


def test_every_answer_works_over_a_listener_space(library, tmp_path):
    snapshot = library.snapshot(now=True)
    song = library.songs()[5]
    near = library.similar(song, n=10)
    assert len(near) == 10
    similarities = [neighbour.similarity for neighbour in near]
    assert similarities == sorted(similarities, reverse=True)
    assert 0 <= similarities[-1] <= similarities[0] <= 1
    random = snapshot.space.calibration.similarity(
        np.linalg.norm(np.diff(np.random.default_rng(0).permutation(snapshot.space.embeddings), axis=0), axis=1)
    )
    assert random.mean() == pytest.approx(0.5, abs=0.1)  # calibrated: a random pair is nearer than half of all

    n_described = 0
    for reason in library.why(song, *(neighbour.song for neighbour in near)):
        parts = reason.fused
        assert sum(kind.squared for kind in parts.kinds) == pytest.approx(reason.distance**2, abs=1e-9)
        assert sum(aspect.squared for aspect in parts.aspects) == pytest.approx(
            next(kind.squared for kind in parts.kinds if kind.kind == "sound"), abs=1e-9
        )
        assert reason.sentences()[0] == reason.lead
        assert "learned from" in reason.lead
        assert reason.as_json()["lead"] == reason.lead
        n_described += len(reason.sound.similarities) + len(reason.sound.differences)

    assert n_described  # by the codewords beside the model

    songs, _ = library.playlist(song, rules=PlaylistRules(length=12, artist_gap=2))
    assert songs[0] == song
    assert len({other.id for other in songs}) == len(songs) == 12
    path, _ = library.playlist(song, to=library.songs()[-1], rules=PlaylistRules(length=5))
    assert path[0] == song
    assert snapshot.cold_start().songs == len(snapshot.space.songs)
    library.map(tmp_path / "map.html")
    assert snapshot.has_dial
    familiar, adventurous = (library.similar(song, n=10, adventurousness=position) for position in (-1.0, 1.0))
    assert [neighbour.song.id for neighbour in familiar] != [neighbour.song.id for neighbour in adventurous]
    dialled, _ = library.playlist(song, rules=PlaylistRules(length=6, adventurousness=1.0))
    assert dialled[0] == song
    assert len(library.similar(song, n=5, filters=Filters(new_artists=True, one_per_artist=True))) == 5


def test_a_file_outside_the_library_is_explained_too(library, tmp_path):
    song = library.songs()[3]
    copy = tmp_path / "copy.wav"
    shutil.copy(song.path, copy)
    (reason,) = library.why(str(copy), library.songs()[0])
    assert reason.fused is not None
    assert sum(kind.share for kind in reason.fused.kinds) == pytest.approx(1)
