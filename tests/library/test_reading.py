"""Facts that are read without SQLAlchemy are those of the complete library."""

import json
import shutil
import sqlite3
from contextlib import closing

import pytest

from library_store import mark_missing, put_file, store_of
from nearsong.errors import DatabaseError, LibraryError, NearsongError, NoSuchSongError, UnclearSongError
from nearsong.library import Filters, Library, LibraryReader
from nearsong.library.listeners.matches import stored
from nearsong.library.models.lifecycle import add_model
from nearsong.library.neighbours import name_forms
from nearsong.library.store.light import file as light_file
from nearsong.library.store.light.file import FORMAT as LIGHT_FORMAT
from nearsong.library.store.light.file import LightFile
from nearsong.library.store.light.store import LightStore, open_to_read
from nearsong.library.store.schema import FORMAT
from planted_library import write_library


@pytest.fixture
def file(tmp_path):
    """Return a library with missing songs, a broken file, two folders and two histories of the same listener."""
    path = write_library(tmp_path / "library.sqlite")
    for name, hours in (("a", range(5)), ("b", range(3, 9))):
        rows = "".join(f"2024-01-01T0{hour}:00:00Z,Jazz Band 1,Tune {hour % 4}\n" for hour in hours)
        (tmp_path / f"{name}.csv").write_text(f"timestamp,artist,title\n{rows}")
    with Library.open(path) as library:
        mark_missing(library, [library.songs()[3].id])
        library.import_listens(tmp_path / "a.csv", tmp_path / "b.csv", user="anna")
        with store_of(library) as store:
            put_file(store, "/music/Bj\udcf6rk.mp3", problem="damaged")
    return path


def test_the_light_reader_knows_the_format_of_the_tables():
    assert LIGHT_FORMAT == FORMAT, "the tables changed: write their format in library/store/light/file.py"


def test_facts_are_those_of_the_complete_library(file):
    with Library.open(file, create=False) as library, LibraryReader.open(file) as reader:
        assert isinstance(open_to_read(file), LightStore)
        assert reader.status() == library.status()
        assert reader.status().listens == 9  # two hours are in both histories
        assert reader.models() == library.models()
        assert reader.active_model == library.active_model
        assert reader.has_listens()
        assert reader.unreadable() == library.unreadable() != []
        assert reader.set_aside() == library.set_aside()


def test_how_much_of_each_history_is_found_is_what_the_complete_library_kept(file):
    assert matches_of(file) is None
    with Library.open(file, create=False) as library:
        complete, report = library.match_list()
        reports = library.history_matches()
        assert complete.histories == tuple(library.history_list())
        assert complete.shares == {history: of.share for history, of in reports.items()}
        assert complete.report == report == library.match_report()
    assert len(complete.histories) == 2
    assert matches_of(file) == complete


def test_an_import_keeps_how_much_of_each_history_is_found(file, tmp_path):
    with Library.open(file, create=False) as library:
        (third,) = import_plays(library, tmp_path, "carl,Jazz Band 2,Tune 1\ncarl,Nobody,Nothing\n")
        complete, report = library.match_list([third.source])
        assert report == library.match_report([third.source]) != complete.report
        assert report.share == complete.shares[third.source] == 0.5
    assert matches_of(file) == complete


CHANGES = {
    "import": lambda library, folder: import_plays(library, folder, "dora,Jazz Band 1,Tune 1\n"),
    "removal": lambda library, folder: library.remove_listens(1),
    "play": lambda library, folder: library.play_log.record(1, listener="dora"),
    "heart": lambda library, folder: library.reactions.heart([1], listener="dora"),
    "song": lambda library, folder: mark_missing(library, [library.songs()[0].id]),
    "other nearsong": lambda library, folder: write_stored(library, lambda text: text.replace('["', '["0.0.1 ', 1)),
    "other records": lambda library, folder: write_stored(library, lambda text: text.replace('"shares"', '"parts"')),
    "no JSON": lambda library, folder: write_stored(library, lambda text: text[:-9]),
}
"""What makes a kept list untrue."""


@pytest.mark.parametrize("change", CHANGES)
def test_how_much_is_found_is_computed_again_after_each_change(file, tmp_path, change):
    with Library.open(file, create=False) as library:
        before, _ = library.match_list()
        assert matches_of(file) == before
        CHANGES[change](library, tmp_path)
        assert matches_of(file) is None
        after, _ = library.match_list()
        assert matches_of(file) == after
        assert (after == before) == (change in ("other nearsong", "other records", "no JSON"))


def test_a_scan_that_finds_a_change_keeps_how_much_is_found(trained, tmp_path, styled_music):
    trained.match_list()
    shutil.copytree(styled_music, tmp_path / "music")
    trained.scan(tmp_path / "music", workers=1)
    kept = matches_of(tmp_path / "library.sqlite")
    assert kept is not None
    assert kept == trained.match_list()[0]


