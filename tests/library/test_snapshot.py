"""The library at one moment: what it answers, that threads share it, and when it is read anew."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import numpy as np
import pytest
import soundfile

import music_library
from library_store import mark_missing, store_of
from nearsong.audio.tags import Tags, read_tags
from nearsong.caching import is_cached
from nearsong.errors import EmptyLibraryError, InvalidInputError, LibraryError, NoSuchSongError
from nearsong.library import Filters, Library, PlaylistRules, snapshot, snapshot_cache
from nearsong.library.listeners.histories import Histories
from nearsong.library.listeners.listeners import Listeners
from nearsong.library.neighbours.space import Space


@pytest.fixture
def shot(trained):
    return trained.snapshot()


@pytest.fixture(scope="module")
def outside(tmp_path_factory):
    """A file that no library has analysed."""
    path = tmp_path_factory.mktemp("outside") / "new.wav"
    soundfile.write(path, music_library.sound(1, seed=4321), music_library.RATE)
    return path


def nearest(space, embedding, own, n):
    """Return ids and distances of the n nearest by looking at all songs."""
    distances = np.sqrt(((space.embeddings.astype(float) - np.asarray(embedding, np.float32)) ** 2).sum(axis=1))
    order = [row for row in np.lexsort((space.ids, distances)) if space.ids[row] != own][:n]
    return space.ids[order].tolist(), distances[order]


# ---- answers


@pytest.mark.parametrize("metric", ["active", "native"])
def test_similar_songs_are_the_nearest_under_each_metric(shot, metric):
    space = shot.space if metric == "active" else shot.native
    for song in shot.space.songs[::7]:
        seed = shot.seed(song.id, metric)
        ids, distances = nearest(space, seed.embedding, song.id, 8)
        near = shot.similar([seed], 8, metric=metric)
        assert [one.song.id for one in near] == ids
        np.testing.assert_allclose([one.distance for one in near], distances, rtol=1e-6)
        expected = space.calibration.similarity(distances)
        np.testing.assert_allclose([one.similarity for one in near], expected, atol=1e-6)


def test_the_two_metrics_differ_and_the_native_one_is_that_of_the_native_model(trained, shot):
    assert (shot.model.kind, shot.model.id) == ("learned", trained.active_model)
    assert shot.native.songs == shot.space.songs
    rows = [shot.seed(song.id) for song in shot.space.songs]
    differ = [shot.similar([seed], 5) != shot.similar([seed], 5, metric="native") for seed in rows]
    assert all(differ)
    assert shot.native.model.encoder.key == shot.space.model.encoder.key
    native = next(row for row in trained.models() if row.kind == "native")
    trained.use_model(native.id)
    other = trained.snapshot()
    assert other.native is other.space
    if native.encoder_ids == shot.model.encoder_ids:  # otherwise one was fitted for the learned model's encoders
        np.testing.assert_allclose(other.space.embeddings, shot.native.embeddings, atol=1e-6)


def test_a_seed_of_one_metric_can_be_asked_under_the_other(shot, outside):
    vector = shot.space.model.encode(outside)
    for song in (shot.space.songs[4], None):
        seeds = [
            shot.seed_of_vector(vector, Tags(), "x", metric) if song is None else shot.seed(song.id, metric)
            for metric in ("active", "native")
        ]
        for metric in ("active", "native"):
            first, second = (shot.similar([seed], 6, metric=metric) for seed in seeds)
            assert first == second


def test_an_upload_is_a_seed_like_the_file_itself(trained, shot, outside):
    analysed = shot.seed_of_vector(shot.space.model.encode(outside), read_tags(outside), "new.wav")
    resolved = trained.snapshot().seed(outside)
    assert (analysed.name, analysed.artist_key, analysed.title_key) == (
        resolved.name,
        resolved.artist_key,
        resolved.title_key,
    )
    assert shot.similar([analysed], 9) == trained.similar(outside, n=9)
    named = shot.seed_of_vector(analysed.vector, Tags(artist="The Ab", title="Cd"), "x.wav")
    assert (named.name, named.artist_key, named.title_key) == ("The Ab - Cd", "ab", "cd")


def test_an_embedding_is_a_seed_again(trained, shot, outside):
    analysed = shot.seed_of_vector(shot.space.model.encode(outside), Tags(), "new.wav")
    again = shot.seed_of_embedding(analysed.embedding.astype("<f4"), analysed.model_id, "new.wav")
    assert shot.similar([again], 9) == shot.similar([analysed], 9)
    assert shot.playlist([again])[0] == shot.playlist([analysed])[0]
    with pytest.raises(InvalidInputError, match=r"embedding has shape \(\d+,\); \d+ numbers are needed"):
        shot.seed_of_embedding(np.append(analysed.embedding, 1.0), analysed.model_id)
    with pytest.raises(InvalidInputError, match="NaN or infinite"):
        shot.seed_of_embedding(np.full_like(analysed.embedding, np.nan), analysed.model_id)
    with pytest.raises(LibraryError, match=r"new\.wav was analysed for a model that is no longer active"):
        shot.seed_of_embedding(analysed.embedding, 999, "new.wav")
    with pytest.raises(LibraryError, match=r"the file was analysed for a model that is no longer active"):
        shot.similar([shot.seed_of_embedding(analysed.embedding, analysed.model_id)], metric="native")
    trained.use_model(next(row.id for row in trained.models() if row.kind == "native"))
    with pytest.raises(LibraryError, match=r"new\.wav was analysed for a model that is no longer active"):
        trained.snapshot().similar([analysed])


def test_library_and_snapshot_answer_the_same(trained, shot):
    songs = shot.space.songs
    seeds = [shot.seed(songs[0].id), shot.seed(songs[40].id)]
    for filters in (None, Filters(one_per_artist=True), Filters(new_artists=True), Filters(fewer_plays=60.0)):
        assert shot.similar(seeds, 7, filters) == trained.similar(songs[0], songs[40], n=7, filters=filters)
        assert shot.similar(seeds[:1], 7, filters) == trained.similar(songs[0].id, n=7, filters=filters)
    rules = PlaylistRules(length=9)
    assert shot.playlist(seeds, rules) == trained.playlist(songs[0], songs[40], rules=rules)
    assert shot.playlist(seeds[:1], rules, to=seeds[1]) == trained.playlist(songs[0], rules=rules, to=songs[40])
    assert shot.why(seeds[:1], seeds[1:]) == trained.why(songs[0], songs[40])
    with pytest.raises(InvalidInputError, match="No seed given"):
        shot.playlist([])
    with pytest.raises(InvalidInputError, match="metric='learned'"):
        shot.similar(seeds, metric="learned")


def test_an_explanation_does_not_depend_on_what_else_is_asked(shot):
    seeds = [shot.seed(song.id) for song in shot.space.songs[:12]]
    together = shot.why(seeds[:1], seeds[1:])
    assert together == [shot.why(seeds[:1], [other])[0] for other in seeds[1:]]
    examples = [{song.id for songs in why.examples.values() for song in songs} for why in together]
    assert any(examples)
    for songs, other in zip(examples, seeds[1:], strict=True):
        assert not songs & {seeds[0].song.id, other.song.id}
    assert shot.why(seeds[:1], []) == []


def test_listeners_agree_where_the_artist_is_among_the_ten_nearest(shot):
    listeners = Listeners.of(shot.histories)
    for song in shot.space.songs[:8]:
        agreement = shot.agrees(shot.seed(song.id), shot.space.songs)
        near = set(listeners.nearest_artists(song.artist_key, 10))
        for other, agrees in zip(shot.space.songs, agreement, strict=True):
            same = other.artist_key == song.artist_key
            assert agrees is (None if same else other.artist_key in near)
    unknown = shot.seed_of_vector(np.full(shot.space.model.n_dimensions, 0.1), Tags(artist="Nobody at all"), "x")
    assert set(shot.agrees(unknown, shot.space.songs)) == {None}


def test_plays_are_those_of_the_histories(trained, shot):
    with store_of(trained) as store:
        assert shot.plays == Histories(store).song_plays()
    trained.remove_listens(*(source.id for source in trained.listens()))
    assert trained.snapshot().plays == {}
    assert trained.snapshot().agrees(shot.seed(1), shot.space.songs[:3]) == [None] * 3


def test_the_cold_start_is_counted_once(trained, tmp_path, monkeypatch):
    trained.remove_listens(*(source.id for source in trained.listens()))
    trained.import_listens(music_library.write_listens(tmp_path / "few.csv", n_users=2))
    shot = trained.snapshot()
    first = shot.cold_start()
    assert first.songs == len(shot.space.songs)
    assert first.never_played == first.songs - len(shot.plays)
    assert 0 < first.recommended <= first.never_played
    monkeypatch.setattr(snapshot, "cold_start", lambda *args: 1 / 0)
    assert shot.cold_start() is first
    with pytest.raises(ZeroDivisionError):
        shot.cold_start(5)


def test_threads_share_one_count_of_the_cold_start(shot, monkeypatch):
    counts = []

    def count(*args):
        counts.append(args)
        time.sleep(0.2)
        return object()

    monkeypatch.setattr(snapshot, "cold_start", count)
    with ThreadPoolExecutor(4) as threads:
        results = list(threads.map(lambda _: shot.cold_start(7), range(4)))
    assert len(counts) == 1
    assert len(set(results)) == 1


def test_a_song_that_is_not_there_says_so(trained, shot):
    assert shot.song(7).id == 7
    with pytest.raises(NoSuchSongError, match="song not found: 9999; search for it by name"):
        shot.seed(9999)
    mark_missing(trained, [7])
    later = trained.snapshot(now=True)
    with pytest.raises(NoSuchSongError, match="the file of song 7 is missing; restore it"):
        later.song(7)
    with pytest.raises(NoSuchSongError, match="the file of song 7 is missing"):
        later.similar([shot.seed(7, "native")])
    with pytest.raises(NoSuchSongError, match="the file of song 7 is missing"):
        trained.similar(7)


def test_a_seed_made_earlier_is_asked_for_where_its_song_is_now(trained, shot):
    seed, other = shot.seed(5), shot.seed(9)
    assert shot.seed(seed) is seed
    with store_of(trained) as store, store.writing() as connection:  # the file has another sound by now
        store.songs.put_embeddings(connection, shot.model.id, np.array([5]), other.embedding[None])
    later = trained.snapshot(now=True)
    assert later.similar([seed], 4) == later.similar([later.seed(5)], 4) != shot.similar([seed], 4)
    mark_missing(trained, [5])
    gone = trained.snapshot(now=True)
    for ask in (lambda: gone.similar([seed]), lambda: gone.playlist([seed]), lambda: gone.why([seed], [other])):
        with pytest.raises(NoSuchSongError, match="the file of song 5 is missing"):
            ask()


def test_a_library_without_songs_says_what_to_do(trained, tmp_path):
    with (
        Library.open(tmp_path / "empty.sqlite") as library,
        pytest.raises(EmptyLibraryError, match="has no songs yet"),
    ):
        library.snapshot()
    mark_missing(trained, [song.id for song in trained.songs()])
    with pytest.raises(
        EmptyLibraryError, match=r"the files of all 72 songs in the library .* are missing; restore them"
    ):
        trained.snapshot(now=True)


# ---- threads


def test_threads_that_ask_at_once_get_the_same_answers_and_make_everything_once(trained, monkeypatch):
    made = []
    for owner, name in ((Histories, "__init__"), (Space, "__init__"), (Listeners, "__init__")):
        original = getattr(owner, name)

        def counted(self, *args, _original=original, _owner=owner, **kwargs):
            made.append(_owner.__name__)
            _original(self, *args, **kwargs)

        monkeypatch.setattr(owner, name, counted)
    barrier = threading.Barrier(8)

    def ask(number):
        barrier.wait(30)
        shot = trained.snapshot()
        seed = shot.seed(1 + number % 4)
        near = shot.similar([seed], 6), shot.similar([seed], 6, metric="native")
        songs = [one.song for one in near[0]]
        return shot, near, shot.agrees(seed, songs), shot.why([seed], [shot.seed(songs[0].id)]), shot.plays

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(ask, range(8)))
    assert len({id(answer[0]) for answer in answers}) == 1
    assert [answer[1:] for answer in answers[:4]] == [answer[1:] for answer in answers[4:]]
    assert sorted(made) == ["Histories", "Listeners", "Space", "Space"]  # the second is the native one


def test_threads_that_see_a_change_read_it_once(trained, monkeypatch):
    trained.snapshot()
    loaded, load = [], Space.load
    monkeypatch.setattr(Space, "load", lambda store: loaded.append(1) or load(store))
    mark_missing(trained, [7])
    barrier = threading.Barrier(6)

    def ask(_):
        barrier.wait(30)
        return trained.snapshot(now=True)

    with ThreadPoolExecutor(6) as pool:
        found = set(pool.map(ask, range(6)))
    assert len(found) == len(loaded) == 1
    assert 7 not in found.pop().space.row_of


# ---- when it is read anew


def test_while_nothing_changes_it_stays(trained):
    first, stamp = trained.snapshot(), trained.version_stamp()
    assert first.stamp == stamp
    first.warm()
    trained.similar(3)
    assert trained.snapshot() is trained.snapshot(now=True) is first
    assert trained.version_stamp() == stamp
    assert trained.space is first.space


def test_new_songs_may_go_unseen_for_some_seconds_unless_they_are_needed_now(trained, monkeypatch):
    first = trained.snapshot()
    mark_missing(trained, [7])
    assert trained.version_stamp() != first.stamp
    assert trained.snapshot() is first
    monkeypatch.setattr(snapshot_cache, "time", SimpleNamespace(monotonic=lambda: 1e9))
    second = trained.snapshot()
    assert second is not first
    assert second.stamp == trained.version_stamp()
    mark_missing(trained, [8])
    assert trained.snapshot() is second
    assert trained.snapshot(now=True).space.missing == {7, 8}


def test_what_takes_long_to_make_is_made_less_often(trained, monkeypatch):
    clock = [100.0]
    monkeypatch.setattr(snapshot_cache, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    first = trained.snapshot()
    first.warming = 10.0
    mark_missing(trained, [7])
    clock[0] += 39.0
    assert trained.snapshot() is first
    clock[0] += 2.0
    assert trained.snapshot() is not first


def test_another_model_answers_at_once(trained):
    first = trained.snapshot()
    native = next(row.id for row in trained.models() if row.kind == "native")
    trained.use_model(native)
    assert trained.snapshot().model.id == native != first.model.id


def test_new_listens_are_seen_at_once_and_nothing_else_is_made_again(trained, tmp_path):
    first = trained.snapshot()
    first.warm()
    music_library.write_listens(tmp_path / "more.csv", n_users=30, seed=8)
    trained.import_listens(tmp_path / "more.csv")
    second = trained.snapshot()
    assert second is not first
    assert second.stamp == trained.version_stamp() != first.stamp
    assert second.space is first.space
    assert second.native is first.native
    assert second.sounds is first.sounds
    assert not is_cached(second, "listeners")
    assert sum(second.plays.values()) > sum(first.plays.values())


def test_a_scan_is_seen_when_it_is_done(trained, tmp_path, analysed):
    trained.snapshot()
    folder = tmp_path / "more" / "New Band" / "Debut"
    folder.mkdir(parents=True)
    soundfile.write(folder / "01 First.wav", music_library.sound(0, seed=5), music_library.RATE)
    trained.scan(tmp_path / "more", workers=1)
    assert analysed.take() == ["01 First.wav"]
    assert len(trained.snapshot().space.songs) == 73


def test_a_warm_snapshot_asks_the_library_for_nothing_but_the_songs_of_why(trained, monkeypatch):
    with store_of(trained) as store:
        shot = Library(store).snapshot()
        shot.warm()
        assert shot.warming > 0
        monkeypatch.setattr(store.songs, "all", None)
        monkeypatch.setattr(store.songs, "embeddings", None)
        monkeypatch.setattr(store, "listens", None)
        monkeypatch.setattr(store, "models", None)
        seed = shot.seed(3)
        near = shot.similar([seed], metric="native") + shot.similar([seed])
        assert shot.agrees(seed, [one.song for one in near])
        assert shot.why([seed], [shot.seed(near[0].song.id)])
        assert shot.playlist([seed])[0]
        assert shot.cold_start().seeds
        assert shot.browser.page("band").total
        assert shot.albums.artists


def test_a_stamp_distinguishes_histories_even_if_they_have_as_many_rows(trained, tmp_path):
    stamps = {trained.version_stamp()}
    for seed in (1, 2):
        path = music_library.write_listens(tmp_path / "again.csv", seed=seed)
        trained.import_listens(path)
        stamps.add(trained.version_stamp())
    assert len(stamps) == 3
    assert len({(stamp.model, stamp.songs) for stamp in stamps}) == 1
