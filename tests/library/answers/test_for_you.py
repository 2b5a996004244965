"""Songs for a listener: near what they play, away from what they skip, nothing that they know."""

import time

import numpy as np
import pytest

import planted_library
from nearsong.errors import InvalidInputError
from nearsong.library import Filters, Library
from nearsong.listens.records import TrackName
from nearsong.recommendation import BANDWIDTH, typical_squared_distance

NOW = time.time()
DAY = 86_400


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    return planted_library.write_library(tmp_path_factory.mktemp("planted") / "library.sqlite").read_bytes()


@pytest.fixture
def library(written, tmp_path):
    (tmp_path / "library.sqlite").write_bytes(written)
    with Library.open(tmp_path / "library.sqlite", create=False) as opened:
        yield opened


def songs_of(library, style):
    return [song for song in library.songs() if song.genre == style]


def play(library, songs, listener="ann", days_ago=1.0):
    library.play_log.record_all([(song.id, NOW - days_ago * DAY - 300 * i) for i, song in enumerate(songs)], listener)


def styles(answer):
    return [one.song.genre for one in answer.songs]


def test_songs_are_of_the_style_that_the_listener_plays_and_none_that_they_know(library):
    played = songs_of(library, "jazz")[:6]
    play(library, played)
    answer = library.for_you("ann", 8)
    assert styles(answer) == ["jazz"] * 8
    assert not {one.song.id for one in answer.songs} & {song.id for song in played}
    assert all(one.because in played for one in answer.songs)
    assert (answer.listener, answer.n_plays, answer.notes) == ("ann", 6, [])
    scores = [one.score for one in answer.songs]
    assert scores == sorted(scores, reverse=True)


def test_because_is_the_liked_song_nearest_to_the_recommended_one(library):
    played = [*songs_of(library, "jazz")[:2], *songs_of(library, "folk")[:2]]
    play(library, played)
    space = library.space
    for one in library.for_you("ann", 12).songs:
        distances = [np.linalg.norm(space.embedding_of(one.song) - space.embedding_of(song)) for song in played]
        assert one.because == played[int(np.argmin(distances))]


def test_a_far_song_is_not_there_because_of_the_nearest_liked_one(library):
    """With filters that leave only another style, the nearest liked song is no reason."""
    play(library, songs_of(library, "jazz")[:6])
    space = library.space
    typical = typical_squared_distance(space.embeddings)
    near, far = (library.for_you("ann", 8, Filters(genres=(style,))).songs for style in ("jazz", "folk"))
    assert all(one.is_near for one in near)
    assert far
    assert not any(one.is_near for one in far)
    for one in [*near, *far]:
        square = np.square(space.embedding_of(one.song) - space.embedding_of(one.because)).sum()
        assert one.is_near == (square <= BANDWIDTH * typical)
    home = library.snapshot().home("ann")
    assert all(one.is_near and one.song.genre == "jazz" for one in home.unplayed)


def test_a_first_page_has_the_first_song_of_each_artist_before_the_second_of_any(library):
    play(library, songs_of(library, "jazz")[:6])
    library.play_log.update_history()
    home = library.snapshot(now=True).home("ann")
    artists = [one.song.artist for one in home.for_you]
    several = len(set(artists))
    assert 1 < several < len(artists)
    assert len(set(artists[:several])) == several
    ranked = [one.song.artist for one in library.for_you("ann", 2 * len(artists)).songs]
    assert len(set(ranked[:several])) < several  # by their fit alone an artist has several songs in a row


def test_what_was_played_lately_counts_more_than_what_was_played_long_ago(library):
    play(library, songs_of(library, "jazz")[:4], days_ago=3 * 365)
    play(library, songs_of(library, "metal")[:4], days_ago=2)
    assert set(styles(library.for_you("ann", 5))) == {"metal"}
    assert set(styles(library.for_you("ann", 5, at=NOW - 3 * 365 * DAY))) <= {"metal", "jazz"}


