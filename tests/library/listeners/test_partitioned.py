"""The parts of a table are one history; an interrupted import repeats the part that was being read, and no other."""

import json
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from nearsong.errors import LibraryError, ListensError
from nearsong.library.listeners.importing import import_listens, partitioned
from nearsong.library.store import Store
from nearsong.listens.partitions import find_histories

HEADER = "user,artist,title,plays"


def rows_of(part, n=3):
    return [f"u{part}-{row},Artist {row},Song {part},{row + 1}" for row in range(n)]


def write_table(folder, parts=4, n=3, name="part-{:05}-ab12.c000.csv", header=HEADER):
    folder.mkdir(parents=True, exist_ok=True)
    for part in range(parts):
        lines = [header, *rows_of(part, n)]
        (folder / name.format(part)).write_text("\n".join(lines) + "\n")
    return folder


def histories(store):
    return [(history.name.rpartition("/")[2], history.format, history.rows) for history in store.listens.histories()]


def listens_of(store):
    """Return all rows as (user, artist, title, plays), sorted."""
    ids, names = store.listens.names()
    name_of = dict(zip(ids.tolist(), names, strict=True))
    found = []
    for history in store.listens.histories():
        for columns in store.listens.columns(history.id):
            users = store.listens.user_names(columns.user)
            for user, name, plays in zip(columns.user.tolist(), columns.name.tolist(), columns.plays, strict=True):
                found.append((users[user], name_of[name].artist, name_of[name].title, float(plays)))
    return sorted(found)


def expected_rows(parts, n=3):
    split = [row.split(",") for part in parts for row in rows_of(part, n)]
    return sorted((user, artist, title, float(plays)) for user, artist, title, plays in split)


def test_part_files_of_a_folder_are_one_history(store, tmp_path):
    folder = write_table(tmp_path / "plays")
    (folder / "_SUCCESS").touch()
    (folder / ".part-00000.csv.crc").write_bytes(b"crc")
    (folder / "part-00009-empty.csv").touch()
    (folder / "part-00008-header.csv").write_text(HEADER + "\n")
    (file,) = import_listens(store, [folder])
    assert (file.state, file.format, file.kind, file.rows) == ("imported", "csv", "counts", 12)
    assert histories(store) == [("plays", "csv", 12)]
    assert listens_of(store) == expected_rows(range(4))
    assert sum(store.listens.totals().values()) == sum(plays for *_, plays in listens_of(store))
    assert store.listens.n_users() == 12


def test_parquet_parts_are_one_history(store, tmp_path):
    pyarrow = pytest.importorskip("pyarrow", reason="the extra `parquet` is not installed")
    from pyarrow import parquet

    folder = tmp_path / "plays"
    for part in range(3):
        inner = folder / f"year={2020 + part}"
        inner.mkdir(parents=True)
        columns = zip(*(row.split(",") for row in rows_of(part)), strict=True)
        user, artist, title, plays = map(list, columns)
        table = pyarrow.table({"user": user, "artist": artist, "title": title, "plays": [int(n) for n in plays]})
        parquet.write_table(table, inner / "data_0.parquet")
    (file,) = import_listens(store, [folder])
    assert (file.state, file.format, file.rows) == ("imported", "parquet", 9)
    assert listens_of(store) == expected_rows(range(3))


def test_json_parts_are_one_history(store, tmp_path):
    (tmp_path / "plays").mkdir()
    for part in range(2):
        record = {"user": f"u{part}", "artist": "A", "title": "T", "plays": part + 1}
        (tmp_path / "plays" / f"part-{part:05}.json").write_text(json.dumps(record) + "\n")
    import_listens(store, [tmp_path / "plays"])
    assert histories(store) == [("plays", "json", 2)]
    assert listens_of(store) == [("u0", "A", "T", 1), ("u1", "A", "T", 2)]


def test_a_folder_that_names_a_user_is_the_user_of_its_rows(store, tmp_path):
    folder = tmp_path / "plays"
    for user in ("ann", "Bj%C3%B6rk", "__HIVE_DEFAULT_PARTITION__"):
        inner = folder / f"user_id={user}" / "year=2020"
        inner.mkdir(parents=True)
        (inner / "data.csv").write_text("artist,title,plays\nA,B,2\n")
    import_listens(store, [folder])
    assert histories(store) == [("plays", "csv", 3)]
    assert [user for user, *_ in listens_of(store)] == ["Björk", "ann", "me"]
    with pytest.raises(ListensError, match="names users, so that its rows cannot all be of ben"):
        import_listens(store, [folder], user="ben")


