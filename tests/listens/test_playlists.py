"""Playlists: M3U, JSPF, XSPF, Spotify's own."""

import json
from dataclasses import astuple

import numpy as np
import pytest
import soundfile

from nearsong.audio.tags import Tags, read_tags, write_tags
from nearsong.errors import ListensError
from nearsong.listens import open_listens, sources

MBID = "b10bbbfc-cf9e-42e0-be17-e2c3e1d2600d"


def songs(rows):
    return [(user, artist, title) for user, artist, title, plays, time in rows if (plays, time) == (1, 0)]


def test_an_extended_m3u_names_songs_and_itself(write, listens):
    path = write(
        "evening.m3u8",
        "#EXTM3U\n#PLAYLIST:My evening\n#EXTINF:123,Björk - Jóga\n../Björk/Homogenic/02 Jóga.flac\n\n"
        "#EXTINF:-1 logo=\"a,b.png\" x=\"y\",Múm – Green Grass\nmum.mp3\n#EXTINF:5,A - B - C\nx.mp3\n",
    )  # fmt: skip
    history = open_listens(path)
    assert (history.format, history.kind) == ("m3u8", "playlists")
    assert songs(listens(path)) == [
        ("My evening", "Björk", "Jóga"),
        ("My evening", "Múm", "Green Grass"),
        ("My evening", "A", "B - C"),
    ]


def test_a_plain_m3u_is_called_like_its_file_and_guessed_from_paths(write, listens):
    text = "Music/Nina Simone/Pastel Blues/08 Sinnerman.flac\r\nC:\\Music\\Björk - Jóga.mp3\r\n"
    path = write("road trip.m3u", text.encode("cp1252"))
    assert songs(listens(path)) == [("road trip", "Nina Simone", "Sinnerman"), ("road trip", "Björk", "Jóga")]


def test_an_artist_line_counts_for_its_song_and_helps_out_later_ones(write, listens):
    path = write(
        "a.m3u8",
        "#EXTM3U\n#EXTART:Nick Cave\n#EXTINF:5,Red - Right - Hand\n1.mp3\n#EXTINF:5,Loverman\n2.mp3\n"
        "#EXTINF:5,Björk - Jóga\n3.mp3\n#EXTART:Múm\n#EXTINF:5,Múm - Grass\n4.mp3\n"
        "#EXTART:Air\nMoon/05 - Sexy Boy.mp3\n",
    )
    assert songs(listens(path)) == [
        ("a", "Nick Cave", "Red - Right - Hand"),
        ("a", "Nick Cave", "Loverman"),
        ("a", "Björk", "Jóga"),
        ("a", "Múm", "Grass"),
        ("a", "Air", "Sexy Boy"),
    ]


def test_a_song_nobody_can_name_is_reported_with_its_line(write, listens):
    reported = []
    path = write("a.m3u8", "#EXTM3U\n#EXTINF:5,A - B\n1.mp3\nC/D.mp3\nhttp://radio.example/stream\n")
    assert len(listens(path, on_bad_row=reported.append)) == 2
    assert reported == [f"{path}, line 5: the artist is missing."]


def test_a_playlist_with_old_mac_line_ends_is_read(write, listens):
    path = write("a.m3u", "#EXTM3U\r#EXTINF:5,A - B\r1.mp3\r#EXTINF:5,C - D\r2.mp3\r")
    assert songs(listens(path)) == [("a", "A", "B"), ("a", "C", "D")]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_of_a_playlist_are_counted_across_pieces(write, listens, monkeypatch, end):
    monkeypatch.setattr(sources, "CHUNK_BYTES", 32)
    reported = []
    path = write("a.m3u", end.join(["#EXTM3U", *(["A/B.mp3"] * 50), "C.mp3", "D.mp3", ""]))
    assert len(listens(path, on_bad_row=reported.append)) == 50
    assert [message.split("line ")[1] for message in reported] == [
        "52: the artist is missing.",
        "53: the artist is missing.",
    ]


def test_a_video_stream_is_no_playlist(write, listens):
    path = write("live.m3u8", "#EXTM3U\n#EXT-X-TARGETDURATION:10\n#EXTINF:9.9,\nhttp://a.example/1.ts\n")
    with pytest.raises(ListensError, match=r"live.m3u8 is a video or radio stream \(HLS\)"):
        listens(path)


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("wrapped", [True, False])
@pytest.mark.parametrize(
    "identifier", [f"https://musicbrainz.org/recording/{MBID}", ["spotify:x", f"/recording/{MBID}"]]
)
def test_jspf_wrapped_or_not(write, listens, indent, wrapped, identifier):
    extension = {
        "https://musicbrainz.org/doc/jspf#track": {"artist_identifiers": [f"https://musicbrainz.org/a/{MBID}"]}
    }
    tracks = [
        {"creator": "Björk", "title": "Jóga", "identifier": identifier, "extension": extension},
        {"location": ["file:///music/M%C3%BAm/Grass.mp3"]},
    ]
    playlist = {"title": "Weekly Jams", "creator": "listenbrainz", "track": tracks}
    path = write("jams.jspf", json.dumps({"playlist": playlist} if wrapped else playlist, indent=indent))
    history = open_listens(path)
    assert (history.format, history.kind) == ("jspf", "playlists")
    assert songs(listens(path)) == [("Weekly Jams", "Björk", "Jóga"), ("Weekly Jams", "Múm", "Grass")]
    (block,) = history.blocks()
    assert (block.tracks[0].recording_mbid, block.tracks[0].artist_mbid) == (MBID, MBID)


