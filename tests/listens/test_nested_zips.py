"""Zips in zips: read one level deep, within the limits of everything else that is unpacked."""

import os
import tracemalloc
import zipfile

import pytest

from listens.format_examples import apple_activity, apple_daily
from nearsong.errors import ListensError
from nearsong.listens import open_histories, open_listens, zips
from torture.hostile.archives import zip_bomb, zip_of

CSV = b"user,artist,plays\nann,A,1\n"


def rows_of(path, **options):
    return sum(len(block.user) for history in open_histories(path, **options) for block in history.blocks())


def artists(history):
    return sorted({track.artist for block in history.blocks() for track in block.tracks})


@pytest.mark.parametrize("packing", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_histories_in_a_zip_in_a_zip_are_read_with_those_beside_it(write, packing):
    inner = zip_of({"folder/plays.csv": b"user,artist,plays\nann,B,2\n", "__MACOSX/x.csv": CSV, ".y.csv": CSV})
    path = write("outer.zip", zip_of({"plays.csv": CSV, "Data/inner.ZIP": inner}, compression=packing))
    history = open_listens(path)
    assert history.kind == "counts"
    assert [name for name, _ in history.members] == ["Data/inner.ZIP/folder/plays.csv", "plays.csv"]
    assert artists(history) == ["A", "B"]


def test_apples_export_is_read_as_it_comes_and_plays_count_once(write):
    names = ["Ann", "Ben", "Cleo"]
    tables = {
        "Apple Music Activity/Apple Music Play Activity.csv": apple_activity(names)[0],
        "Apple Music Activity/Apple Music - Play History Daily Tracks.csv": apple_daily(names)[0],
    }
    inner = {"Apple_Media_Services/Apple Music Activity.zip": zip_of(tables)}
    path = write(
        "Apple Media Services.zip", zip_of(inner | {"Apple_Media_Services/Stores.zip": zip_of({"a.pdf": b"x"})})
    )
    assert [history.format for history in open_histories(path)] == ["apple-activity"]
    assert artists(open_listens(path)) == names
    assert open_listens(path, "apple-daily").kind == "counts"


def test_files_of_one_name_in_two_zips_are_both_read(write):
    files = {
        f"{letter}.zip": zip_of({"plays.csv": f"user,artist,plays\nann,{letter},1\n".encode()}) for letter in "AB"
    }
    path = write("two.zip", zip_of(files))
    assert artists(open_listens(path)) == ["A", "B"]


def test_a_folder_may_be_named_as_a_zip(write):
    path = write("odd.zip", zip_of({"a.zip/x.csv": CSV, "a.zip": zip_of({"x.csv": CSV, "y.csv": CSV})}))
    assert "a.zip/y.csv" in [name for name, _ in open_listens(path).members]
    assert rows_of(path) == 2


def test_a_second_level_is_not_opened_and_it_says_so(write):
    deep = zip_of({"mid.zip": zip_of({"deep.zip": zip_of({"plays.csv": CSV})})})
    with pytest.raises(ListensError, match=r"mid\.zip/deep\.zip is a zip in a zip in a zip; unpack it") as refused:
        open_listens(write("deep.zip", deep))
    assert "\n" not in str(refused.value)


def test_a_zip_that_holds_itself_ends(write):
    """What a quine looks like to a reader: every level holds the same names again."""
    data = CSV
    for _ in range(30):
        data = zip_of({"r.zip": data, "plays.csv": CSV})
    assert rows_of(write("quine.zip", data)) == 2


@pytest.mark.parametrize(
    ("inner", "reason"),
    [
        (b"not a zip", "inner.zip in it cannot be opened .File is not a zip file"),
        (zip_of({"plays.csv": CSV})[:-30], "inner.zip in it cannot be opened"),
        (zip_of({"notes.txt": b"hello"}), "inner.zip/notes.txt"),
        (b"", "inner.zip in it cannot be opened"),
    ],
)
def test_a_damaged_zip_in_a_zip_is_named_and_does_not_spoil_the_rest(write, inner, reason):
    with pytest.raises(ListensError, match=reason):
        open_listens(write("a.zip", zip_of({"inner.zip": inner})))
    assert rows_of(write("b.zip", zip_of({"inner.zip": inner, "plays.csv": CSV}))) == 1


def test_a_zip_in_a_zip_counts_towards_what_may_be_unpacked(write):
    inner = zip_of({"plays.csv": CSV, "noise.bin": os.urandom(300_000)})
    path = write("a.zip", zip_of({"inner.zip": inner}))
    assert rows_of(path, max_bytes=400_000) == 1
    with pytest.raises(ListensError, match="unpacks to more than"):
        open_listens(path, max_bytes=200_000)


def test_a_zip_of_zip_bombs_is_refused_in_little_memory(write):
    bomb = zip_bomb(b"plays.csv", CSV, b"ann,A,1\n" * 100_000, 400)
    path = write("bombs.zip", zip_of({f"{number}.zip": bomb for number in range(20)}))
    tracemalloc.start()
    with pytest.raises(ListensError, match="unpacks to more than"):
        rows_of(path, max_bytes=10_000_000)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100_000_000


def test_a_packed_list_of_files_is_refused_before_it_is_read(write, monkeypatch):
    monkeypatch.setattr(zips, "MAX_LIST_BYTES", 5_000)
    inner = zip_of({f"{number}.csv": CSV for number in range(200)})
    with pytest.raises(ListensError, match="its list of files is too long"):
        open_listens(write("list.zip", zip_of({"inner.zip": inner})))


def test_zips_beyond_the_limits_are_left_out(write, monkeypatch):
    monkeypatch.setattr(zips, "MAX_INNER_BYTES", 1_000)
    large = zip_of({"plays.csv": CSV, "noise.bin": os.urandom(2_000)})
    path = write("a.zip", zip_of({"a.zip": large, "b.zip": zip_of({"plays.csv": CSV})}))
    assert [name for name, _ in open_listens(path).members] == ["b.zip/plays.csv"]
    monkeypatch.setattr(zips, "MAX_INNER_ZIPS", 3)
    many = {f"{number}.zip": zip_of({"plays.csv": CSV}) for number in range(5)}
    assert rows_of(write("many.zip", zip_of(many))) == 3


def test_nothing_stays_open_or_on_disk(write, tmp_path, monkeypatch):
    monkeypatch.setattr(zips.tempfile, "tempdir", str(tmp_path))
    before = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    path = write("a.zip", zip_of({"inner.zip": zip_of({"plays.csv": CSV})}))
    for _ in range(5):
        rows_of(path)
    assert [file.name for file in tmp_path.iterdir() if file.name != path.name] == []
    assert (len(os.listdir("/proc/self/fd")) if before else 0) == before
