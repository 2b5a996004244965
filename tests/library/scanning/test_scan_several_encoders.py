"""A library stores one vector a song for each of its encoders; adding one analyses only what is missing."""

import os
import signal
import sqlite3
from typing import ClassVar

import numpy as np
import pytest

from codewords_of import codewords_of
from forked import end_of_fork
from nearsong.audio import DeltaMFCC
from nearsong.errors import EncoderNotInstalledError, InvalidInputError, LibraryError
from nearsong.library import Library
from nearsong.library.models.library_encoders import chosen_encoders, stored_encoder
from nearsong.library.models.lifecycle import add_model, import_model, native_model, sample_vectors, use_model
from nearsong.library.scanning.scan import ScanOptions, scan
from nearsong.model import SongEncoder
from nearsong.model.encoders import ENCODERS, names

in_sqlite = pytest.mark.parametrize("address", ["sqlite"], indirect=True)  # where databases make no difference


class MeanAccumulator:
    def __init__(self) -> None:
        self.n_frames, self._sum = 0, np.zeros(39)

    def add(self, frames) -> None:
        self._sum = self._sum + np.asarray(frames, np.float64).sum(axis=0)
        self.n_frames += len(frames)

    def result(self):
        return self._sum / self.n_frames


class MeanEncoder(SongEncoder):
    """The mean of the frames, the smallest encoder there can be."""

    name: ClassVar[str] = "means"
    version: ClassVar[int] = 1
    cost: ClassVar[float] = 0.1
    n_dimensions = 39

    def __init__(self, features=None) -> None:
        self.features = features or DeltaMFCC()

    def start(self):
        return MeanAccumulator()

    def labels(self):
        return None

    @classmethod
    def fit(cls, frames, *, features=None, seed=0):
        return cls(features)

    @classmethod
    def build(cls, parameters, arrays, features):
        return cls(features)


BOTH_NAMES = ("codewords", "means")
CODEWORDS_ONLY = ScanOptions(encoders=("codewords",))


@pytest.fixture(autouse=True)
def means(monkeypatch):
    register(monkeypatch, MeanEncoder)


def register(monkeypatch, encoder):
    """Add an encoder to those that there are."""
    monkeypatch.setitem(ENCODERS, encoder.name, encoder)
    monkeypatch.setattr(names, "ENCODER_NAMES", (*names.ENCODER_NAMES, encoder.name))


def scanned_encoder(store, name):
    """Return the id of a scanned encoder."""
    return chosen_encoders(store, [name])[0]


def vectors_of(store, name):
    """Return the vectors of an encoder by song."""
    encoder_id = scanned_encoder(store, name)
    return {
        song: row
        for ids, rows in store.songs.vectors([encoder_id])
        for song, row in zip(ids.tolist(), rows, strict=True)
    }


def check_vectors(store, *names):
    """Check that every song has the vectors of some encoders, and of no others."""
    songs = {song.id: song.path for song in store.songs.all()}
    assert sorted(store.models.scanned_encoders()) == sorted(names)
    for name in names:
        encoder, vectors = stored_encoder(store, [scanned_encoder(store, name)]), vectors_of(store, name)
        assert vectors.keys() == songs.keys()
        for song, path in songs.items():
            np.testing.assert_array_equal(vectors[song], encoder.encode(path).astype(np.float32))
    assert store.songs.not_analysed(store.models.scanned_encoders().values()) == 0


def test_a_scan_stores_a_vector_for_each_encoder_in_one_pass(store, music, analysed):
    report = scan(store, [music], ScanOptions(encoders=BOTH_NAMES))
    assert report.added == 6
    assert len(analysed.take()) == 6 + 6  # a sample for the codebook, then each song once
    check_vectors(store, "codewords", "means")
    assert store.models.row(store.models.active).encoders == ("means",)  # codewords only where there are no others
    again = scan(store, [music])
    assert (again.unchanged, analysed.take()) == (6, [])