def test_jspf_tracks_without_artist_or_sense_are_reported(write, listens):
    reported = []
    tracks = [{"creator": "A", "title": "B"}, {"title": "C"}, {"creator": "D", "title": "E"}, 7, {"creator": "F"}]
    path = write("a.jspf", json.dumps({"playlist": {"track": tracks}}))
    assert songs(listens(path, on_bad_row=reported.append)) == [("a", "A", "B"), ("a", "D", "E"), ("a", "F", "")]
    assert [message.split("jspf, ")[1] for message in reported] == [
        "track 2: the artist is missing.",
        "track 4: the artist is missing.",
    ]


def test_a_playlist_without_tracks_is_an_error(write, listens):
    with pytest.raises(ListensError, match=r"a.jspf is not a JSPF playlist: it has no list of tracks"):
        listens(write("a.jspf", json.dumps({"playlist": {"title": "x"}})))


XSPF = """<?xml version="1.0" encoding="UTF-8"?>
<playlist version="1" xmlns="http://xspf.org/ns/0/"><title>Evening</title><trackList>
<track><location>file:///m/x.mp3</location><creator>Björk</creator><title>Jóga</title>
<identifier>https://musicbrainz.org/recording/b10bbbfc-cf9e-42e0-be17-e2c3e1d2600d</identifier></track>
<track><location>file:///music/M%C3%BAm/Green%20Grass.mp3</location></track>
</trackList></playlist>"""


def test_xspf(write, listens):
    path = write("evening.xspf", XSPF)
    history = open_listens(path)
    assert (history.format, history.kind) == ("xspf", "playlists")
    assert songs(listens(path)) == [("Evening", "Björk", "Jóga"), ("Evening", "Múm", "Green Grass")]
    (block,) = history.blocks()
    assert block.tracks[0].recording_mbid == MBID


def test_xspf_that_is_cut_or_defines_entities_is_refused(write, listens):
    with pytest.raises(ListensError, match="truncated or invalid XML"):
        listens(write("a.xspf", XSPF[:-20]))
    bomb = XSPF.replace("<playlist", '<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]>\n<playlist', 1)
    with pytest.raises(ListensError, match="defines XML entities"):
        listens(write("b.xspf", bomb))


def test_other_xml_is_no_listening_history(write):
    with pytest.raises(ListensError, match="is XML or HTML but neither an XSPF playlist nor a library of iTunes"):
        open_listens(write("page.txt", "<html><body>hello</body></html>"))


@pytest.mark.parametrize("indent", [None, 2])
def test_spotifys_own_playlists(write, listens, indent):
    items = [
        {"track": {"artistName": "Björk", "trackName": "Jóga"}},
        {"track": None, "episode": {"episodeName": "x"}},
    ]
    document = {"playlists": [{"name": "Evening", "items": items}, {"name": "Empty", "items": []}]}
    path = write("Playlist1.json", json.dumps(document, indent=indent))
    assert (open_listens(path).format, open_listens(path).kind) == ("spotify-playlists", "playlists")
    assert songs(listens(path)) == [("Evening", "Björk", "Jóga")]


def test_slices_of_the_million_playlists_keep_playlists_of_one_name_apart(write, listens):
    track = {"artist_name": "Björk", "track_name": "Jóga", "album_name": "Homogenic"}
    document = {
        "info": {"slice": "0-1"},
        "playlists": [{"name": "x", "pid": pid, "tracks": [track]} for pid in (0, 1)],
    }
    path = write("mpd.slice.0-1.json", json.dumps(document))
    assert songs(listens(path)) == [("x #0", "Björk", "Jóga"), ("x #1", "Björk", "Jóga")]


def test_a_file_that_is_there_is_called_as_its_tags_call_it(tmp_path):
    (tmp_path / "music").mkdir()
    soundfile.write(tmp_path / "music" / "07 - so_what (1).flac", np.zeros(22_050), 22_050)
    write_tags(tmp_path / "music" / "07 - so_what (1).flac", Tags("Miles Davis", "So What"))
    playlist = tmp_path / "evening.m3u8"
    playlist.write_text("#EXTM3U\n#EXTINF:9,so what - unknown\nmusic/07 - so_what (1).flac\nmusic/Nina - Gone.mp3\n")
    blocks = list(open_listens(playlist).blocks(file_names=lambda path: astuple(read_tags(path))[:2]))
    assert [(item.artist, item.title) for block in blocks for item in block.tracks] == [
        ("Miles Davis", "So What"),
        ("Nina", "Gone"),
    ]