def test_parts_without_users_may_be_of_one_person(store, tmp_path):
    folder = write_table(tmp_path / "plays", 2)
    with pytest.raises(ListensError, match="names users, so that its rows cannot all be of ann"):
        import_listens(store, [folder], user="ann")
    mine = tmp_path / "mine"
    mine.mkdir()
    for part in range(2):
        (mine / f"part-{part}.csv").write_text(f"artist,title,plays\nA,{part},2\n")
    import_listens(store, [mine], user="ann")
    assert {user for user, *_ in listens_of(store)} == {"ann"}


@pytest.mark.parametrize(
    "name", ["part-{:05}.csv", "part.{}.csv", "plays-{:05}-of-00004.csv", "year=20{:02}/plays.csv", "PART_{}.csv"]
)
def test_the_names_that_frameworks_give_are_recognised(tmp_path, name):
    for part in range(4):
        path = tmp_path / "plays" / name.format(part)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    (table,) = find_histories([tmp_path / "plays"])
    assert table.path == tmp_path / "plays"
    assert len(table.parts) == 4


def test_other_files_and_mixed_formats_stay_histories_of_their_own(tmp_path):
    for name in (
        "lastfm.csv",
        "part one.csv",
        "partition.csv",
        "in/part-1.csv",
        "in/part-2.parquet",
        "in/a=b/c.m3u8",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    assert {path.name for path in find_histories([tmp_path])} == {
        "lastfm.csv",
        "part one.csv",
        "partition.csv",
        "part-1.csv",
        "part-2.parquet",
        "c.m3u8",
    }


def test_given_one_by_one_they_are_a_table_only_if_they_are_all_of_its_folder(tmp_path, monkeypatch):
    folder = write_table(tmp_path / "plays", name="part-{}.csv")
    parts = sorted(folder.iterdir())
    (table,) = find_histories(parts)
    assert (table.path, list(table.parts)) == (folder, parts)
    assert find_histories(parts[:2]) == parts[:2]
    assert find_histories([tmp_path / "plays" / "part-*.csv"]) == [table]
    assert find_histories([tmp_path / "plays" / "part-[01].csv"]) == parts[:2]
    monkeypatch.chdir(tmp_path)
    assert [str(history.path) for history in find_histories([Path("plays/*")])] == ["plays"]
    with pytest.raises(ListensError, match=r"File not found: .*none\*\.csv"):
        find_histories([tmp_path / "none*.csv"])


def test_parts_with_other_columns_are_refused_and_leave_nothing(store, tmp_path):
    folder = write_table(tmp_path / "plays", 2)
    (folder / "part-00002.csv").write_text("user,artist,title,timestamp\nann,A,B,1577872800\n")
    with pytest.raises(ListensError, match=r"is csv with events, but .* is csv with counts; parts of one table"):
        import_listens(store, [folder])
    assert histories(store) == []


def test_a_damaged_part_ends_the_import_and_leaves_nothing(store, tmp_path):
    folder = write_table(tmp_path / "plays", 2, 1_500)
    (folder / "part-00002.csv").write_text(HEADER + "\n" + "a,b,c,many\n" * 1_200)
    with pytest.raises(ListensError, match=r"part-00002\.csv: 1000 of the first 1000 rows are invalid"):
        import_listens(store, [folder])
    assert histories(store) == []
    assert store.listens.names()[1] == []


def test_a_table_that_grew_replaces_the_history_and_those_of_its_parts(store, tmp_path):
    folder = write_table(tmp_path / "plays", 2)
    first = next(folder.iterdir())
    import_listens(store, [first])
    assert [file.state for file in import_listens(store, [folder])] == ["replaced"]
    assert [file.state for file in import_listens(store, [folder])] == ["known"]
    write_table(folder, 3)
    assert [file.state for file in import_listens(store, [folder])] == ["replaced"]
    assert histories(store) == [("plays", "csv", 9)]
    assert listens_of(store) == expected_rows(range(3))


class EndedError(Exception):
    pass


@pytest.fixture
def read_parts(monkeypatch):
    """The parts that are read, in their order; a part whose name is in ``fatal`` ends the import after its rows."""
    write_blocks, read = partitioned.write_blocks, []
    read_parts = type("ReadParts", (), {"names": read, "fatal": set()})()

    def write(writer, part, *arguments):
        read.append(part.path.name[:10])
        rows = write_blocks(writer, part, *arguments)
        if part.path.name[:10] in read_parts.fatal:
            raise EndedError
        return rows

    monkeypatch.setattr(partitioned, "write_blocks", write)
    return read_parts


def test_an_interrupted_import_repeats_only_the_part_it_was_reading(store, tmp_path, read_parts):
    folder = write_table(tmp_path / "plays")
    for fatal in ("part-00001", "part-00003"):
        read_parts.fatal = {fatal}
        with pytest.raises(EndedError):
            import_listens(store, [folder])
        assert histories(store) == []  # what is not finished is not shown
        store.listens.sweep()  # nor removed
    read_parts.fatal = set()
    (file,) = import_listens(store, [folder])
    assert file.rows == 12
    assert read_parts.names == [f"part-0000{part}" for part in (0, 1, 1, 2, 3, 3)]
    assert listens_of(store) == expected_rows(range(4))
    assert store.listens.n_users() == 12
    totals = {name: plays for name, plays in store.listens.totals().items() if plays}
    assert sum(totals.values()) == sum(plays for *_, plays in expected_rows(range(4)))


def test_a_table_that_changed_after_an_interruption_is_read_from_its_first_part(store, tmp_path, read_parts):
    folder = write_table(tmp_path / "plays", 3)
    read_parts.fatal = {"part-00002"}
    with pytest.raises(EndedError):
        import_listens(store, [folder])
    read_parts.fatal, read_parts.names[:] = set(), []
    write_table(folder, 2, 4)
    import_listens(store, [folder])
    assert read_parts.names == [f"part-0000{part}" for part in range(3)]
    assert histories(store) == [("plays", "csv", 11)]
    assert listens_of(store) == sorted(expected_rows(range(2), 4) + expected_rows([2]))


def test_an_import_that_another_one_continues_ends(store, tmp_path, read_parts, monkeypatch):
    folder = write_table(tmp_path / "plays")
    write, is_inner = partitioned.write_blocks, []

    def write_after_another(writer, part, *arguments):
        if part.path.name.startswith("part-00002") and not is_inner:
            is_inner.append(True)
            import_listens(store, [folder])
        return write(writer, part, *arguments)

    monkeypatch.setattr(partitioned, "write_blocks", write_after_another)
    with pytest.raises(LibraryError, match="removed as unfinished, or another one continues it"):
        import_listens(store, [folder])
    assert histories(store) == [("plays", "csv", 12)]
    assert listens_of(store) == expected_rows(range(4))


def test_what_nobody_continues_is_removed_after_a_week(store, tmp_path, read_parts, monkeypatch):
    folder = write_table(tmp_path / "plays")
    read_parts.fatal = {"part-00002"}
    with pytest.raises(EndedError):
        import_listens(store, [folder])
    from nearsong.library.store import listens

    now = listens.time.time()
    monkeypatch.setattr(listens.time, "time", lambda: now + 8 * 24 * 3600)
    store.listens.sweep()
    monkeypatch.undo()
    assert store.listens.names()[1] == []


KILLED = """
import os, signal, sys
from nearsong.library.listeners.importing import partitioned
from nearsong.library import Library

write = partitioned.write_blocks

def write_and_die(writer, part, *arguments):
    add = writer.add
    def add_and_die(block):
        add(block)
        os.kill(os.getpid(), signal.SIGKILL)
    if part.path.name.startswith("part-00002"):
        writer.add = add_and_die
    return write(writer, part, *arguments)

partitioned.write_blocks = write_and_die
with Library.open(sys.argv[1]) as library:
    library.import_listens(sys.argv[2])
"""


def test_a_killed_import_is_continued_by_the_next_process(tmp_path, read_parts):
    folder, address = write_table(tmp_path / "plays"), tmp_path / "library.sqlite"
    command = [sys.executable, "-c", KILLED, str(address), str(folder)]
    assert subprocess.run(command, stderr=subprocess.PIPE).returncode == -9
    with closing(sqlite3.connect(address)) as connection:
        assert connection.execute("SELECT count(*) FROM listen_blocks").fetchone() == (3,)  # of two parts and a half
    with closing(Store(address)) as store:
        import_listens(store, [folder])
        assert read_parts.names == ["part-00002", "part-00003"]
        assert histories(store) == [("plays", "csv", 12)]
        assert listens_of(store) == expected_rows(range(4))


def test_blocks_beyond_one_for_each_part_are_counted(store, tmp_path, read_parts, monkeypatch):
    monkeypatch.setattr("nearsong.listens.blocks.BLOCK_ROWS", 2_000)
    folder = write_table(tmp_path / "plays", 3, 5_000)
    read_parts.fatal = {"part-00001"}
    with pytest.raises(EndedError):
        import_listens(store, [folder])
    read_parts.fatal = set()
    assert [file.rows for file in import_listens(store, [folder])] == [15_000]
    assert np.isclose(sum(store.listens.totals().values()), 3 * 5_000 * 5_001 / 2)
