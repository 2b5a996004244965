"""What records say of songs on albums of several artists and discs, and how loud they are meant to be."""

import pytest

from nearsong.library import AlbumIndex, ListenerReactions
from nearsong.library.snapshot import Snapshot
from nearsong.web.subsonic.catalogue import SubsonicCatalogue
from nearsong.web.subsonic.records import ADDITIONS, Records
from tagged_songs import tagged_song

VARIOUS = {"album": "Hits", "album_artist": "Various Artists"}
SONGS = [
    tagged_song(1, "Ada", "One", **VARIOUS, path="/m/Hits/1.flac", track_number=7, track_gain=-6.5, album_peak=0.9),
    tagged_song(2, "Ben", "Two", **VARIOUS, path="/m/Hits/2.flac", disc_number=2, size=5_000_000, bit_rate=400),
    tagged_song(3, "Ben", "Three", **VARIOUS, path="/m/Hits/3.flac", disc_number=2, sample_rate=48_000, channels=2),
    tagged_song(4, "Ada", "Four", "Solo", path="/m/Solo/4.flac"),
]


class Library:
    """What a catalogue uses of a snapshot."""

    albums, plays, browser = AlbumIndex(SONGS), {1: 2.0}, None


@pytest.fixture
def records():
    def make(*, is_plain: bool = False) -> Records:
        library: Snapshot = Library()  # type: ignore[assignment]
        reactions = ListenerReactions(hearts={2: 5.0}, ratings={"ar-x": (3, 1.0)})
        return Records(SubsonicCatalogue(library), reactions, {3: 1500}, is_plain=is_plain)

    return make


def test_songs_have_their_own_artist_and_that_of_the_album(records):
    first = records().song(SONGS[0])
    assert (first["artist"], first["displayAlbumArtist"]) == ("Ada", "Various Artists")
    assert first["artists"] != first["albumArtists"]
    assert first["artistId"] == first["artists"][0]["id"] == records().song(SONGS[3])["artistId"]
    album = records().album(Library.albums.album_of(SONGS[0]))
    assert (album["artist"], album["isCompilation"], album["songCount"]) == ("Various Artists", True, 3)


def test_discs_tracks_and_loudness_are_those_of_the_tags(records):
    found = [records().song(song) for song in SONGS]
    assert [(one["discNumber"], one["track"]) for one in found] == [(1, 7), (2, 1), (2, 2), (1, 1)]
    assert [one["replayGain"] for one in found] == [{"trackGain": -6.5, "albumPeak": 0.9}, None, None, None]
    assert (found[1]["size"], found[1]["bitRate"], found[1]["starred"]) == (
        5_000_000,
        400,
        "1970-01-01T00:00:05.000Z",
    )
    assert (found[2]["samplingRate"], found[2]["channelCount"], found[2]["bookmarkPosition"]) == (48_000, 2, 1500)


def test_an_artist_has_the_albums_of_others_that_it_is_on(records):
    ada = Library.albums.artist_of(SONGS[0])
    assert records().artist(ada)["albumCount"] == 2


def test_old_players_get_no_additions(records):
    for song in SONGS:
        plain, full = records(is_plain=True).song(song), records().song(song)
        assert not plain.keys() & ADDITIONS
        assert plain == {name: value for name, value in full.items() if name not in ADDITIONS}
