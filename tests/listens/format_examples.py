"""A small file of every format, as its program writes it: its bytes, and how many rows it has.

Each example takes names for the artists, so that the same listens come in every format. The number of rows is counted
from how the file is made: listens, what is left out, and what cannot be read.
"""

import io
import json
import sqlite3
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

MOMENT = 1675168440

Content = tuple[bytes, int]


@dataclass(frozen=True)
class Example:
    """How to make a file of a format with these artists; rows that are left out and unreadable are added to it."""

    make: Callable[[Sequence[str]], Content]
    companions: dict[str, Callable[[Sequence[str]], bytes]] = field(default_factory=dict)
    can_be_packed: bool = True


def iso(number: int = 0) -> str:
    return datetime.fromtimestamp(MOMENT + number, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def lines(rows: Sequence[Sequence[object]], delimiter: str = ",") -> bytes:
    def text(value: object) -> str:
        quoted = str(value).replace('"', '""')
        return f'"{quoted}"' if delimiter == "," else str(value)

    return "".join(delimiter.join(map(text, row)) + "\n" for row in rows).encode()


def table(header: Sequence[str], rows: Sequence[Sequence[object]], delimiter: str = ",") -> Content:
    return lines([header, *rows], delimiter), len(rows)


def records(items: Sequence[object]) -> Content:
    return json.dumps(items).encode(), len(items)


def scrobbler_log(artists: Sequence[str]) -> Content:
    head = "#AUDIOSCROBBLER/1.1\n#TZ/UTC\n#CLIENT/Rockbox sansaclipplus\n"
    rows = [(artist, "Album", f"Song {i}", i, 200, "LS"[i % 2], MOMENT + i, "") for i, artist in enumerate(artists)]
    bad = ("Artist", "Album", "Song", 1, 200, "X", MOMENT, "")
    return head.encode() + lines([*rows, bad], "\t"), len(rows) + 1


def maloja(artists: Sequence[str]) -> Content:
    scrobbles: list[object] = [
        {"time": MOMENT + i, "track": {"artists": [artist, "Guest"], "title": f"Song {i}", "length": 9},
         "duration": None, "origin": "client:x"}
        for i, artist in enumerate(artists)
    ]  # fmt: skip
    scrobbles += [{"time": MOMENT, "track": {"artists": [], "title": "Nobody's"}}, {"time": MOMENT}]
    return json.dumps({"maloja": {"export_time": MOMENT}, "scrobbles": scrobbles}).encode(), len(scrobbles)


def pano(artists: Sequence[str]) -> Content:
    events: list[dict[str, object]] = [
        {"timeHuman": iso(i), "timeMs": (MOMENT + i) * 1000, "artist": artist, "track": f"Song {i}", "album": "Album",
         "event": "love" if i % 2 else "scrobble"}
        for i, artist in enumerate(artists)
    ]  # fmt: skip
    events += [events[0] | {"event": "unlove"}, {"timeMs": MOMENT}]
    return "".join(json.dumps(event) + "\n" for event in events).encode(), len(events)


def lastfm_api(artists: Sequence[str]) -> Content:
    def track(i: int, artist: str) -> dict[str, object]:
        return {
            "artist": {"mbid": "", "#text": artist},
            "name": f"Song {i}",
            "album": {"mbid": "", "#text": "Album"},
            "date": {"uts": str(MOMENT + i), "#text": "31 Jan 2023, 12:34"},
        }

    playing = {"artist": {"#text": "Now"}, "name": "Playing", "@attr": {"nowplaying": "true"}}
    tracks = [track(i, artist) for i, artist in enumerate(artists)]
    pages = [
        {"recenttracks": {"track": [playing, *tracks], "@attr": {"page": "1", "user": "ann"}}},
        {"recenttracks": {"track": [playing, track(99, artists[0]), 7], "@attr": {"page": "2"}}},
    ]
    return json.dumps(pages).encode(), len(tracks) + 4


def listenbrainz(artists: Sequence[str]) -> Content:
    listens: list[object] = [
        {"listened_at": MOMENT + i, "track_metadata": {"artist_name": artist, "track_name": f"Song {i}"}}
        for i, artist in enumerate(artists)
    ]
    return records(
        [*listens, {"playing_now": True, "track_metadata": {}}, {"listened_at": 5, "track_metadata": None}]
    )


def spotify_account(artists: Sequence[str]) -> Content:
    streams = [
        {
            "endTime": iso(i)[:16].replace("T", " "),
            "artistName": a,
            "trackName": f"Song {i}",
            "msPlayed": 20_000 * (i + 1),
        }
        for i, a in enumerate(artists)
    ]
    return records([*streams, streams[0] | {"artistName": ""}, {"endTime": "2023-01-31 12:34", "artistName": "A"}])


def spotify_extended(artists: Sequence[str]) -> Content:
    streams = [
        {"ts": iso(i), "username": "ann", "ms_played": 20_000 * (i + 1), "master_metadata_track_name": f"Song {i}",
         "master_metadata_album_artist_name": a, "episode_name": None}
        for i, a in enumerate(artists)
    ]  # fmt: skip
    return records([*streams, streams[0] | {"episode_name": "Talk"}, {"ts": iso(), "username": "ann"}])


def spotify_playlists(artists: Sequence[str]) -> Content:
    items = [{"track": {"artistName": a, "trackName": f"Song {i}"}, "episode": None} for i, a in enumerate(artists)]
    items.append({"track": None, "episode": {"episodeName": "Talk"}})
    return json.dumps({"playlists": [{"name": "Evening", "items": items}]}).encode(), len(items)


def spotify_library(artists: Sequence[str]) -> Content:
    tracks: list[object] = [{"artist": a, "album": "Album", "track": f"Song {i}"} for i, a in enumerate(artists)]
    library = {
        "tracks": [*tracks, {"uri": "x"}],
        "albums": [{"artist": "A"}],
        "shows": [],
        "artists": [{"name": "B"}],
    }
    return json.dumps(library, indent=2).encode(), len(tracks) + 3


def apple_activity(artists: Sequence[str]) -> Content:
    header = ("Artist Name", "Album Name", "End Reason Type", "Event End Timestamp", "Event Start Timestamp",
              "Event Type", "Media Duration In Milliseconds", "Media Type", "Play Duration Milliseconds",
              "Song Name")  # fmt: skip
    reasons = ("NATURAL_END_OF_TRACK", "TRACK_SKIPPED_FORWARDS")
    rows = [
        (a, "Album", reasons[i % 2], iso(i + 60), iso(i), "PLAY_END", 200_000, "AUDIO", 9000, f"Song {i}")
        for i, a in enumerate(artists)
    ]
    others = [
        ("", "Album", reasons[0], iso(), iso(), "PLAY_END", 200_000, "AUDIO", 9000, "Song"),
        ("A", "Album", reasons[0], iso(), iso(), "PLAY_START", 200_000, "AUDIO", 9000, "Song"),
        ("A", "Album", reasons[0], iso(), iso(), "PLAY_END", 200_000, "VIDEO", 9000, "Song"),
        ("A", "Album", reasons[0], iso(), iso(), "PLAY_END", 200_000, "AUDIO", "long", "Song"),
    ]
    return table(header, [*rows, *others])


def apple_daily(artists: Sequence[str]) -> Content:
    header = ("Country", "Track Identifier", "Media type", "Date Played", "Hours", "Play Duration Milliseconds",
              "End Reason Type", "Source Type", "Play Count", "Skip Count", "Ignore For Recommendations",
              "Track Description")  # fmt: skip
    rows = [
        ("DE", i, "AUDIO", "20230131", "18, 19", 9000, "", "IPHONE", 1 + i, 0, "", f"{a} - Song {i}")
        for i, a in enumerate(artists)
    ]
    others = [
        ("DE", 1, "VIDEO", "20230131", "18", 9000, "", "IPHONE", 1, 0, "", "A - B"),
        ("DE", 1, "AUDIO", "20230131", "18", 9000, "", "IPHONE", 0, 2, "", "A - Skipped"),
        ("DE", 1, "AUDIO", "20230131", "18", 9000, "", "IPHONE", 0, 0, "", "A - B"),
        ("DE", 1, "AUDIO", "20230131", "18", 9000, "", "IPHONE", "some", 0, "", "A - B"),
        ("DE", 1, "AUDIO", "20230131", "18", 9000, "", "IPHONE", 1, 0, "", "Nameless"),
    ]
    return table(header, [*rows, *others])


def youtube_music(artists: Sequence[str]) -> Content:
    watched: list[dict[str, object]] = [
        {"header": "YouTube Music", "title": f"Watched Song {i}", "titleUrl": "https://music.youtube.com/watch?v=x",
         "subtitles": [{"name": f"{a} - Topic", "url": "x"}], "time": iso(i), "products": ["YouTube"]}
        for i, a in enumerate(artists)
    ]  # fmt: skip
    removed = {"header": "YouTube Music", "title": "Watched a video that has been removed", "time": iso()}
    return records([*watched, watched[0] | {"header": "YouTube"}, removed, {"header": "YouTube Music"}])


def hetrec(artists: Sequence[str]) -> Content:
    rows = [(2, i, 10 + i) for i in range(len(artists))]
    return table(("userID", "artistID", "weight"), [*rows, (2, 999, 1)], "\t")


def hetrec_artists(artists: Sequence[str]) -> bytes:
    rows = [(i, artist, f"http://x/{i}", "http://y") for i, artist in enumerate(artists)]
    return table(("id", "name", "url", "pictureURL"), rows, "\t")[0]


def plist(value: object) -> str:
    if isinstance(value, bool):
        return "<true/>" if value else "<false/>"
    if isinstance(value, int):
        return f"<integer>{value}</integer>"
    if isinstance(value, dict):
        return "<dict>\n" + "".join(f"<key>{key}</key>{plist(item)}\n" for key, item in value.items()) + "</dict>"
    if isinstance(value, list):
        return "<array>\n" + "".join(plist(item) + "\n" for item in value) + "</array>"
    escaped = str(value).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return f"<string>{escaped}</string>"


def itunes_file(songs: dict[str, object], playlists: list[object]) -> bytes:
    head = (
        '<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE plist PUBLIC "-//Apple Computer//DTD PLIST 1.0//EN" '
        '"http://www.apple.com/DTDs/PropertyList-1.0.dtd">\n<plist version="1.0">\n'
    )
    library = {"Major Version": 1, "Tracks": songs, "Playlists": playlists}
    return (head + plist(library) + "\n</plist>\n").encode()


def itunes_library(artists: Sequence[str]) -> bytes:
    songs: dict[str, object] = {
        str(i): {"Track ID": i, "Name": f"Song {i}", "Artist": a, "Play Count": 3 + i} for i, a in enumerate(artists)
    }
    songs["900"] = {"Track ID": 900, "Name": "Talk", "Artist": "A", "Play Count": 2, "Podcast": True}
    songs["901"] = {"Track ID": 901, "Name": "Odd", "Artist": "A", "Play Count": "some"}
    songs["902"] = {"Track ID": 902, "Name": "New", "Artist": "A"}
    items: list[object] = [{"Track ID": i} for i in range(len(artists))]
    playlists: list[object] = [
        {"Name": "Library", "Master": True, "Playlist Items": items},
        {"Name": "Evening", "Playlist ID": 7, "Playlist Items": [*items, {"Track ID": 900}, {"Track ID": 12345}]},
    ]
    return itunes_file(songs, playlists)


def itunes(artists: Sequence[str]) -> Content:
    return itunes_library(artists), len(artists) + 3


def itunes_playlists(artists: Sequence[str]) -> Content:
    return itunes_library(artists), 2 * len(artists) + 2


def database(*statements: str | tuple[str, Sequence[Sequence[object]]]) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.db"
        connection = sqlite3.connect(path)
        for statement in statements:
            if isinstance(statement, str):
                connection.execute(statement)
            else:
                connection.executemany(*statement)
        connection.commit()
        connection.close()
        return path.read_bytes()


def beets(artists: Sequence[str]) -> Content:
    songs = [(i, a, f"Song {i}", "", "") for i, a in enumerate(artists)]
    facts = [(i, "play_count", str(3 + i)) for i in range(len(songs))]
    content = database(
        "CREATE TABLE items (id INTEGER PRIMARY KEY, artist TEXT, title TEXT, mb_trackid TEXT, mb_artistid TEXT)",
        "CREATE TABLE item_attributes (id INTEGER PRIMARY KEY, entity_id INTEGER, key TEXT, value TEXT, "
        "UNIQUE(entity_id, key) ON CONFLICT REPLACE)",
        ("INSERT INTO items VALUES (?, ?, ?, ?, ?)", [*songs, (900, "A", "New", "", ""), (901, "A", "Odd", "", "")]),
        (
            "INSERT INTO item_attributes (entity_id, key, value) VALUES (?, ?, ?)",
            [*facts, (901, "play_count", "some")],
        ),
    )
    return content, len(songs) + 2


def navidrome_database(artists: Sequence[str]) -> bytes:
    songs = [(f"song{i}", a, f"Song {i}", "") for i, a in enumerate(artists)]
    facts = [("u1", f"song{i}", "media_file", 3 + i, 0, 0, None) for i in range(len(songs))]
    others = [
        ("u1", "album1", "album", 3, 0, 0, None),
        ("u1", "gone", "media_file", 3, 0, 0, None),
        ("u1", "song0", "media_file", "some", 0, 0, None),
    ]
    listens = [("song0", "u1", MOMENT), ("song0", "u1", MOMENT + 300), ("gone", "u1", MOMENT)]
    return database(
        "CREATE TABLE user (id TEXT PRIMARY KEY, user_name TEXT, password TEXT)",
        "CREATE TABLE media_file (id TEXT PRIMARY KEY, artist TEXT, title TEXT, mbz_recording_id TEXT)",
        "CREATE TABLE annotation (user_id TEXT, item_id TEXT, item_type TEXT, play_count, rating INTEGER, "
        "starred BOOL, starred_at DATETIME)",
        "CREATE TABLE scrobbles (media_file_id TEXT, user_id TEXT, submission_time INTEGER)",
        ("INSERT INTO user VALUES (?, ?, ?)", [("u1", "ann", "secret")]),
        ("INSERT INTO media_file VALUES (?, ?, ?, ?)", songs),
        ("INSERT INTO annotation VALUES (?, ?, ?, ?, ?, ?, ?)", [*facts, *others]),
        ("INSERT INTO scrobbles VALUES (?, ?, ?)", listens),
    )


def navidrome(artists: Sequence[str]) -> Content:
    return navidrome_database(artists), len(artists) + 3


def navidrome_listens(artists: Sequence[str]) -> Content:
    return navidrome_database(artists), 3


def m3u8(artists: Sequence[str]) -> Content:
    entries = "".join(f"#EXTINF:5,{a} - Song {i}\nx{i}.mp3\n" for i, a in enumerate(artists))
    return f"#EXTM3U\n#PLAYLIST:Evening\n{entries}".encode(), len(artists)


def pls(artists: Sequence[str]) -> Content:
    entries = "".join(f"File{i}=x{i}.mp3\nTitle{i}={a} - Song {i}\n" for i, a in enumerate(artists, start=1))
    return f"[playlist]\n{entries}NumberOfEntries={len(artists)}\nVersion=2\n".encode(), len(artists)


def jspf(artists: Sequence[str]) -> Content:
    tracks: list[object] = [{"creator": a, "title": f"Song {i}"} for i, a in enumerate(artists)]
    return json.dumps({"playlist": {"title": "Evening", "track": [*tracks, 7]}}).encode(), len(tracks) + 1


def xspf(artists: Sequence[str]) -> Content:
    names = [a.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;") for a in artists]
    tracks = "".join(f"<track><creator>{a}</creator><title>Song {i}</title></track>" for i, a in enumerate(names))
    head = '<?xml version="1.0"?>\n<playlist version="1" xmlns="http://xspf.org/ns/0/"><title>Evening</title>'
    return f"{head}<trackList>{tracks}</trackList></playlist>".encode(), len(artists)


def parquet(artists: Sequence[str]) -> Content:
    import pyarrow
    import pyarrow.parquet

    buffer = io.BytesIO()
    columns = {"user": ["ann"] * (len(artists) + 1), "artist": [*artists, ""], "plays": [2] * (len(artists) + 1)}
    pyarrow.parquet.write_table(pyarrow.table(columns), buffer)
    return buffer.getvalue(), len(artists) + 1


def json_counts(artists: Sequence[str]) -> Content:
    return records([*({"user": "ann", "artist": a, "plays": 3} for a in artists), {"user": "ann"}])


def described(delimiter: str) -> Callable[[Sequence[str]], Content]:
    def make(artists: Sequence[str]) -> Content:
        rows = [("ann", a, f"Song {i}", 3 + i) for i, a in enumerate(artists)]
        return table(("user", "artist", "title", "plays"), [*rows, ("ann", "A", "B", "some")], delimiter)

    return make


def lastfm_csv(artists: Sequence[str]) -> Content:
    rows = [(MOMENT + i, iso(i), a, "", "Album", "", f"Song {i}", "") for i, a in enumerate(artists)]
    header = ("uts", "utc_time", "artist", "artist_mbid", "album", "album_mbid", "track", "track_mbid")
    return table(header, [*rows, ("", "", "A", "", "", "", "B", ""), ("soon", "", "A", "", "", "", "B", "")])


def lastfm_360k(artists: Sequence[str]) -> Content:
    rows = [("ann", "b10bbbfc-cf9e-42e0-be17-e2c3e1d2600d", a, 3 + i) for i, a in enumerate(artists)]
    return lines([*rows, ("ann", "", "", 3)], "\t"), len(rows) + 1


def lastfm_1k(artists: Sequence[str]) -> Content:
    rows = [("user_1", iso(i), "", a, "", f"Song {i}") for i, a in enumerate(artists)]
    return lines([*rows, ("user_1", "soon", "", "A", "", "B")], "\t"), len(rows) + 1


EXAMPLES: dict[str, Example] = {
    "scrobbler-log": Example(scrobbler_log),
    "maloja": Example(maloja),
    "pano": Example(pano),
    "lastfm-api": Example(lastfm_api),
    "listenbrainz": Example(listenbrainz),
    "spotify-account": Example(spotify_account),
    "spotify-extended": Example(spotify_extended),
    "spotify-playlists": Example(spotify_playlists),
    "spotify-library": Example(spotify_library),
    "apple-activity": Example(apple_activity),
    "apple-daily": Example(apple_daily),
    "youtube-music": Example(youtube_music),
    "hetrec": Example(hetrec, companions={"artists.dat": hetrec_artists}),
    "itunes": Example(itunes),
    "itunes-playlists": Example(itunes_playlists),
    "beets": Example(beets),
    "navidrome": Example(navidrome),
    "navidrome-listens": Example(navidrome_listens),
    "m3u8": Example(m3u8),
    "pls": Example(pls),
    "jspf": Example(jspf),
    "xspf": Example(xspf),
    "parquet": Example(parquet, can_be_packed=False),
    "json": Example(json_counts),
    "csv": Example(described(",")),
    "tsv": Example(described("\t")),
    "lastfm-csv": Example(lastfm_csv),
    "lastfm-360k": Example(lastfm_360k),
    "lastfm-1k": Example(lastfm_1k),
}