def test_a_library_that_cannot_be_written_to_says_how_much_is_found_and_keeps_nothing(file, monkeypatch):
    monkeypatch.setattr(stored, "MAX_WAIT_SECONDS", 0.01)
    with closing(sqlite3.connect(file, isolation_level=None)) as other, Library.open(file, create=False) as library:
        other.execute("BEGIN IMMEDIATE")
        matches, _ = library.match_list()
        assert matches.report == library.match_report()
        assert matches_of(file) is None


def matches_of(file):
    """Return what the light reader shows of all histories."""
    with LibraryReader.open(file) as reader:
        assert isinstance(open_to_read(file), LightStore)
        return reader.match_list()


def import_plays(library, folder, rows):
    (folder / "plays.csv").write_text(f"user,artist,title\n{rows}")
    return library.import_listens(folder / "plays.csv")


def write_stored(library, change):
    with store_of(library) as store, store.writing() as connection:
        store.models.set(connection, stored.MATCHES, change(store.models.setting(stored.MATCHES)))


@pytest.mark.parametrize("filters", [Filters(), Filters(one_per_artist=True)])
@pytest.mark.parametrize("n_seeds", [1, 3])
def test_similar_songs_are_those_of_the_complete_library(file, filters, n_seeds):
    with Library.open(file, create=False) as library, LibraryReader.open(file) as reader:
        seeds = [song.id for song in library.songs()[:n_seeds]]
        found = reader.similar(seeds, 7, filters)
        assert found is not None
        assert found.neighbours == library.similar(*seeds, n=7, filters=filters)
        assert [seed.song for seed in found.seeds] == library.songs()[:n_seeds]
        assert found.kind == "native"


def test_what_needs_the_whole_library_is_left_to_it(file):
    with LibraryReader.open(file) as reader:
        assert reader.similar([10**9], 5, Filters()) is None
        assert reader.similar([1], 5, Filters(genres=("jazz",))) is None


TEXTS = (
    *("1", " 2 ", "003", "5", "7", "99999", "/Jazz Band 1 - Tune 2.mp3", "Metal Band 0 - Tune 1.mp3", "none.mp3"),
    *("Jazz Band 1 - Tune 2", "jaz band 1 tune 2", "Tune 2 - Jazz Band 1", "Jazz Band 1", "Album 3", "Tune", "xqzwv"),
    *("", " ", "~", "-", "Bj\udcf6rk", "\0", "Folk Band 4 Tune", "x" * 200, "9" * 30, "²"),
)
"""Ids, paths and names, clear and unclear; song 4 is missing."""


def outcome(look, text):
    """Return what a function finds by a text, or the kind and the words of its error."""
    try:
        return look(text)
    except NearsongError as error:
        return type(error), str(error), getattr(error, "suggestions", None)


@pytest.mark.parametrize("is_kept", [False, True])
def test_a_text_names_what_it_names_in_the_complete_library(file, tmp_path, monkeypatch, is_kept):
    monkeypatch.chdir(tmp_path)
    if is_kept:
        keep_forms(file, monkeypatch)
    for name in ("4", "7"):  # files in the folder: only an id of a song that can be compared goes before them
        (tmp_path / name).write_bytes(b"no music")
    with Library.open(file, create=False) as library, LibraryReader.open(file) as reader:
        snapshot = library.snapshot()
        for text in TEXTS:
            assert outcome(reader.song, text) == outcome(lambda one: snapshot.seed(one).song.id, text), text
            light, complete = (
                outcome(lambda one, look=look: name_and_ids(snapshot.seeds(look(one))), text)
                for look in (reader.seeds, str)
            )
            assert light == complete, text
        assert reader.song("4") == reader.seeds("4") == "4"


def keep_forms(file, monkeypatch):
    """Look for what is not there, so that the forms in which names are compared are kept in the library."""
    monkeypatch.setattr(name_forms, "MIN_STORED", 1)
    assert forms_of(file) is None
    with LibraryReader.open(file) as reader, pytest.raises(UnclearSongError):
        reader.song("xqzwv")
    assert forms_of(file) is not None


def forms_of(file):
    with closing(open_to_read(file)) as store:
        return name_forms.stored_forms(store, store.models.active)


def write_forms(library, change):
    with store_of(library) as store, store.writing() as connection:
        store.models.set(connection, name_forms.FORMS, change(store.models.setting(name_forms.FORMS)))


def use_another_model(library):
    with store_of(library) as store:
        (native,) = store.models.rows()
        add_model(store, library.load_model(), native.encoder_ids, "learned", {})


FORM_CHANGES = {
    "song": lambda library: mark_missing(library, [library.songs()[0].id]),
    "model": lambda library: use_another_model(library),
    "other nearsong": lambda library: write_forms(library, lambda text: text.replace('["', '["0.0.1 ', 1)),
    "no JSON": lambda library: write_forms(library, lambda text: text[:-9]),
    "a column less": lambda library: write_forms(library, lambda text: json.dumps(json.loads(text)[:-1])),
    "a row less": lambda library: write_forms(library, lambda text: text.replace("1\\n", "", 1)),
    "no numbers": lambda library: write_forms(library, lambda text: text.replace(' "1\\n', ' "one\\n', 1)),
}


