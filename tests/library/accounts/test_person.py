"""Everything about a listener can be written to a file and deleted; others stay as they are."""

import contextlib
import io
import json
import sqlite3
import zipfile

import numpy as np
import pytest
import sqlalchemy as sa

from library_store import put_file
from nearsong.audio.tags import Tags
from nearsong.errors import LibraryError
from nearsong.library.accounts.person import delete_listener, deleted_words, write_everything
from nearsong.library.listeners.histories import Histories
from nearsong.library.listeners.importing import import_listens
from nearsong.library.listeners.recorded.plays import PlayLog
from nearsong.library.listeners.recorded.reactions import ReactionLog
from nearsong.library.store import Bookmark, PlayQueue, Store, schema
from nearsong.listens.records import Action, ListenBlock, TrackName
from recorded_plays import NOON
from three_services import LISTENS, write_lastfm, write_listenbrainz, write_spotify

WHO = "Zebulon Quux"
OTHERS = ("ann", "bob")
MBID = "6f1a9f0c-0000-4000-8000-00000000000{}"


def pulled(store, user, times):
    """Write a history as a pull does."""
    tracks = [TrackName("Can", f"Song {i}") for i in range(len(times))]
    history = store.pulled_history(f"listenbrainz: {user}", f"pulled {user}", "listenbrainz")
    n = len(times)
    block = ListenBlock(
        users=[user],
        tracks=tracks,
        user=np.zeros(n, np.int32),
        item=np.arange(n, dtype=np.int32),
        plays=np.ones(n, np.float32),
        time=np.array(times, np.int64),
    )
    history.extend(block, json.dumps({"listener": user}))


def fill(store, folder, people):
    """Write what people did, in the same order whoever is among them."""
    folder.mkdir(exist_ok=True)
    songs = [
        put_file(store, f"/{i}.mp3", tags=Tags("Can", f"Song {i}", recording_mbid=MBID.format(i)), seconds=9.0)
        for i in range(4)
    ]
    nameless = put_file(store, "/nameless.mp3", tags=Tags("", "Untitled"), seconds=9.0)
    table = ["user,artist,title,timestamp"]
    counts = ["user,artist,title,plays"]
    for i, user in enumerate([*OTHERS, WHO]):
        if user in people:
            table += [f"{user},Can,Song {n},{NOON + 1000 * n + i}" for n in range(3)]
            table += [f"{user},Artist of {user},Title,{NOON + 9000}"]
            counts += [f"{user},Can,Song 1,{3 + i}", f"{user},Artist of {user},Title,7"]
    (folder / "table.csv").write_text("\n".join(table) + "\n")
    (folder / "counts.csv").write_text("\n".join(counts) + "\n")
    import_listens(store, [folder / "table.csv", folder / "counts.csv"])
    log, plays = ReactionLog(store), PlayLog(store)
    for user in people:
        import_listens(store, [write_lastfm(folder / "lastfm.csv", LISTENS)], user=user)
        import_listens(store, [write_spotify(folder / "spotify.json", LISTENS)], user=user)
        evening = {"title": f"Evening of {user}", "track": [{"creator": "Can", "title": f"Song {user}"}]}
        (folder / "evening.jspf").write_text(json.dumps({"playlist": evening}))
        import_listens(store, [folder / "evening.jspf"], user=user)
        pulled(store, user, [NOON + 5, NOON + 50_000])
        plays.record_all([(songs[0], NOON + 20_000), (songs[1], NOON + 1000), (nameless, NOON + 30_000)], user)
        log.heart([songs[0]], user)
        log.heart(["al-1"], user)
        log.rate(songs[1], 4, user)
        log.skip(songs[2], user, NOON + 40_000)
        store.play_queues.put(user, PlayQueue((songs[0], songs[3]), 1, 5, 9.0, "player"))
        store.bookmarks.put(user, Bookmark(songs[1], 2_500, "here", 9.0, 10.0), 5)
        store.playlists.add(f"List of {user}", songs[:3], owner=user)
        store.accounts.add(user, user.encode().ljust(32), is_admin=False)
    store.playlists.add("For all", songs[:2])
    plays.update_history()
    return songs


def song_plays(histories):
    """Return title -> plays."""
    titles = {song.id: song.title for song in histories.songs}
    return {titles[song]: plays for song, plays in histories.song_plays().items()}


