"""After a scan, killed or not, embeddings that depend on the artist's other songs are right for all songs."""

import os
import signal

import pytest

from artist_means import ArtistMeans, artist_model, check_artist_embeddings
from codewords_of import codewords_of
from forked import end_of_fork
from nearsong.library.models import embedding
from nearsong.library.models.lifecycle import add_model, import_model
from nearsong.library.scanning.scan import ScanOptions, scan
from nearsong.model.encoders import joined, read_encoder
from nearsong.model.pipeline import PROJECTORS

in_sqlite = pytest.mark.parametrize("address", ["sqlite"], indirect=True)  # where databases make no difference


@pytest.fixture
def model(store, music, encoder, analysed, monkeypatch):
    """Return the active model of a scanned library, whose embeddings depend on artists."""
    monkeypatch.setitem(PROJECTORS, ArtistMeans.kind, ArtistMeans)
    scan(store, [music], encoder=encoder)
    model = artist_model(encoder)
    add_model(store, model, [codewords_of(store)], "learned", {})
    analysed.take()
    return model


def change_files(music, make_song) -> None:
    """Add, change, copy, move and remove songs of two of the three artists."""
    make_song(music / "Artist 0" / "new.wav", seed=50)
    make_song(music / "Artist 3" / "new.wav", seed=51)
    make_song(music / "no artist.wav", seed=52)
    (music / "Artist 0" / "Song 0.wav").rename(music / "Artist 3" / "moved.wav")
    make_song(music / "Artist 0" / "Song 3.wav", seed=53, seconds=1.8)
    (music / "Artist 1" / "Song 1.wav").unlink()


def test_a_scan_leaves_the_embeddings_of_all_songs_by_artist(store, music, make_song, model):
    check_artist_embeddings(store, store.models.active, model)
    change_files(music, make_song)
    report = scan(store, [music], ScanOptions(prune=True))
    assert (report.added, report.changed, report.moved, report.removed) == (3, 1, 1, 1)
    check_artist_embeddings(store, store.models.active, model)
    assert scan(store).unchanged == 8


@in_sqlite
@pytest.mark.parametrize(("stage", "n"), [("analysing songs", 1), ("analysing songs", 3), ("embedding songs", 1)])
def test_a_scan_that_is_killed_leaves_nothing_wrong_for_good(store, music, make_song, model, monkeypatch, stage, n):
    monkeypatch.setattr(embedding, "BLOCK_SONGS", 1)
    change_files(music, make_song)
    calls = []

    def kill(now, done, total):
        calls.append(now)
        if calls.count(stage) == n:
            os.kill(os.getpid(), signal.SIGKILL)

    assert end_of_fork(lambda: scan(store, [music], ScanOptions(prune=True), progress=kill)) == -signal.SIGKILL
    scan(store, [music], ScanOptions(prune=True))
    assert len(store.songs.all()) == 8
    check_artist_embeddings(store, store.models.active, model)


@in_sqlite
def test_an_imported_model_of_several_encoders_waits_for_the_scan_and_follows_it(store, music, make_song, model):
    scan(store, [music], ScanOptions(encoders=("codewords", "gaussian", "fisher")))
    assert store.models.row(store.models.active).encoders == ("codewords",)  # the learned one stays
    encoders = [
        read_encoder(store.models.encoder(store.models.scanned_encoders()[name])) for name in ("fisher", "codewords")
    ]
    scan(store, [music], ScanOptions(encoders=("codewords", "gaussian")))
    both = artist_model(joined(encoders))
    model_id, is_active = import_model(store, both, {})
    assert not is_active
    assert store.models.row(model_id).encoders == ("fisher", "codewords")
    change_files(music, make_song)
    scan(store, [music])
    assert store.models.active == model_id
    check_artist_embeddings(store, model_id, both)
    assert tuple(store.models.scanned_encoders()) == ("codewords", "gaussian", "fisher")
