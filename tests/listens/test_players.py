"""What players store: logs, libraries and databases, some of them hostile."""

import sqlite3

import pytest

from listens.format_examples import MOMENT, beets, database, itunes_file, navidrome_database
from nearsong.errors import ListensError
from nearsong.listens import RowCounts, open_histories, open_listens
from nearsong.listens.players import itunes as itunes_module
from nearsong.listens.players import sqlite_file
from nearsong.listens.records import Action

MBID = "b10bbbfc-cf9e-42e0-be17-e2c3e1d2600d"


def log(version, *rows):
    return f"#AUDIOSCROBBLER/{version}\n#TZ/UNKNOWN\n#CLIENT/x\n" + "".join("\t".join(row) + "\n" for row in rows)


@pytest.mark.parametrize(("version", "last"), [("1.0", ()), ("1.1", ("",)), ("1.1", (MBID,))])
def test_a_log_has_listens_and_skips(write, listens, version, last):
    rows = [("Björk", "Album", 'The "J"', "1", "200", rating, str(MOMENT), *last) for rating in "LS"]
    path = write(".scrobbler.log", log(version, *rows, ("#AUDIOSCROBBLER/1.1",)))
    row = ("me", "Björk", 'The "J"', 1, MOMENT)
    counts = RowCounts()
    assert listens(path, counts=counts) == listens(path, action=Action.SKIP) == [row]
    assert counts.left_out == {"comments": 1}
    (block,) = open_listens(path).blocks()
    assert block.tracks[0].recording_mbid == "".join(last)


def song(**facts):
    return {"Track ID": 1, "Name": "Jóga", "Artist": "Björk"} | facts


def test_a_library_of_itunes_has_plays_skips_hearts_and_ratings(write, listens):
    facts = {"Play Count": 3, "Skip Count": 2, "Rating": 70, "Loved": True}
    computed = song(Name="Other") | {"Rating": 60, "Rating Computed": True}
    path = write("Library.xml", itunes_file({"1": song(**facts), "2": computed}, []))
    counts = RowCounts()
    assert listens(path, counts=counts) == [("me", "Björk", "Jóga", 3, 0)]
    assert listens(path, action=Action.SKIP) == [("me", "Björk", "Jóga", 2, 0)]
    assert listens(path, action=Action.HEART) == [("me", "Björk", "Jóga", 1, 0)]
    assert listens(path, action=Action.RATING) == [("me", "Björk", "Jóga", 3.5, 0)]
    assert counts.left_out == {"never played": 1}


def test_a_library_of_itunes_also_has_the_playlists_that_somebody_made(write, listens):
    items = [{"Track ID": 1}]
    lists = [
        {"Name": "Library", "Master": True, "Playlist Items": items},
        {"Name": "Music", "Distinguished Kind": 4, "Playlist Items": items},
        {"Name": "Smart", "Smart Info": "AQ==", "Playlist Items": items},
        {"Name": "Evening", "Playlist Items": items},
        {"Name": "Empty"},
    ]
    path = write("Library.xml", itunes_file({"1": song()}, lists))
    assert [(one.format, one.kind) for one in open_histories(path)] == [
        ("itunes", "counts"),
        ("itunes-playlists", "playlists"),
    ]
    assert listens(path, "itunes-playlists") == [("Evening", "Björk", "Jóga", 1, 0)]


def test_entities_and_giants_are_refused(write, listens, monkeypatch):
    content = itunes_file({"1": song(**{"Play Count": 3})}, []).decode()
    bomb = content.replace('"http://www.apple.com/DTDs/PropertyList-1.0.dtd">', '[<!ENTITY a "aaaa">]>')
    with pytest.raises(ListensError, match="defines XML entities, which are not allowed"):
        listens(write("bomb.xml", bomb))
    monkeypatch.setattr(itunes_module, "MAX_CHARACTERS", 100)
    with pytest.raises(ListensError, match="too much for a library"):
        listens(write("giant.xml", content))


def test_beets_counts_plays_and_skips(write, listens):
    content = database(
        "CREATE TABLE items (id INTEGER PRIMARY KEY, artist TEXT, title TEXT, mb_trackid TEXT)",
        "CREATE TABLE item_attributes (entity_id INTEGER, key TEXT, value TEXT)",
        ("INSERT INTO items VALUES (?, ?, ?, ?)", [(1, b"Bj\xf6rk", "Jóga", MBID)]),
        (
            "INSERT INTO item_attributes VALUES (?, ?, ?)",
            [(1, "play_count", "3"), (1, "skip_count", "2"), (1, "rating", "0.5")],
        ),
    )
    path = write("library.db", content)
    ((who, artist, title, plays, _),) = listens(path)
    assert (who, title, plays) == ("me", "Jóga", 3)
    assert artist
    assert [row[3] for row in listens(path, action=Action.SKIP)] == [2]
    assert listens(path, action=Action.RATING) == []