@in_sqlite
def test_adding_an_encoder_analyses_only_what_is_missing(store, music, analysed, make_song):
    scan(store, [music], CODEWORDS_ONLY)
    before = vectors_of(store, "codewords")
    analysed.take()
    report = scan(store, [music / "Artist 0"], ScanOptions(encoders=BOTH_NAMES))  # the songs of other folders too
    assert (report.reanalysed, report.found) == (6, 2)
    assert len(analysed.take()) == 6
    check_vectors(store, "codewords", "means")
    assert [row.encoders for row in store.models.rows()] == [("codewords",), ("means",)]  # sound alone, anew
    assert store.models.active == store.models.rows()[-1].id
    assert {song: row.tobytes() for song, row in vectors_of(store, "codewords").items()} == {
        song: row.tobytes() for song, row in before.items()
    }
    make_song(music / "new.wav", seed=50)
    assert scan(store).added == 1
    check_vectors(store, "codewords", "means")


@in_sqlite
def test_a_moved_and_a_copied_file_take_all_vectors_along(store, music, analysed):
    scan(store, [music], ScanOptions(encoders=BOTH_NAMES))
    first, second = sorted(music.rglob("*.wav"))[:2]
    first.rename(music / "moved.wav")
    (music / "copy.wav").write_bytes(second.read_bytes())
    analysed.take()
    report = scan(store)
    assert (report.moved, report.copied, analysed.take()) == (1, 1, [])
    check_vectors(store, "codewords", "means")


@in_sqlite
def test_removing_an_encoder_frees_its_vectors(store, music, analysed, monkeypatch):
    compacted = []
    monkeypatch.setattr(store, "compact", lambda: compacted.append(True))
    scan(store, [music], ScanOptions(encoders=BOTH_NAMES))
    removed = scanned_encoder(store, "means")
    analysed.take()
    report = scan(store, [music], ScanOptions(encoders=("codewords",)))
    assert (report.unchanged, analysed.take()) == (6, [])
    check_vectors(store, "codewords")
    assert list(store.songs.vectors([removed])) == []
    assert [row.name for row in store.models.encoders()] == ["codewords"]
    assert compacted == [True]


@in_sqlite
def test_the_only_encoder_can_be_replaced_by_another_one(store, music, analysed):
    scan(store, [music], CODEWORDS_ONLY)
    old = codewords_of(store)
    scan(store, [music], ScanOptions(encoders=("means",)))
    check_vectors(store, "means")
    assert codewords_of(store) is None
    assert store.models.row(store.models.active).encoder_ids == chosen_encoders(store, ["means"])
    assert list(store.songs.vectors([old])) == []
    assert scan(store, [music]).unchanged == 6  # without a word, with the encoders it has
    with pytest.raises(
        LibraryError, match=r"not analysed with the encoder 'codewords'. Run: nearsong scan --encoders"
    ):
        scanned_encoder(store, "codewords")


@in_sqlite
def test_a_learned_model_of_a_removed_encoder_stays_and_comes_back_by_a_scan(store, music, analysed):
    scan(store, [music], ScanOptions(encoders=BOTH_NAMES))
    main = codewords_of(store)
    vectors = sample_vectors(store, [main], 100, seed=0)
    model = native_model(stored_encoder(store, [main]), vectors, {})
    learned = add_model(store, model, [main], "learned", {}, activate=False)
    scan(store, [music], ScanOptions(encoders=("means",)))
    assert list(store.songs.vectors([main])) == []
    assert learned in [row.id for row in store.models.rows()]
    assert use_model(store, learned) == 6
    scan(store)
    assert store.models.active == learned
    check_vectors(store, "codewords", "means")


@in_sqlite
def test_a_file_that_can_no_longer_be_read_holds_nothing_up(store, music, analysed):
    scan(store, [music], CODEWORDS_ONLY)
    bad = sorted(music.rglob("*.wav"))[0]
    facts = bad.stat()
    bad.write_bytes(b"x" * facts.st_size)
    os.utime(bad, ns=(facts.st_atime_ns, facts.st_mtime_ns))  # the library thinks it knows it
    report = scan(store, [music], ScanOptions(encoders=BOTH_NAMES))
    assert (report.reanalysed, len(report.unreadable)) == (5, 1)
    check_vectors(store, "codewords", "means")


