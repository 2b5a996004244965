"""Seeds and filters: who is answered, checked against brute force over all songs."""

import numpy as np
import pytest

from library_store import store_of
from nearsong.errors import InvalidInputError, NotAudioError, UnclearSongError
from nearsong.library import Filters
from nearsong.library.answers import similar
from nearsong.library.answers.filters import FilterContext
from nearsong.library.answers.seeds import seed_of_song
from nearsong.library.answers.similar import Query, run_queries
from nearsong.library.neighbours.space import Space
from nearsong.library.records import Song
from nearsong.names import artist_key, primary_artist
from tagged_songs import tagged_song


def brute_force(library, embedding, keep=lambda song: True):
    """All songs by exact distance."""
    space = library.space
    distances = np.linalg.norm(space.embeddings.astype(float) - embedding, axis=1)
    order = np.lexsort((space.ids, distances))
    return [(space.songs[i], distances[i]) for i in order if keep(space.songs[i])]


def test_the_answer_is_that_of_brute_force(trained):
    song = trained.songs()[5]
    near = trained.similar(song, n=12)
    expected = brute_force(trained, trained.space.embedding_of(song), lambda other: other.id != song.id)[:12]
    assert [one.song.id for one in near] == [other.id for other, _ in expected]
    np.testing.assert_allclose([one.distance for one in near], [distance for _, distance in expected], rtol=1e-6)


def test_with_several_seeds_a_song_is_as_near_as_to_its_nearest_in_that_seeds_unit(trained):
    seeds = trained.songs()[3], trained.songs()[40]
    space = trained.space
    distances = np.stack(
        [np.linalg.norm(space.embeddings - space.embedding_of(seed).astype(float), axis=1) for seed in seeds], 1
    )
    units = np.sort(distances, axis=0)[24]
    order = np.argsort((distances / units).min(axis=1), kind="stable")
    expected = [space.songs[i].id for i in order if space.songs[i] not in seeds][:8]
    assert [one.song.id for one in trained.similar(*seeds, n=8)] == expected


def test_similarity_falls_as_distance_grows_and_stays_within_0_and_1(trained):
    near = trained.similar(trained.songs()[0], n=60)
    similarities = [one.similarity for one in near]
    assert similarities == sorted(similarities, reverse=True)
    assert all(0 <= value <= 1 for value in similarities)


def test_a_song_itself_has_similarity_1(trained, styled_music):
    song = trained.songs()[0]
    outside = trained.snapshot().seed(song.path)
    assert outside.song == song
    assert trained.space.calibration.similarity(np.array([0.0]))[0] == 1.0


@pytest.mark.parametrize("how", ["id", "text id", "name", "path", "song"])
def test_a_seed_may_be_an_id_a_name_a_path_or_a_song(trained, how):
    song = trained.songs()[7]
    seed = {"id": song.id, "text id": str(song.id), "name": song.name, "path": song.path, "song": song}[how]
    assert trained.snapshot().seed(seed).song == song


def test_a_file_outside_the_library_is_analysed(trained, tmp_path):
    import soundfile

    from music_library import RATE, sound

    path = tmp_path / "new.wav"
    soundfile.write(path, sound(2, seed=987_654), RATE)
    seed = trained.snapshot().seed(path)
    assert seed.song is None
    styles = [one.song.genre for one in trained.similar(path, n=5)]
    assert styles.count("high pulses") >= 4
    isolated = trained.snapshot().seed(path, in_worker=True)
    assert (isolated.name, isolated.artist_key, isolated.path) == (seed.name, seed.artist_key, seed.path)
    np.testing.assert_array_equal(isolated.embedding, seed.embedding)


def test_a_file_that_a_worker_cannot_analyse_is_named(trained, tmp_path):
    path = tmp_path / "noise.mp3"
    path.write_bytes(np.random.default_rng(0).bytes(3000))
    with pytest.raises(NotAudioError, match=r"noise\.mp3: is not a readable audio file"):
        trained.snapshot().seed(path, in_worker=True)


def test_an_unclear_name_says_what_would_be_clear(trained):
    with pytest.raises(UnclearSongError) as caught:
        trained.similar("Band")
    assert caught.value.suggestions