def facts_of(store):
    """Return everything that is shown of a library, without ids."""
    histories = Histories(store)
    listening = histories.listening()
    with store.writing() as connection:
        users = dict(connection.execute(sa.select(schema.listen_users.c.id, schema.listen_users.c.name)).all())
        names = connection.execute(sa.select(sa.func.count()).select_from(schema.listen_names)).scalar()
        recorded = [
            sorted(tuple(row) for row in connection.execute(sa.select(*columns)))
            for columns in (
                (schema.plays.c.listener, schema.plays.c.time, schema.plays.c.title),
                (schema.reactions.c.listener, schema.reactions.c.action, schema.reactions.c.title),
                (schema.play_queues.c.listener, schema.play_queues.c.current),
                (schema.bookmarks.c.listener, schema.bookmarks.c.position),
                (schema.playlists.c.owner, schema.playlists.c.name),
                (schema.accounts.c.name,),
            )
        ]
    ids, tracks = store.listens.names()
    track_of = dict(zip(ids.tolist(), tracks, strict=True))
    rows = {}
    for history in histories.histories:
        blocks = list(store.listens.columns(history.id))
        rows[history.name] = sorted(
            (users[user], track_of[name], plays, 0 if action in (Action.HEART, Action.RATING) else time, action)
            for block in blocks
            for user, name, plays, time, action in zip(
                block.user.tolist(),
                block.name.tolist(),
                block.plays.tolist(),
                block.time.tolist(),
                block.action.tolist(),
                strict=True,
            )
        )
        assert history.rows == len(rows[history.name])
        totals = {}
        for block in blocks:
            played = np.where(block.action == Action.LISTEN, block.plays, 0)
            for name, n in zip(block.name.tolist(), played.tolist(), strict=True):
                totals[name] = totals.get(name, 0.0) + n
        assert store.listens.totals([history.id]) == totals
    return {
        "rows": rows,
        "report": histories.report(),
        "plays": song_plays(histories),
        "artists": listening.artist_plays.toarray().tolist(),
        "songs": listening.song_plays.toarray().tolist(),
        "users": sorted(users.values()),
        "n_users": store.listens.n_users(),
        "names": names,
        "recorded": recorded,
        "playlist_songs": [len(playlist.songs) for playlist in store.playlists.list()],
    }


def test_a_library_without_a_listener_is_as_if_they_had_never_been_there(store, tmp_path):
    fill(store, tmp_path / "files", [*OTHERS, WHO])
    deleted = delete_listener(store, WHO.upper())  # accounts are found without regard to case
    assert (deleted.plays, deleted.hearts, deleted.ratings, deleted.skips) == (3, 2, 1, 1)
    assert (deleted.rows, deleted.histories) == (4 + 2 + 20 + 20 + 1 + 2, 6)
    assert (deleted.playlists, deleted.queues, deleted.accounts, deleted.is_importing) == (1, 1, 1, False)
    assert deleted_words(deleted) == (
        "3 plays, 2 hearts, 1 rating, 1 skip, 49 rows of 6 histories, 1 playlist, 1 queue, 1 bookmark, 1 account"
    )
    with contextlib.closing(Store(tmp_path / "other")) as other:
        fill(other, tmp_path / "files", OTHERS)
        assert facts_of(store) == facts_of(other)
    assert deleted_words(delete_listener(store, WHO)) == "nothing"
    assert PlayLog(store).pending() == 0


def test_nothing_of_the_file_names_the_listener(tmp_path):
    with contextlib.closing(Store(tmp_path / "library.sqlite")) as store:
        fill(store, tmp_path / "files", [*OTHERS, WHO])
        assert names_in(tmp_path, WHO)
        delete_listener(store, WHO)
        assert names_in(tmp_path, "bob")
        assert names_in(tmp_path, WHO) == []


def test_the_name_is_overwritten_even_if_the_file_cannot_be_compacted(tmp_path, monkeypatch):
    with contextlib.closing(Store(tmp_path / "library.sqlite")) as store:
        fill(store, tmp_path / "files", [*OTHERS, WHO])
        monkeypatch.setattr(store, "compact", lambda: None)
        delete_listener(store, WHO)
    with contextlib.closing(sqlite3.connect(tmp_path / "library.sqlite")) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    assert names_in(tmp_path, WHO) == []


def names_in(folder, name):
    """Return the files of a library that have a name among their bytes."""
    return [path.name for path in folder.glob("library.sqlite*") if name.encode() in path.read_bytes()]


def test_a_file_whose_rows_were_deleted_can_be_imported_again(store, tmp_path):
    fill(store, tmp_path / "files", [*OTHERS, WHO])
    before = facts_of(store)["rows"]
    delete_listener(store, WHO)
    (file,) = import_listens(store, [tmp_path / "files" / "table.csv"])
    assert file.state == "replaced"
    path = str(tmp_path / "files" / "table.csv")
    assert facts_of(store)["rows"][path] == before[path]