def test_a_skip_leaves_out_the_song_and_pushes_its_neighbours_down(library):
    play(library, songs_of(library, "jazz")[:4] + songs_of(library, "folk")[:4])
    before = library.for_you("ann", 80).songs
    skipped = [one.song for one in before if one.song.genre == "jazz"][:3]
    for song in skipped:
        library.reactions.skip(song.id, "ann")
    after = library.for_you("ann", 80).songs
    assert not {song.id for song in skipped} & {one.song.id for one in after}
    scores = [{one.song.id: one.score for one in answer} for answer in (before, after)]
    jazz, folk = (
        [song.id for song in songs_of(library, style) if song.id in scores[1]] for style in ("jazz", "folk")
    )
    wins = [np.mean([score[one] > score[other] for one in jazz for other in folk]) for score in scores]
    assert wins[1] < wins[0]


def test_skips_never_outweigh_what_is_loved(library, tmp_path):
    """However often a song next to the loved one is skipped, and whoever listens."""
    loved, skipped = songs_of(library, "jazz")[:2]
    library.reactions.heart([loved.id], "ann")
    for _ in range(5):
        library.reactions.skip(skipped.id, "ann")
    for n_listeners in (0, 140):
        if n_listeners:
            write_crowd(library, tmp_path, n_listeners)
        answer = library.for_you("ann", 5)
        assert set(styles(answer)) <= {"jazz", "folk"}, n_listeners  # the crowd plays these two together
        assert {one.because for one in answer.songs} == {loved}
        assert answer.notes == []
    assert "jazz" in styles(answer)


def test_a_loved_song_stays_liked_though_it_is_skipped(library):
    loved = songs_of(library, "jazz")[0]
    library.reactions.heart([loved.id], "ann")
    for _ in range(3):
        library.reactions.skip(loved.id, "ann")
    answer = library.for_you("ann", 5)
    assert styles(answer) == ["jazz"] * 5
    assert all(one.because == loved and one.is_near for one in answer.songs)


def test_a_heart_draws_like_plays_do_also_of_an_artist_or_an_album(library):
    shot = library.snapshot()
    metal = songs_of(library, "metal")[0]
    artist = next(one for one in shot.albums.artists if one.name == metal.artist)
    for item in (metal.id, artist.id, artist.albums[0].id):
        library.reactions.heart([item], "eve")
        assert set(styles(library.for_you("eve", 6))) == {"metal"}
        library.reactions.remove_heart([item], "eve")
    assert library.for_you("eve").songs == []


def test_low_ratings_push_away_and_high_ones_draw(library):
    library.reactions.rate(songs_of(library, "techno")[0].id, 5, "ann")
    library.reactions.rate(songs_of(library, "techno")[1].id, 1, "ann")
    answer = library.for_you("ann", 10, include_played=True)
    names = [one.song.id for one in answer.songs]
    assert songs_of(library, "techno")[1].id not in names
    assert songs_of(library, "techno")[0].id == names[0]


def test_a_history_that_only_names_artists_counts_for_their_songs(library, tmp_path):
    name = songs_of(library, "folk")[0].artist
    (tmp_path / "plays.csv").write_text(f"user,artist,plays\nzoe,{name},40\nzoe,Somebody Else,9\n")
    library.import_listens(tmp_path / "plays.csv")
    answer = library.for_you("zoe", 10)
    assert styles(answer) == ["folk"] * 10
    assert answer.n_plays == 40
    assert all(one.because.artist == name and one.because != one.song for one in answer.songs)


def test_a_play_that_was_recorded_and_imported_counts_once(library, tmp_path):
    song = songs_of(library, "jazz")[0]
    play(library, [song])
    at = int(NOW - DAY)
    rows = [f"ann,{song.artist},{song.title},{when}" for when in (at, at - 9999)]
    (tmp_path / "listens.csv").write_text("\n".join(["user,artist,title,timestamp", *rows, ""]))
    library.import_listens(tmp_path / "listens.csv")
    assert library.for_you("ann").n_plays == 2


def test_a_play_by_name_counts_for_its_song_at_once(library):
    song = songs_of(library, "techno")[0]
    library.play_log.record_named([(TrackName(song.artist.upper(), song.title), NOW - 60)], "ann")
    answer = library.for_you("ann", 5)
    assert set(styles(answer)) == {"techno"}
    assert song not in [one.song for one in answer.songs]