@pytest.mark.parametrize(
    ("filters", "keep"),
    [
        (Filters(genres=("HUM",)), lambda song: "hum" in song.genre),
        (Filters(year_from=1990, year_to=1999), lambda song: 1990 <= song.year <= 1999),
        (Filters(year_from=2010), lambda song: song.year >= 2010),
        (Filters(year_to=1985), lambda song: song.year <= 1985),
        (Filters(exclude_artists=("band a4", "BAND B0")), lambda song: song.artist not in ("Band A4", "Band B0")),
        (
            Filters(genres=("hiss", "pulses"), year_from=2000),
            lambda song: song.genre in ("mid hiss", "high pulses") and song.year >= 2000,
        ),
    ],
)
def test_filters_leave_out_what_brute_force_leaves_out(trained, filters, keep):
    song = trained.songs()[1]
    near = trained.similar(song, n=100, filters=filters)
    expected = brute_force(
        trained, trained.space.embedding_of(song), lambda other: other.id != song.id and keep(other)
    )
    assert [one.song.id for one in near] == [other.id for other, _ in expected[:100]]


def test_one_per_artist_keeps_the_nearest_song_of_every_artist(trained):
    song = trained.songs()[1]
    near = trained.similar(song, n=20, filters=Filters(one_per_artist=True))
    seen, expected = set(), []
    for other, _ in brute_force(trained, trained.space.embedding_of(song), lambda other: other.id != song.id):
        if other.artist_key not in seen:
            seen.add(other.artist_key)
            expected.append(other.id)
    assert [one.song.id for one in near] == expected[:20]


def test_new_artists_leaves_out_the_seeds_own(trained):
    song = trained.songs()[1]
    near = trained.similar(song, n=80, filters=Filters(new_artists=True))
    assert artist_key(song.artist) not in {one.song.artist_key for one in near}
    assert len(near) == len([other for other in trained.songs() if other.artist_key != song.artist_key])


def test_fewer_plays_keeps_songs_that_are_hardly_known(trained):
    from nearsong.library.listeners.histories import Histories

    with store_of(trained) as store:
        plays = Histories(store).song_plays()
    some = float(np.median(list(plays.values())))
    near = trained.similar(trained.songs()[0], n=100, filters=Filters(fewer_plays=some))
    assert near
    assert all(plays.get(one.song.id, 0) < some for one in near)
    assert len(near) == sum(plays.get(song.id, 0) < some for song in trained.songs()[1:])


@pytest.mark.parametrize(("low", "high"), [("year_from", "year_to"), ("min_seconds", "max_seconds")])
def test_ranges_that_run_backwards_are_refused(low, high):
    assert Filters(**{low: 1980, high: 1980})
    with pytest.raises(InvalidInputError, match=f"^{low}=1990 is above {high}=1980; swap them"):
        Filters(**{low: 1990, high: 1980})


def test_no_seed_is_refused(trained):
    with pytest.raises(InvalidInputError, match="No seed given"):
        trained.similar()
    with pytest.raises(InvalidInputError, match="No seed given"):
        trained.playlist()


def test_when_nothing_fits_the_answer_is_empty(trained):
    assert trained.similar(trained.songs()[0], filters=Filters(genres=("polka",))) == []


GENRES = ["", "Rock", "hard rock", "STRASSE", "straße", "Jazz"]


@pytest.fixture(scope="module")
def crowd(tmp_path_factory):
    """A space of many songs that differ in everything filters look at."""
    rng = np.random.default_rng(4)
    songs = []
    for number in range(900):
        artist = ["", "The Who", "who", "Abba", f"Band {rng.integers(8)}"][rng.integers(5)]
        year = None if rng.random() < 0.2 else int(rng.integers(0, 2030))
        genre = GENRES[rng.integers(len(GENRES))]
        title, path, seconds = f"Song {number}", f"/{number}", float(number)
        songs.append(tagged_song(3 * number + 1, artist, title, "", genre, year, path, seconds=seconds))
    embeddings = rng.standard_normal((900, 5)).astype(np.float32)
    return Space(1, None, songs, embeddings, tmp_path_factory.mktemp("cache"))


def fits(song, filters, seeds, plays):
    """What a filter means, for one song."""
    unwanted = {artist_key(primary_artist(name)) for name in filters.exclude_artists}
    if filters.new_artists:
        unwanted |= {seed.artist_key for seed in seeds} - {""}
    dated = filters.year_from is not None or filters.year_to is not None
    years = range(filters.year_from or 0, (9999 if filters.year_to is None else filters.year_to) + 1)
    return (
        song.artist_key not in unwanted
        and (not filters.genres or any(genre.casefold() in song.genre.casefold() for genre in filters.genres))
        and (not dated or (song.year is not None and song.year in years))
        and (filters.fewer_plays is None or plays < filters.fewer_plays)
        and (filters.min_seconds is None or song.seconds >= filters.min_seconds)
        and (filters.max_seconds is None or song.seconds <= filters.max_seconds)
        and song.id not in {seed.song.id for seed in seeds}
    )


