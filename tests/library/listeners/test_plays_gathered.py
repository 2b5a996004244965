"""Plays are gathered into one history: whenever that is, nothing is lost, and what was forgotten stays so."""

import pytest

from library_store import store_of
from nearsong.audio.tags import Tags
from nearsong.errors import LibraryError
from nearsong.library import Library
from nearsong.library.listeners.histories import Histories
from nearsong.library.listeners.importing import import_listens
from nearsong.library.listeners.recorded.plays import PlayLog
from nearsong.library.store import HistoryWriter
from nearsong.listens.records import TrackName
from recorded_plays import NOON, gathered, put
from waiting import in_threads


def test_a_song_that_is_gone_stays_a_listen_and_a_new_name_is_followed(store, play_log):
    gone, named = put(store, "Ann - One", "Bbo - Two")
    play_log.record_all([(gone, NOON), (named, NOON + 200)])
    play_log.update_history()
    store.songs.remove([gone])
    with store.writing() as connection:
        store.songs.touch(connection, named, 10, 30, Tags("Bob", "Two"))
    assert play_log.pending() == 0
    assert play_log.update_history()
    _, tracks = store.listens.names()
    assert {TrackName("Ann", "One"), TrackName("Bob", "Two")} <= set(tracks)
    assert gathered(store) == [("me", "One", NOON), ("me", "Two", NOON + 200)]
    assert Histories(store).song_plays() == {named: 1.0}


def test_what_is_forgotten_does_not_come_back(store, play_log):
    (song,) = put(store, "Ann - One")
    play_log.record(song, at=NOON)
    play_log.update_history()
    play_log.record(song, at=NOON + 100)
    play_log.clear()
    assert (play_log.count(), play_log.pending(), play_log.update_history()) == (0, 0, False)
    assert (store.listens.histories(), store.listens.names()[1]) == ([], [])


def test_to_remove_the_history_is_to_forget_the_plays(address, tmp_path):
    with Library.open(address) as library, store_of(library) as store:
        (song,) = put(store, "Ann - One")
        other = tmp_path / "other.csv"
        other.write_text("user,artist,plays\nann,Ann,3\n")
        library.import_listens(other)
        library.play_log.record(song)
        library.play_log.update_history()
        imported, own = library.listens()
        library.remove_listens(imported.id)
        assert library.play_log.count() == 1
        library.remove_listens(own.id)
        assert library.play_log.count() == 0
        assert not library.play_log.update_history()
        assert library.listens() == []


def test_plays_that_are_forgotten_while_they_are_gathered_stay_forgotten(store, play_log, monkeypatch):
    (song,) = put(store, "Ann - One")
    play_log.record(song)
    begin = store.listens.begin

    def begin_late(*facts):
        writer = begin(*facts)
        play_log.clear()
        return writer

    monkeypatch.setattr(store.listens, "begin", begin_late)
    assert not play_log.update_history()
    assert (play_log.count(), store.listens.histories()) == (0, [])


@pytest.mark.parametrize("meanwhile", ["before it is begun", "after it is begun", "before it is finished"])
def test_whenever_plays_are_forgotten_only_what_came_later_is_gathered(store, play_log, monkeypatch, meanwhile):
    old, new = put(store, "Ann - One", "Bob - Two")
    play_log.record(old, at=NOON)
    once = iter([True])

    def forget() -> None:
        if next(once, False):
            play_log.clear()
            play_log.record(new, at=NOON + 100)

    begin = store.listens.begin

    def begun(*facts):
        if meanwhile == "before it is begun":
            forget()
        writer = begin(*facts)
        finish = writer.finish
        if meanwhile == "after it is begun":
            forget()
        if meanwhile == "before it is finished":
            monkeypatch.setattr(writer, "finish", lambda **how: (forget(), finish(**how))[1])
        return writer

    monkeypatch.setattr(store.listens, "begin", begun)
    assert play_log.update_history()
    assert gathered(store) == [("me", "Two", NOON + 100)]
    assert play_log.pending() == 0