@pytest.mark.parametrize("change", FORM_CHANGES)
def test_forms_of_names_are_made_again_after_each_change(file, monkeypatch, change):
    keep_forms(file, monkeypatch)
    with Library.open(file, create=False) as library:
        FORM_CHANGES[change](library)
        names = [song.name for song in library.snapshot(now=True).space.songs]
        assert forms_of(file) is None
        with LibraryReader.open(file) as reader:
            assert [reader.song(name) for name in names] == [song.id for song in library.songs()]
            assert outcome(reader.song, "Jaz Bnd 1") == outcome(library.find, "Jaz Bnd 1")
    assert len(forms_of(file).ids) == len(names)


def test_forms_of_names_that_were_read_before_a_change_are_not_used_after_it(file, monkeypatch):
    monkeypatch.setattr(name_forms, "MIN_STORED", 1)
    with Library.open(file, create=False) as library, LibraryReader.open(file) as reader:
        gone = library.songs()[0]
        assert reader.song(gone.name) == gone.id
        mark_missing(library, [gone.id])
        with pytest.raises(UnclearSongError):
            reader.song("xqzwv")
    assert forms_of(file) is None


def test_forms_of_few_names_and_in_a_library_that_cannot_be_written_to_are_not_kept(file, monkeypatch):
    with LibraryReader.open(file) as reader, pytest.raises(UnclearSongError):
        reader.song("xqzwv")
    assert forms_of(file) is None
    monkeypatch.setattr(name_forms, "MIN_STORED", 1)
    monkeypatch.setattr(light_file, "KEEP_SECONDS", 0)
    with closing(sqlite3.connect(file, isolation_level=None)) as other, LibraryReader.open(file) as reader:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(UnclearSongError, match="no match for 'xqzwv'"):
            reader.song("xqzwv")
    assert forms_of(file) is None


def name_and_ids(seeds):
    name, group = seeds
    return name, [seed.song.id for seed in group]


def test_names_are_looked_up_as_ids_paths_and_names_of_songs_artists_and_albums_in_this_order(file):
    with LibraryReader.open(file) as reader:
        assert reader.song("003") == 3
        assert reader.song("/Jazz Band 1 - Tune 2.mp3") == reader.song("jazz band 1 tune 2") == 7
        assert reader.seeds("Jazz Band 1").ids == (5, 6, 7, 8)
        assert len(reader.seeds("Album 3").ids) == 16  # of four artists
        with pytest.raises(UnclearSongError, match="4 songs match 'Jazz Band 1'"):
            reader.song("Jazz Band 1")
        with pytest.raises(NoSuchSongError, match="the file of song 4 is missing"):
            reader.song("4")


def test_a_library_without_songs_to_compare_leaves_texts_to_the_complete_one(tmp_path):
    Library.open(tmp_path / "library.sqlite").close()
    with LibraryReader.open(tmp_path) as reader:
        assert reader.song("17") == reader.seeds("17") == "17"


def test_ids_of_models_and_histories_and_names_of_listeners_are_those_of_the_complete_library(file):
    with Library.open(file, create=False) as library, LibraryReader.open(file) as reader:
        library.accounts.add("Bertha")
        library.reactions.skip(1, listener="carl")
        library.play_log.record(1, listener="dora")
        for name in ("anna", "ANNA", "bertha", "carl", "dora", "me", "ana", "nobody", ""):
            assert outcome(reader.find_listener, name) == outcome(library.accounts.find, name)
        with store_of(library) as store:
            assert LightStore(LightFile(str(file))).listener_rows.names() == store.listener_rows.names()
        assert outcome(reader.check_models, 1) is None
        assert outcome(reader.check_models, 99) == outcome(library.use_model, 99)
        assert outcome(reader.check_models, 99)[0] is LibraryError
        assert outcome(lambda one: reader.check_histories(1, one), 99) == outcome(library.remove_listens, 99)


def test_a_file_that_cannot_be_read_has_the_error_of_the_complete_library(file, tmp_path):
    other = tmp_path / "other.sqlite"
    with closing(sqlite3.connect(other)) as connection:
        connection.execute("CREATE TABLE mine (a)")
    (tmp_path / "text.sqlite").write_text("no database at all, but a text\n" * 99)
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("UPDATE settings SET value = '1-old' WHERE name = 'schema'")
    for path in (other, tmp_path / "text.sqlite", file, tmp_path / "none.sqlite"):
        with pytest.raises((LibraryError, DatabaseError)) as complete:
            Library.open(path, create=False)
        with pytest.raises((LibraryError, DatabaseError)) as light:
            LibraryReader.open(path)
        assert str(light.value) == str(complete.value)