ALL_FILTERS = [
    Filters(new_artists=True),
    Filters(exclude_artists=("who",)),
    Filters(exclude_artists=("The Who", "ABBA", "nobody")),
    Filters(new_artists=True, exclude_artists=("Band 3",), one_per_artist=True),
    Filters(genres=("ROCK",)),
    Filters(genres=("strasse", "jazz"), year_to=1990),
    Filters(year_from=1000),
    Filters(year_from=0, year_to=1500),
    Filters(fewer_plays=2.0, genres=("jazz",)),
    Filters(min_seconds=120.0, max_seconds=400.0),
]


@pytest.mark.parametrize("filters", ALL_FILTERS)
@pytest.mark.parametrize("n_seeds", [1, 3])
def test_what_is_allowed_is_what_a_look_at_each_song_allows(crowd, filters, n_seeds):
    plays = np.arange(900) % 5.0
    seeds = [seed_of_song(crowd, crowd.songs[row]) for row in (1, 77, 400)[:n_seeds]]
    expected = [fits(song, filters, seeds, plays[row]) for row, song in enumerate(crowd.songs)]
    assert 0 < sum(expected) < 900
    np.testing.assert_array_equal(filters.allowed(FilterContext(crowd, seeds, lambda: plays)), expected)


@pytest.mark.parametrize("few", [0, 200, 10_000])
@pytest.mark.parametrize("filters", [Filters(), Filters(one_per_artist=True), *ALL_FILTERS])
@pytest.mark.parametrize("n_seeds", [1, 4])
def test_near_songs_are_those_of_brute_force_however_those_that_may_not_come_are_left_out(
    crowd, filters, n_seeds, few, monkeypatch
):
    monkeypatch.setattr(similar, "MAX_FILTERED_AFTER", few)
    plays = np.arange(900) % 5.0
    seeds = [seed_of_song(crowd, crowd.songs[row]) for row in (5, 78, 401, 640)[:n_seeds]]
    distances = np.stack(
        [np.linalg.norm(crowd.embeddings - seed.embedding.astype(float), axis=1) for seed in seeds], axis=1
    )
    ranked = (distances / (np.sort(distances, axis=0)[24] if n_seeds > 1 else 1)).min(axis=1)
    seen, expected = set(), []
    for row in np.argsort(ranked, kind="stable"):
        song = crowd.songs[row]
        if fits(song, filters, seeds, plays[row]) and not (filters.one_per_artist and song.artist_key in seen):
            seen |= {song.artist_key} - {""}
            expected.append((song.id, distances[row].min()))
    (near,) = run_queries(crowd, [Query(seeds, 12, filters)], lambda: plays)
    assert [one.song.id for one in near] == [song for song, _ in expected[:12]]
    np.testing.assert_allclose(
        [one.distance for one in near], [distance for _, distance in expected[:12]], rtol=1e-12
    )


def test_a_query_of_a_batch_has_the_result_it_has_alone(crowd):
    queries = [
        Query([seed_of_song(crowd, crowd.songs[row]) for row in rows], n, filters)
        for rows, n, filters in [
            ([3], 10, Filters()),
            ([4], 2, Filters(one_per_artist=True)),
            ([4], 40, Filters(one_per_artist=True)),  # there are not so many: more and more are fetched
            ([9, 17], 10, Filters(new_artists=True)),
            ([3], 900, Filters()),
            ([30], 5, Filters(genres=("jazz",))),
            ([31], 5, Filters(genres=("polka",))),
        ]
    ]
    together = run_queries(crowd, queries)
    assert together == [run_queries(crowd, [query])[0] for query in queries]
    assert [len(near) for near in together] == [10, 2, len(together[2]), 10, 899, 5, 0]
    assert run_queries(crowd, []) == []


def test_copies_are_left_out_once_however_near_others_are(tmp_path):
    names = ["Own", "Own", "Other", "Other", "Third", "Other"]
    songs = [
        Song(id=i, path=f"/{i}", artist="A", title=name, seconds=9.0, artist_key="a") for i, name in enumerate(names)
    ]
    embeddings = np.array([[0.0], [0.0], [1.0], [1.0], [1.0], [2.0]], np.float32)
    space = Space(1, None, songs, embeddings, tmp_path)
    (near,) = run_queries(space, [Query([seed_of_song(space, songs[0])], 6)])
    assert [one.song.id for one in near] == [2, 4, 5]