def test_unknown_encoders_are_refused_before_anything_happens(store, music):
    with pytest.raises(InvalidInputError, match=r"Unknown encoder: 'nonesuch'. Choose from codewords"):
        scan(store, [music], ScanOptions(encoders=("codewords", "nonesuch")))
    assert store.songs.roots() == []


@in_sqlite
def test_a_killed_scan_that_adds_an_encoder_is_continued(store, address, music, analysed):
    scan(store, [music], CODEWORDS_ONLY)
    analysed.take()
    progress = _kill_at("analysing songs", 3)  # no worker processes, so that it can be killed between two songs
    both = ScanOptions(encoders=BOTH_NAMES)
    assert end_of_fork(lambda: scan(store, [music], both, progress=progress)) == -signal.SIGKILL
    with sqlite3.connect(address) as connection:
        counts = dict(connection.execute("SELECT encoder_id, COUNT(*) FROM song_vectors GROUP BY 1").fetchall())
    assert counts[codewords_of(store)] == 6
    assert counts[scanned_encoder(store, "means")] == 3
    analysed.take()
    report = scan(store)
    assert (report.unchanged, report.reanalysed, len(analysed.take())) == (3, 3, 3)
    check_vectors(store, "codewords", "means")


def _kill_at(stage, n):
    def progress(now, done, total):
        if (now, done) == (stage, n):
            os.kill(os.getpid(), signal.SIGKILL)

    return progress


@in_sqlite
def test_a_model_file_with_an_encoder_that_is_not_there_says_which_and_what_to_do(
    store, music, tmp_path, monkeypatch
):
    scan(store, [music], ScanOptions(encoders=BOTH_NAMES))
    library = Library(store)
    library.export_model(tmp_path / "model.npz")
    monkeypatch.delitem(ENCODERS, "means")
    with pytest.raises(
        EncoderNotInstalledError,
        match=r"needs version 1 of the encoder 'means', which .* not have\. Upgrade nearsong",
    ):
        library.import_model(tmp_path / "model.npz")


@in_sqlite
def test_a_model_whose_encoder_is_not_installed_is_refused_before_anything_is_stored(store, music, monkeypatch):
    scan(store, [music], ScanOptions(encoders=BOTH_NAMES))
    model = Library(store).load_model()

    def refuse(self):
        raise EncoderNotInstalledError("The encoder means is not installed. Run: nearsong encoders install means")

    monkeypatch.setattr(MeanEncoder, "check_installed", refuse)
    with pytest.raises(EncoderNotInstalledError, match="Run: nearsong encoders install means"):
        import_model(store, model, {})
    assert [row.kind for row in store.models.rows()] == ["native"]


@in_sqlite
def test_an_optional_encoder_leaves_songs_without_a_vector_to_the_others(store, music, analysed, monkeypatch):
    class RareEncoder(MeanEncoder):
        """Has vectors of some songs only."""

        name: ClassVar[str] = "rare"
        is_optional: ClassVar[bool] = True

        def start(self):
            return RareAccumulator()

    class RareAccumulator(MeanAccumulator):
        def result(self):
            means = super().result()
            return means if means[0] > threshold else np.full(39, np.nan)

    register(monkeypatch, RareEncoder)
    scan(store, [music], ScanOptions(encoders=("means",)))
    threshold = float(np.median([row[0] for row in vectors_of(store, "means").values()]))
    scan(store, [music], ScanOptions(encoders=("means", "rare")))
    assert np.isnan(np.stack(list(vectors_of(store, "rare").values()))).all(axis=1).sum() == 3
    row = store.models.row(store.models.active)
    assert row.encoders == ("means", "rare")
    ids, embeddings = store.songs.embeddings(row.id)
    assert len(ids) == 6
    assert np.isfinite(embeddings).all()
    analysed.take()
    assert scan(store).unchanged == 6  # a song without such a vector is not analysed again
    assert analysed.take() == []
