"""Parquet tables."""

import builtins
from datetime import UTC, date, datetime

import pytest

from nearsong.errors import ListensError
from nearsong.listens import open_listens
from nearsong.listens import parquet as parquet_module
from nearsong.listens.sources import SourceFile

pa = pytest.importorskip("pyarrow", reason="the extra nearsong[parquet] is not installed")
pq = pytest.importorskip("pyarrow.parquet", reason="the extra nearsong[parquet] is not installed")

MBID = "b10bbbfc-cf9e-42e0-be17-e2c3e1d2600d"
MOMENT = 1675168440


@pytest.fixture
def parquet(tmp_path):
    def parquet(**columns):
        path = tmp_path / "plays.parquet"
        pq.write_table(pa.table(columns), path)
        return path

    return parquet


def test_counts(parquet, listens):
    path = parquet(user_id=[7, 8], artist=["Björk", "Múm"], play_count=[3, 4], ignored=[{"a": 1}, None])
    assert (open_listens(path).format, open_listens(path).kind) == ("parquet", "counts")
    assert listens(path) == [("7", "Björk", "", 3, 0), ("8", "Múm", "", 4, 0)]


@pytest.mark.parametrize(
    "times",
    [
        [datetime.fromtimestamp(MOMENT, UTC)],
        [datetime.fromtimestamp(MOMENT, UTC).replace(tzinfo=None)],
        [MOMENT],
        [MOMENT * 1000],
        ["2023-01-31T12:34:00Z"],
    ],
)
def test_times_of_any_type(parquet, listens, times):
    path = parquet(user=["ann"], artist=["Björk"], title=["Jóga"], timestamp=times)
    assert open_listens(path).kind == "events"
    assert listens(path) == [("ann", "Björk", "Jóga", 1, MOMENT)]


def test_days(parquet, listens):
    assert listens(parquet(artist=["A"], date=[date(2023, 1, 31)])) == [("me", "A", "", 1, MOMENT - MOMENT % 86400)]


def test_several_mbids_dictionaries_and_bytes(parquet):
    path = parquet(
        artist_name=pa.array(["Björk", "Björk"]).dictionary_encode(),
        recording_name=[b"J\xc3\xb3ga", b"x"],
        artist_credit_mbids=[[MBID, "x"], None],
        listened_at=[MOMENT, None],
    )
    (block,) = open_listens(path).blocks()
    assert [(track.title, track.artist_mbid) for track in block.tracks] == [("Jóga", MBID), ("x", "")]
    assert block.time.tolist() == [MOMENT, 0]


def test_text_that_is_not_utf8_is_read_as_far_as_it_can_be(parquet, listens):
    broken = pa.array([None, b"Bj\xf6rk", b"M\xc3\xbam"], pa.binary())
    artists = pa.Array.from_buffers(pa.string(), 3, broken.buffers(), 1)
    path = parquet(user=["ann", "bob", "cem"], artist=artists, plays=[1, 2, 3])
    assert [row[1] for row in listens(path)] == ["Bj\ufffdrk", "Múm"]


def test_a_name_repeated_many_times_is_in_memory_once(parquet):
    long = "x" * 10_000
    (block,) = open_listens(parquet(user=["ann", "bob"] * 50, artist=[long] * 100)).blocks()
    assert [track.artist for track in block.tracks] == [long]
    with parquet_module._opened(SourceFile(parquet(artist=[long] * 100)), ["artist"]) as table:
        (rows,) = table.iter_batches()
    assert rows.nbytes < 20 * len(long)


def test_values_that_python_has_no_dates_for_are_refused_in_one_line(parquet):
    path = parquet(user=["ann"], artist=["A"], plays=pa.array([2**62 + 1], pa.duration("ns")))
    with pytest.raises(ListensError, match=r"its column for plays is of type duration\[ns\].*store text or numbers"):
        list(open_listens(path).blocks())


def test_columns_of_one_name_are_refused_in_one_line(tmp_path):
    path = tmp_path / "twice.parquet"
    pq.write_table(
        pa.table([pa.array(["A"]), pa.array(["B"]), pa.array([1])], names=["artist", "artist", "plays"]), path
    )
    with pytest.raises(ListensError, match="several columns named artist; keep one"):
        list(open_listens(path).blocks())


def test_bad_rows_are_reported_by_their_number(parquet, listens):
    reported = []
    path = parquet(user=["a", "b", None, "d"], artist=["A", None, "C", "D"], plays=[1.0, 2.0, 3.0, float("inf")])
    with pytest.raises(ListensError, match=r"3 of the first 4 rows.*row 2: the artist is missing"):
        listens(path)
    path = parquet(user=["a", "b", None, "d"], artist=["A", "B", "C", "D"], plays=[1, 2, 3, None])
    assert len(listens(path, on_bad_row=reported.append)) == 2
    assert [message.split("parquet, ")[1].split(":")[0] for message in reported] == ["row 3", "row 4"]


def test_many_rows_come_in_order_with_progress(parquet):
    seen = []
    path = parquet(user=[f"u{i}" for i in range(5000)], artist=["A"] * 5000, plays=list(range(1, 5001)))
    (block,) = open_listens(path).blocks(progress=lambda done, total: seen.append((done, total)))
    assert block.plays.tolist() == list(range(1, 5001))
    assert seen[-1] == (5000, 5000)


def test_no_artist_column_is_an_error(parquet):
    with pytest.raises(ListensError, match=r"plays.parquet has no artist column \(user, song_id\); an artist column"):
        open_listens(parquet(user=["a"], song_id=[1]))


@pytest.mark.parametrize("cut", [8, 60])
def test_a_cut_file_is_an_error(parquet, cut):
    path = parquet(user=["a"], artist=["A"])
    path.write_bytes(path.read_bytes()[:-cut])
    with pytest.raises(ListensError, match="is truncated or not a Parquet file"):
        open_listens(path)


def test_without_pyarrow_it_says_what_to_install(parquet, monkeypatch):
    path, real = parquet(artist=["A"]), builtins.__import__

    def without(name, *args, **kwargs):
        if name.startswith("pyarrow"):
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ListensError, match=r"reading Parquet needs pyarrow: .*pip install 'nearsong\[parquet\]'"):
        open_listens(path)