def test_a_gathering_that_succeeds_unheard_loses_no_play(store, play_log, monkeypatch):
    (song,) = put(store, "Ann - One")
    play_log.record(song, at=NOON)

    finish = HistoryWriter.finish

    def unheard(writer, **how):
        finish(writer, **how)
        raise LibraryError("the database went away while it wrote the last line")

    monkeypatch.setattr(HistoryWriter, "finish", unheard)
    with pytest.raises(LibraryError, match="went away"):
        play_log.update_history()
    monkeypatch.undo()
    assert play_log.count() == 1
    assert gathered(store) == [("me", "One", NOON)]


def test_plays_that_are_gathered_while_a_training_reads_are_not_lost_to_it(store, play_log):
    first, second = put(store, "Ann - One", "Bob - Two")
    play_log.record(first, at=NOON)
    play_log.update_history()
    histories = Histories(store)
    play_log.record(second, at=NOON + 100)
    assert play_log.update_history()  # as the service does from time to time
    assert histories.song_plays() == {first: 1.0}
    assert Histories(store).song_plays() == {first: 1.0, second: 1.0}


def test_what_was_played_here_and_reported_to_another_service_too_counts_once(store, tmp_path):
    songs = put(store, "Ann - One", "Bob - Two")
    PlayLog(store).record_all([(songs[0], NOON), (songs[1], NOON + 300)], "anna")
    PlayLog(store).update_history()
    elsewhere = tmp_path / "elsewhere.csv"
    rows = [f"Ann,One,{NOON + 40}", f"Bob,Two,{NOON + 270}", f"Bob,Two,{NOON + 900}"]
    elsewhere.write_text("\n".join(["artist,track,timestamp", *rows]))
    import_listens(store, [elsewhere], user="anna")
    assert Histories(store).song_plays() == {songs[0]: 1.0, songs[1]: 2.0}
    import_listens(store, [elsewhere], user="ben")  # another person's are others
    assert Histories(store).song_plays() == {songs[0]: 2.0, songs[1]: 4.0}


def test_of_two_who_gather_at_once_one_history_stays(store, play_log, monkeypatch):
    first, second = put(store, "Ann - One", "Bob - Two")
    play_log.record(first, at=NOON)
    begin = store.listens.begin

    def overtaken(*facts):
        monkeypatch.setattr(store.listens, "begin", begin)
        play_log.record(second, at=NOON + 100)
        assert play_log.update_history()
        return begin(*facts)

    monkeypatch.setattr(store.listens, "begin", overtaken)
    assert play_log.update_history()
    assert len(store.listens.histories()) == 1
    assert play_log.pending() == 1  # the one who was overtaken knew less; that is seen, and mended
    assert play_log.update_history()
    assert len(store.listens.histories()) == 1
    assert gathered(store) == [("me", "One", NOON), ("me", "Two", NOON + 100)]


def test_a_gathering_that_fails_leaves_what_was_there(store, play_log, monkeypatch):
    (song,) = put(store, "Ann - One")
    play_log.record(song, at=NOON)
    play_log.update_history()
    before = store.listens.histories()
    play_log.record(song, at=NOON + 100)

    def full(*_facts):
        raise LibraryError("the disk is full")

    monkeypatch.setattr("nearsong.library.store.listens.HistoryWriter.add", full)
    with pytest.raises(LibraryError, match="the disk is full"):
        play_log.update_history()
    monkeypatch.undo()
    assert store.listens.histories() == before
    assert play_log.update_history()


def test_many_who_note_and_gather_at_once_lose_nothing(address):
    with Library.open(address) as library, store_of(library) as store:
        songs = put(store, *(f"Band {n} - Song {n}" for n in range(4)))

        def work(listener: str) -> None:
            with Library.open(address) as mine:  # as another process would
                for n in range(12):
                    mine.play_log.record(songs[n % 4], listener, NOON + 100 * n)
                    if n % 4 == 3:
                        mine.play_log.update_history()

        in_threads(work, (f"listener {n}" for n in range(3)))
        library.play_log.update_history()
        assert library.play_log.pending() == 0
        assert len(library.listens()) == 1
        collected = gathered(store)
        assert sorted(collected) == sorted(
            (f"listener {who}", f"Song {n % 4}", NOON + 100 * n) for who in range(3) for n in range(12)
        )