def test_a_running_import_is_not_damaged(store, tmp_path):
    fill(store, tmp_path / "files", [*OTHERS, WHO])
    writer = store.listens.begin("running.csv", "running", "csv", "events")
    track = TrackName("New", "Song")
    one = np.zeros(1, np.int32)
    plays, time = np.ones(1, np.float32), np.array([NOON], np.int64)
    writer.add(ListenBlock(users=["ann"], tracks=[track], user=one, item=one, plays=plays, time=time))
    assert delete_listener(store, WHO).is_importing
    writer.add(ListenBlock(users=[WHO], tracks=[track], user=one, item=one, plays=plays, time=time))
    assert writer.finish()
    assert [row[0] for row in facts_of(store)["rows"]["running.csv"]] == [WHO, "ann"]
    again = delete_listener(store, WHO)
    assert (again.rows, again.is_importing) == (1, False)
    assert WHO not in facts_of(store)["users"]


def test_a_history_of_plays_that_is_being_built_does_not_bring_them_back(store, tmp_path, monkeypatch):
    songs = fill(store, tmp_path / "files", [*OTHERS, WHO])
    log = PlayLog(store)
    log.record(songs[0], "ann", NOON + 90_000)
    begin = store.listens.begin

    def begin_late(*facts):
        monkeypatch.setattr(store.listens, "begin", begin)
        delete_listener(store, WHO)
        return begin(*facts)

    monkeypatch.setattr(store.listens, "begin", begin_late)
    assert log.update_history()
    assert WHO not in facts_of(store)["users"]


def test_all_is_deleted_or_nothing(store, tmp_path, monkeypatch):
    fill(store, tmp_path / "files", [*OTHERS, WHO])
    before = facts_of(store)

    def fail(connection):
        raise KeyboardInterrupt

    monkeypatch.setattr("nearsong.library.store.listener_rows.delete_unused", fail)
    with pytest.raises(KeyboardInterrupt):
        delete_listener(store, WHO)
    assert facts_of(store) == before


# Export


def test_an_import_of_the_export_gives_the_same_listens_and_playlists(store, tmp_path):
    fill(store, tmp_path / "files", [*OTHERS, WHO])
    import_listens(store, [write_listenbrainz(tmp_path / "lb.jsonl", LISTENS)], user=WHO)
    counts = write_everything(store, WHO.lower(), tmp_path / "all.zip")
    assert (counts["playlists"], counts["queues"], counts["bookmarks"]) == (1, 1, 1)
    mine = Histories.of_user(store, WHO)
    with contextlib.closing(Store(tmp_path / "other")) as other:
        for song in mine.songs:
            tags = Tags(song.artist, song.title, recording_mbid=song.recording_mbid)
            put_file(other, song.path, tags=tags, seconds=9.0)
        files = import_listens(other, [tmp_path / "all.zip"])
        assert [(file.state, file.bad_rows) for file in files] == [("imported", 0)] * 3
        assert {file.kind for file in files} == {"events", "counts", "playlists"}
        theirs = Histories.of_user(other, WHO)
        assert song_plays(theirs) == song_plays(mine)
        was, found = mine.report(), theirs.report()
        nameless = 1  # a play of a song without an artist cannot be imported
        assert (found.plays_matched, found.plays_unmatched + nameless) == (was.plays_matched, was.plays_unmatched)
        for kind in ("events", "counts"):
            named = sorted(row for row in mine.rows(kind) if row.track.artist)
            assert sorted(theirs.rows(kind)) == named
        playlists = [name for name in facts_of(other)["users"] if name != WHO]
        assert sorted(name.rpartition(": ")[2] for name in playlists) == [f"Evening of {WHO}", f"List of {WHO}"]


def test_what_no_import_reads_is_in_the_export_too(store, tmp_path):
    fill(store, tmp_path / "files", [*OTHERS, WHO])
    file = io.BytesIO()
    write_everything(store, WHO, file)
    with zipfile.ZipFile(file) as archive:
        texts = {name: archive.read(name).decode() for name in archive.namelist()}
    assert json.loads(texts["nameless.lines"])["title"] == "Untitled"
    queue = json.loads(texts["queue.json"])
    assert [song["title"] for song in queue["queue"]] == ["Song 0", "Song 3"]
    assert (queue["current"], queue["position"]) == (1, 5)
    about = json.loads(texts["about.json"])
    assert [(star["id"], star["action"]) for star in about["albums_and_artists"]] == [("al-1", "heart")]
    assert about["account"]["is_admin"] is False
    assert not any(other in text for other in OTHERS for text in texts.values())


def test_the_export_of_nobody_is_empty_and_a_folder_that_is_not_there_is_named(store, tmp_path):
    assert write_everything(store, "nobody", tmp_path / "all.zip") == dict.fromkeys(
        ("rows", "playlists", "queues", "bookmarks"), 0
    )
    with pytest.raises(LibraryError, match="cannot be written"):
        write_everything(store, "nobody", tmp_path / "none" / "all.zip")
