"""A radio goes on for ever, follows what is liked, leaves what is skipped, and repeats nothing too early."""

import pytest

import planted_library
from nearsong.errors import InvalidInputError
from nearsong.library import Filters, Heard


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    file = planted_library.write_library(tmp_path_factory.mktemp("planted") / "library.sqlite")
    with planted_library.open_library(file) as opened:
        yield opened


def of_style(library, style):
    return [song for song in library.songs() if song.genre == style]


def test_the_radio_plays_songs_like_its_seed_by_changing_artists(library):
    seed = of_style(library, "jazz")[0]
    songs = [one.song for one in library.radio(seed, n=8)]
    assert len(set(songs)) == 8
    assert seed not in songs
    assert sum(song.genre == "jazz" for song in songs) >= 7
    artists = [seed.artist, *(song.artist for song in songs)]
    assert all(len(set(artists[i : i + 4])) == 4 for i in range(len(artists) - 3))


def test_one_song_at_a_time_is_the_same_radio_as_many_at_once(library):
    seed = of_style(library, "folk")[3]
    together = [one.song for one in library.radio(seed, n=12, seed=5)]
    heard = []
    for song in together:
        (one,) = library.radio(seed, heard=heard, seed=5)
        assert one.song == song
        heard.append(Heard(song))


def test_another_seed_of_the_generator_gives_another_radio_and_the_same_the_same(library):
    seed = of_style(library, "metal")[0]
    runs = [[one.song.id for one in library.radio(seed, n=10, seed=number)] for number in (0, 0, 1, 2)]
    assert runs[0] == runs[1]
    assert len({tuple(run) for run in runs}) > 1


def test_likes_draw_the_radio_and_skips_push_it_away(library):
    jazz, metal = of_style(library, "jazz"), of_style(library, "metal")
    drawn = library.radio(jazz[0], heard=[Heard(song, "liked") for song in metal[:6]], n=6)
    assert sum(one.song.genre == "metal" for one in drawn) >= 4
    both = [jazz[0], metal[0]]
    skipped = library.radio(*both, heard=[Heard(song, "skipped") for song in jazz[4:14:2]], n=6)
    assert {one.song.genre for one in skipped} == {"metal"}
    assert all(one.because in both for one in skipped)


def test_nothing_is_repeated_until_all_was_played_then_what_was_played_longest_ago(library):
    filters = Filters(genres=("techno",))
    techno = of_style(library, "techno")
    seed = techno[2]
    songs = [one.song for one in library.radio(seed, n=len(techno) + 5, filters=filters)]
    everything = [seed, *songs]
    assert set(everything[: len(techno)]) == set(techno)
    assert everything[len(techno) :] == everything[:6]


def test_the_listener_counts_too_and_what_they_dislike_is_never_played(library):
    folk = of_style(library, "folk")
    library.reactions.rate(folk[0].id, 1, "pat")
    songs = [one.song for one in library.radio(folk[1], n=20, listener="pat", filters=Filters(genres=("folk",)))]
    assert folk[0] not in songs
    library.reactions.remove_rating(folk[0].id, "pat")
    assert folk[0] in [
        one.song for one in library.radio(folk[1], n=20, listener="pat", filters=Filters(genres=("folk",)))
    ]


def test_filters_hold(library):
    seed = of_style(library, "jazz")[0]
    others = library.radio(seed, n=6, filters=Filters(new_artists=True))
    assert seed.artist not in {one.song.artist for one in others}
    alone = library.radio(seed, n=15, filters=Filters(one_per_artist=True))
    assert len({one.song.artist for one in alone} | {seed.artist}) == 16
    assert library.radio(seed, n=3, filters=Filters(year_from=2999)) == []


def test_a_radio_may_start_from_what_was_heard_but_not_from_nothing(library):
    metal = of_style(library, "metal")
    going_on = library.radio(heard=[Heard(song) for song in metal[:3]], n=3)
    assert {one.song.genre for one in going_on} == {"metal"}
    with pytest.raises(InvalidInputError, match="No seed given"):
        library.radio()
    with pytest.raises(InvalidInputError, match="No seed given"):
        library.radio(heard=[Heard(metal[0], "skipped")])
    with pytest.raises(InvalidInputError, match="reaction='loved'"):
        Heard(metal[0], "loved")