def test_navidrome_counts_what_has_no_time_and_lists_what_has_one(write, listens):
    path = write("navidrome.db", navidrome_database(["Björk", "Múm"]))
    assert listens(path) == [("ann", "Björk", "Song 0", 1, 0), ("ann", "Múm", "Song 1", 4, 0)]
    assert listens(path, "navidrome-listens") == [
        ("ann", "Björk", "Song 0", 1, MOMENT),
        ("ann", "Björk", "Song 0", 1, MOMENT + 300),
    ]


def test_navidromes_stars_and_ratings_are_of_each_user(write, listens):
    content = database(
        "CREATE TABLE user (id TEXT, user_name TEXT)",
        "CREATE TABLE media_file (id TEXT, artist TEXT, title TEXT, mbz_track_id TEXT, mbz_artist_id TEXT)",
        "CREATE TABLE annotation (user_id, item_id, item_type, play_count, play_date, rating, starred, starred_at)",
        ("INSERT INTO user VALUES (?, ?)", [("1", "ann"), ("2", "bob")]),
        ("INSERT INTO media_file VALUES (?, ?, ?, ?, ?)", [("s", "Björk", "Jóga", MBID, "")]),
        (
            "INSERT INTO annotation VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            [
                ("1", "s", "media_file", 0, None, 0, 1, "2023-01-31 12:34:00+00:00"),
                ("2", "s", "media_file", 0, None, 4, 0, None),
            ],
        ),
    )
    path = write("navidrome.db", content)
    assert listens(path) == []
    assert listens(path, action=Action.HEART) == [("ann", "Björk", "Jóga", 1, MOMENT)]
    assert listens(path, action=Action.RATING) == [("bob", "Björk", "Jóga", 4, 0)]
    assert listens(path, "navidrome-listens") == []


@pytest.mark.parametrize("is_open", [False, True])
def test_a_database_with_a_log_is_read_and_left_as_it_is(write, listens, tmp_path, is_open):
    path = write("library.db", beets(["Björk"])[0])
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("UPDATE items SET title = 'New' WHERE id = 0")
    connection.commit()
    if not is_open:
        connection.close()
    before = sorted(file.name for file in tmp_path.iterdir())
    assert listens(path) == [("me", "Björk", "New", 3, 0)]
    assert sorted(file.name for file in tmp_path.iterdir()) == before
    connection.close()


ENDLESS = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n)"


@pytest.mark.parametrize(
    ("statements", "message"),
    [
        ([f"CREATE VIEW items AS {ENDLESS} SELECT x AS id FROM n", "CREATE TABLE item_attributes (x)"], "neither of"),
        (["CREATE VIRTUAL TABLE items USING fts5(artist)", "CREATE TABLE item_attributes (x)"], "neither of"),
        (["CREATE TABLE other (x)"], "is a database, but neither of beets nor of Navidrome"),
        (
            [
                "CREATE TABLE items (id, artist TEXT AS (printf('%s', id)), title)",
                "CREATE TABLE item_attributes (entity_id, key, value)",
                "INSERT INTO items (id) VALUES (1)",
            ],
            "neither of",
        ),
    ],
)
def test_only_plain_tables_of_a_database_are_read(write, listens, statements, message):
    with pytest.raises(ListensError, match=message) as error:
        listens(write("library.db", database(*statements)))
    assert "\n" not in str(error.value)


def test_a_database_of_too_many_rows_or_steps_is_refused(write, listens, monkeypatch):
    path = write("library.db", beets([f"Artist {i}" for i in range(50)])[0])
    monkeypatch.setattr(sqlite_file, "MAX_ROWS", 10)
    with pytest.raises(ListensError, match="has more than 10 rows"):
        listens(path)
    monkeypatch.setattr(sqlite_file, "MAX_ROWS", 1000)
    monkeypatch.setattr(sqlite_file, "_STEPS_PER_CALL", 10)
    monkeypatch.setattr(sqlite_file, "MAX_STEPS", 20)
    with pytest.raises(ListensError, match="cannot be read as a database \\(interrupted\\)"):
        listens(path)
