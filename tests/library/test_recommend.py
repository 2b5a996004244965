"""Seeds and filters: who is answered, checked against brute force over all songs."""

import numpy as np
import pytest

from nearsong.errors import InvalidInputError, UnclearSongError
from nearsong.library import Filters
from nearsong.names import artist_key


def brute_force(library, place, keep=lambda song: True):
    """All songs by exact distance."""
    space = library.space
    distances = np.linalg.norm(space.places.astype(float) - place, axis=1)
    order = np.lexsort((space.ids, distances))
    return [(space.songs[i], distances[i]) for i in order if keep(space.songs[i])]


def test_the_answer_is_that_of_brute_force(trained):
    song = trained.songs()[5]
    near = trained.similar(song, n=12)
    expected = brute_force(trained, trained.space.place_of(song), lambda other: other.id != song.id)[:12]
    assert [one.song.id for one in near] == [other.id for other, _ in expected]
    np.testing.assert_allclose([one.distance for one in near], [distance for _, distance in expected], rtol=1e-6)


def test_with_several_seeds_a_song_is_as_near_as_to_its_nearest_in_that_seeds_unit(trained):
    seeds = trained.songs()[3], trained.songs()[40]
    space = trained.space
    away = np.stack([np.linalg.norm(space.places - space.place_of(seed).astype(float), axis=1) for seed in seeds], 1)
    units = np.sort(away, axis=0)[24]
    order = np.argsort((away / units).min(axis=1), kind="stable")
    expected = [space.songs[i].id for i in order if space.songs[i] not in seeds][:8]
    assert [one.song.id for one in trained.similar(*seeds, n=8)] == expected


def test_similarity_falls_as_distance_grows_and_stays_within_0_and_1(trained):
    near = trained.similar(trained.songs()[0], n=60)
    similarities = [one.similarity for one in near]
    assert similarities == sorted(similarities, reverse=True)
    assert all(0 <= value <= 1 for value in similarities)


def test_a_song_itself_has_similarity_1(trained, styled_music):
    song = trained.songs()[0]
    outside = trained.resolve(song.path)[0]
    assert outside.song == song
    assert trained.space.calibration.similarity(np.array([0.0]))[0] == 1.0


@pytest.mark.parametrize("how", ["id", "text id", "name", "path", "song"])
def test_a_seed_may_be_an_id_a_name_a_path_or_a_song(trained, how):
    song = trained.songs()[7]
    seed = {"id": song.id, "text id": str(song.id), "name": song.name, "path": song.path, "song": song}[how]
    assert trained.resolve(seed)[0].song == song


def test_a_file_outside_the_library_is_heard(trained, tmp_path):
    import soundfile

    from music_library import RATE, sound

    path = tmp_path / "new.wav"
    soundfile.write(path, sound(2, seed=987_654), RATE)
    seed = trained.resolve(path)[0]
    assert seed.song is None
    styles = [one.song.genre for one in trained.similar(path, n=5)]
    assert styles.count("high pulses") >= 4


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
    expected = brute_force(trained, trained.space.place_of(song), lambda other: other.id != song.id and keep(other))
    assert [one.song.id for one in near] == [other.id for other, _ in expected[:100]]


def test_artist_once_keeps_the_nearest_song_of_every_artist(trained):
    song = trained.songs()[1]
    near = trained.similar(song, n=20, filters=Filters(artist_once=True))
    seen, expected = set(), []
    for other, _ in brute_force(trained, trained.space.place_of(song), lambda other: other.id != song.id):
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
    from nearsong.library.learning import Histories

    plays = Histories(trained._store).song_plays()
    some = float(np.median(list(plays.values())))
    near = trained.similar(trained.songs()[0], n=100, filters=Filters(fewer_plays=some))
    assert near
    assert all(plays.get(one.song.id, 0) < some for one in near)
    assert len(near) == sum(plays.get(song.id, 0) < some for song in trained.songs()[1:])


def test_years_that_run_backwards_are_refused():
    with pytest.raises(InvalidInputError, match="run backwards"):
        Filters(year_from=1990, year_to=1980)


def test_no_seed_is_refused(trained):
    with pytest.raises(InvalidInputError, match="no seed came"):
        trained.similar()
    with pytest.raises(InvalidInputError, match="no seed came"):
        trained.playlist()


def test_when_nothing_fits_the_answer_is_empty(trained):
    assert trained.similar(trained.songs()[0], filters=Filters(genres=("polka",))) == []