def test_somebody_who_played_nothing_gets_what_everybody_plays_and_is_told(library):
    assert library.for_you("new").songs == []
    assert "play some songs" in library.for_you("new").notes[0]
    popular = songs_of(library, "metal")[3]
    play(library, [popular], "ann")
    library.play_log.update_history()
    answer = library.for_you("new", 1)
    assert [one.song for one in answer.songs] == [popular]
    assert answer.songs[0].because is None
    assert "played most here" in answer.notes[0]


def test_plays_of_imported_histories_are_not_said_to_be_plays_here(library, tmp_path):
    popular = songs_of(library, "metal")[3]
    (tmp_path / "plays.csv").write_text(f"user,artist,title,plays\nann,{popular.artist},{popular.title},40\n")
    library.import_listens(tmp_path / "plays.csv")
    assert "played most in the imported histories" in library.for_you("new", 1).notes[0]
    play(library, [popular], "ann")
    assert "played most here" in library.for_you("new", 1).notes[0]


def test_where_histories_name_only_artists_somebody_new_gets_songs_of_those_with_most_listeners(library, tmp_path):
    first, second = songs_of(library, "folk")[0].artist, songs_of(library, "metal")[0].artist
    rows = [f"a,{first},20", f"b,{first},20", f"c,{first},20", f"c,{second},20", f"d,{second},20"]
    (tmp_path / "plays.csv").write_text("\n".join(["user,artist,plays", *rows, ""]))
    library.import_listens(tmp_path / "plays.csv")
    answer = library.for_you("new", 100)
    artists = [one.song.artist for one in answer.songs]
    assert artists[0] == first
    assert set(artists) == {first, second}
    assert artists[:4] == [first, second, first, second]  # their songs are equal: one of each in turn
    assert "artists that most people here listen to" in answer.notes[0]


def test_filters_and_artists_limit_what_is_recommended(library):
    play(library, songs_of(library, "jazz")[:4])
    first = library.for_you("ann", 15).songs
    assert max(np.unique([one.song.artist for one in first], return_counts=True)[1]) <= 3
    alone = library.for_you("ann", 30, Filters(one_per_artist=True)).songs
    assert len({one.song.artist for one in alone}) == len(alone)
    other = library.for_you("ann", 10, Filters(new_artists=True, genres=("jazz",))).songs
    assert {one.song.genre for one in other} == {"jazz"}
    assert songs_of(library, "jazz")[0].artist not in {one.song.artist for one in other}


def test_an_impossible_listener_or_number_is_an_error(library):
    with pytest.raises(InvalidInputError, match="1 to 200 characters"):
        library.for_you(" ")
    with pytest.raises(InvalidInputError, match="n=0"):
        library.for_you("ann", 0)


def write_crowd(library, tmp_path, n_listeners):
    """Import listeners who play two jazz bands together with a folk band, or metal together with techno."""
    of_style = {style: [song.artist for song in songs_of(library, style)] for style in planted_library.STYLES}
    band = of_style["folk"][0]
    rows = ["user,artist,plays"]
    for user in range(n_listeners):
        both = {*of_style["jazz"][:8], band} if user % 2 else {*of_style["metal"], *of_style["techno"]}
        rows += [f"crowd {user},{artist},20" for artist in sorted(both)]
    (tmp_path / "crowd.csv").write_text("\n".join(rows) + "\n")
    library.import_listens(tmp_path / "crowd.csv")
    return band


def test_what_others_play_too_is_recommended_once_there_are_enough_of_them(library, tmp_path):
    play(library, songs_of(library, "jazz")[:8])
    band = write_crowd(library, tmp_path, 99)
    assert styles(library.for_you("ann", 5)) == ["jazz"] * 5
    write_crowd(library, tmp_path, 140)
    answer = library.for_you("ann", 5).songs
    assert {one.song.artist for one in answer if one.song.genre == "folk"} == {band}


def test_songs_that_nobody_played_get_their_share(library, tmp_path):
    play(library, songs_of(library, "jazz")[:4])
    write_crowd(library, tmp_path, 140)
    others = {song.artist for style in ("jazz", "folk") for song in songs_of(library, style)[4:]}
    others -= {songs_of(library, "jazz")[4].artist}
    answer = [one.song.artist in others for one in library.for_you("ann", 30).songs]
    assert 7 <= sum(answer) <= 15  # 28 of the 76 songs that ann does not know
    assert library.for_you("ann", 80, include_played=True).songs[0].song.genre == "jazz"
