"""Plays are gathered into one history: whenever that is, nothing is lost, and what was forgotten stays so."""

import threading

import pytest

from nearsong.errors import LibraryError
from nearsong.library import Library
from nearsong.library.importing import import_listens
from nearsong.library.learning import Histories
from nearsong.library.played import Played
from nearsong.library.records import Heard, Tags
from nearsong.library.store import SourceWriter
from plays_told import NOON, gathered, put


def test_a_song_that_is_gone_stays_a_listen_and_a_new_name_is_followed(store):
    gone, named = put(store, "Ann - One", "Bbo - Two")
    played = Played(store)
    played.note_all([(gone, NOON), (named, NOON + 200)])
    played.gather()
    store.songs.remove([gone])
    with store.writing() as connection:
        store.songs.touch(connection, named, 10, 30, Tags("Bob", "Two"))
    assert played.waiting() == 0
    assert played.gather()
    _, heard = store.listens.names()
    assert {Heard("Ann", "One"), Heard("Bob", "Two")} <= set(heard)
    assert gathered(store) == [("me", "One", NOON), ("me", "Two", NOON + 200)]
    assert Histories(store).song_plays() == {named: 1.0}


def test_what_is_forgotten_does_not_come_back(store):
    (song,) = put(store, "Ann - One")
    played = Played(store)
    played.note(song, at=NOON)
    played.gather()
    played.note(song, at=NOON + 100)
    played.forget()
    assert (played.count(), played.waiting(), played.gather()) == (0, 0, False)
    assert (store.listens.sources(), store.listens.names()[1]) == ([], [])


def test_to_remove_the_history_is_to_forget_the_plays(place, tmp_path):
    with Library.open(place) as library:
        (song,) = put(library._store, "Ann - One")
        other = tmp_path / "other.csv"
        other.write_text("user,artist,plays\nann,Ann,3\n")
        import_listens(library._store, [other])
        library.played.note(song)
        library.played.gather()
        imported, own = library.listens()
        library.remove_listens(imported.id)
        assert library.played.count() == 1
        library.remove_listens(own.id)
        assert library.played.count() == 0
        assert not library.played.gather()
        assert library.listens() == []


def test_plays_that_are_forgotten_while_they_are_gathered_stay_forgotten(store, monkeypatch):
    (song,) = put(store, "Ann - One")
    played = Played(store)
    played.note(song)
    begin = store.listens.begin

    def begin_late(*facts):
        writer = begin(*facts)
        played.forget()
        return writer

    monkeypatch.setattr(store.listens, "begin", begin_late)
    assert not played.gather()
    assert (played.count(), store.listens.sources()) == (0, [])


@pytest.mark.parametrize("meanwhile", ["before it is begun", "after it is begun", "before it is finished"])
def test_whenever_plays_are_forgotten_only_what_came_later_is_gathered(store, monkeypatch, meanwhile):
    old, new = put(store, "Ann - One", "Bob - Two")
    played = Played(store)
    played.note(old, at=NOON)
    once = iter([True])

    def forget() -> None:
        if next(once, False):
            played.forget()
            played.note(new, at=NOON + 100)

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
    assert played.gather()
    assert gathered(store) == [("me", "Two", NOON + 100)]
    assert played.waiting() == 0


def test_a_gathering_that_succeeds_unheard_loses_no_play(store, monkeypatch):
    (song,) = put(store, "Ann - One")
    played = Played(store)
    played.note(song, at=NOON)

    finish = SourceWriter.finish

    def unheard(writer, **how):
        finish(writer, **how)
        raise LibraryError("the database went away while it wrote the last line")

    monkeypatch.setattr(SourceWriter, "finish", unheard)
    with pytest.raises(LibraryError, match="went away"):
        played.gather()
    monkeypatch.undo()
    assert played.count() == 1
    assert gathered(store) == [("me", "One", NOON)]


def test_plays_that_are_gathered_while_a_training_reads_are_not_lost_to_it(store):
    first, second = put(store, "Ann - One", "Bob - Two")
    played = Played(store)
    played.note(first, at=NOON)
    played.gather()
    histories = Histories(store)
    played.note(second, at=NOON + 100)
    assert played.gather()  # as the service does from time to time
    assert histories.song_plays() == {first: 1.0}
    assert Histories(store).song_plays() == {first: 1.0, second: 1.0}


def test_what_was_played_here_and_told_to_another_service_too_counts_once(store, tmp_path):
    songs = put(store, "Ann - One", "Bob - Two")
    Played(store).note_all([(songs[0], NOON), (songs[1], NOON + 300)], "anna")
    Played(store).gather()
    elsewhere = tmp_path / "elsewhere.csv"
    rows = [f"Ann,One,{NOON + 40}", f"Bob,Two,{NOON + 270}", f"Bob,Two,{NOON + 900}"]
    elsewhere.write_text("\n".join(["artist,track,timestamp", *rows]))
    import_listens(store, [elsewhere], user="anna")
    assert Histories(store).song_plays() == {songs[0]: 1.0, songs[1]: 2.0}
    import_listens(store, [elsewhere], user="ben")  # another person's are others
    assert Histories(store).song_plays() == {songs[0]: 2.0, songs[1]: 4.0}


def test_of_two_who_gather_at_once_one_history_stays(store, monkeypatch):
    first, second = put(store, "Ann - One", "Bob - Two")
    played = Played(store)
    played.note(first, at=NOON)
    begin = store.listens.begin

    def overtaken(*facts):
        monkeypatch.setattr(store.listens, "begin", begin)
        played.note(second, at=NOON + 100)
        assert played.gather()
        return begin(*facts)

    monkeypatch.setattr(store.listens, "begin", overtaken)
    assert played.gather()
    assert len(store.listens.sources()) == 1
    assert played.waiting() == 1  # the one who was overtaken knew less; that is seen, and mended
    assert played.gather()
    assert len(store.listens.sources()) == 1
    assert gathered(store) == [("me", "One", NOON), ("me", "Two", NOON + 100)]


def test_a_gathering_that_fails_leaves_what_was_there(store, monkeypatch):
    (song,) = put(store, "Ann - One")
    played = Played(store)
    played.note(song, at=NOON)
    played.gather()
    before = store.listens.sources()
    played.note(song, at=NOON + 100)

    def full(*_facts):
        raise LibraryError("the disk is full")

    monkeypatch.setattr("nearsong.library.store.listens.SourceWriter.add", full)
    with pytest.raises(LibraryError, match="the disk is full"):
        played.gather()
    monkeypatch.undo()
    assert store.listens.sources() == before
    assert played.gather()


def test_many_who_note_and_gather_at_once_lose_nothing(place):
    with Library.open(place) as library:
        songs = put(library._store, *(f"Band {n} - Song {n}" for n in range(4)))
        wrong: list[BaseException] = []

        def work(listener: str) -> None:
            try:
                with Library.open(place) as mine:  # as another process would
                    for n in range(12):
                        mine.played.note(songs[n % 4], listener, NOON + 100 * n)
                        if n % 4 == 3:
                            mine.played.gather()
            except BaseException as error:
                wrong.append(error)

        workers = [threading.Thread(target=work, args=(f"listener {n}",)) for n in range(3)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        assert not wrong
        library.played.gather()
        assert library.played.waiting() == 0
        assert len(library.listens()) == 1
        told = gathered(library._store)
        assert sorted(told) == sorted(
            (f"listener {who}", f"Song {n % 4}", NOON + 100 * n) for who in range(3) for n in range(12)
        )
