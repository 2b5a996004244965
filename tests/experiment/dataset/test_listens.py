"""Listens in every spelling give the same matrix, and a bad row is found among any number of good ones."""

import gzip
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nearsong.errors import DatasetError
from nearsong.experiment import Dataset
from nearsong.experiment.dataset.listens import read_listens
from nearsong.listens.tables import strict_table


def write(folder, name, text):
    """Replace the folder's listens."""
    (folder / "listens.csv").unlink(missing_ok=True)
    data = text.encode()
    (folder / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return folder / name


def test_repeated_rows_are_summed_and_users_without_these_artists_only_counted(folder):
    path = write(folder, "listens.csv", "user,artist,plays\nz,abba,1\ny,other,5\nz,ABBA,2.5\nx,cream,0\nw,cream,7\n")
    listens = read_listens(path, ["abba", "cream"])
    assert listens.plays.toarray().tolist() == [[3.5, 0], [0, 7]]  # z and w, as they came
    assert listens.plays.dtype == np.float64
    assert (listens.n_users, listens.n_rows, listens.n_nameless) == (4, 5, 0)
    assert listens.plays.has_canonical_format
    assert listens.other_plays.toarray().tolist() == [[0], [0], [5]]  # z, w, then y


@given(
    st.lists(
        st.tuples(st.sampled_from("uvwxyz"), st.sampled_from(["abba", "Cream", "other"]), st.integers(0, 30)),
        min_size=1,
        max_size=30,
    ),
    st.integers(1, 7),
)
@settings(max_examples=60, deadline=None)
def test_the_matrix_is_the_sum_over_rows_whatever_the_block(tmp_path_factory, rows, block):
    path = tmp_path_factory.mktemp("listens") / "listens.csv"
    path.write_text("".join(f"{u},{a},{n}\n" for u, a, n in [("user", "artist", "plays"), *rows]))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(strict_table, "BATCH_ROWS", block)
        listens = read_listens(path, ["abba", "cream"])
    sums = Counter()
    for user, artist, plays in rows:
        if artist != "other" and plays:
            sums[user, artist.lower()] += plays
    order = list(dict.fromkeys(u for u, _, _ in rows if any(user == u for user, _ in sums)))
    expected = [[sums[user, artist] for artist in ("abba", "cream")] for user in order]
    assert listens.plays.toarray().tolist() == expected
    others = Counter()
    for user, artist, plays in rows:
        if artist == "other" and plays:
            others[user] += plays
    order += [user for user in dict.fromkeys(u for u, _, _ in rows) if user in others and user not in order]
    n_other = int(any(artist == "other" for _, artist, _ in rows))
    assert listens.other_plays.toarray().tolist() == [n_other * [others[user]] for user in order]
    assert listens.n_users == len({user for user, _, _ in rows})


SAME = {
    "listens.csv": "user,artist,plays\nann,The Beatles,12\nbob,cream,3\nann,Cream,20\n",
    "listens.csv.gz": 'plays,Artist,extra,USER\n12,"the beatles",,ann\n3,cream,"a\nb",bob\n20,cream,,ann\n',
    "listens.tsv": "user\tartist\tplays\nann\tBeatles\t12\nbob\tcream\t3\nann\tCream\t20\n",
    "listens.tsv.gz": "ann\tb10b\tBéatles\t12\r\nbob\t\tcr\ream\t3\r\nann\t\tCream\t20\r\n",
    "usersha1-artmbid-artname-plays.tsv": 'ann\tb10b\t"Beatles\t12\nbob\t\tcream\t3\nann\t\tCream"\t20\n',
    "usersha1-artmbid-artname-plays.tsv.gz": "\ufeffann\tb10b\tBeatles\t12\nbob\t\tcream\t3\n\nann\t\tCream\t20",
}


@pytest.mark.parametrize("name", SAME)
def test_all_spellings_of_a_file_of_listens_are_read_alike(folder, name):
    write(folder, name, SAME[name])
    data = Dataset.open(folder)
    assert data.plays.toarray().tolist() == [[12, 20], [0, 3]]
    assert data.n_users == 2


def test_a_file_longer_than_a_block_is_read_completely(folder):
    rows = 3 * strict_table.BATCH_ROWS + 17
    text = "user,artist,plays\n" + "".join(f"u{i},cream,{i + 1}\n" for i in range(rows))
    listens = read_listens(write(folder, "listens.csv.gz", text), ["cream"])
    assert listens.plays.toarray().ravel().tolist() == list(range(1, rows + 1))
    assert listens.n_rows == rows


ERRORS = {
    "": r"listens\.csv has no header; the first line must name the columns: user, artist, plays",
    "user,artist,plays\n": r"listens\.csv has no rows",
    "user,artist,count\nann,cream,3\n": r"listens\.csv has no column 'plays'; found: user, artist, count\.",
    "ann,cream,3\n": r"listens\.csv has no column 'user'; found: ann, cream, 3\.",
    "user,artist,plays\nann,cream,many\n": r"listens\.csv, line 2: plays is 'many'; give a number of at least 0",
    "user,artist,plays\nann,cream,\n": r"listens\.csv, line 2: plays is ''",
    "user,artist,plays\nann,cream,1\n\nann,cream,-2\n": r"listens\.csv, line 4: plays is '-2'",
    "user,artist,plays\nann,cream,nan\n": r"listens\.csv, line 2: plays is 'nan'",
    "user,artist,plays\nann,cream,inf\n": r"listens\.csv, line 2: plays is 'inf'",
    "user,artist,plays\nann,cream,1_000\n": r"listens\.csv, line 2: plays is '1_000'",
    "user,artist,plays\nann,cream,1\nann,cream\n": r"listens\.csv, line 3: 2 field\(s\) instead of 3",
    "user,artist,plays\nann,Earth, Wind,1\n": r"listens\.csv, line 2: 4 field\(s\) instead of 3",
    'user,artist,plays\nann,cream,1\nann,"cream,1\n' + 99 * "bob,cream,1\n": r"listens\.csv, line 3: unexpected end",
    'user,artist,plays\n"ann\nlee",cream,1\nbob,cream,x\n': r"listens\.csv, line 4: plays is 'x'",
    "user,artist,plays\nann,nobody,1\n": r"listens\.csv: none of its artists is in songs\.csv, whose first",
}


@pytest.mark.parametrize("text", ERRORS)
def test_what_is_wrong_in_listens_is_named_with_its_line(folder, text):
    (folder / "listens.csv").write_text(text)
    with pytest.raises(DatasetError, match=ERRORS[text]) as caught:
        Dataset.open(folder)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ann\tcream\t3\n", r"listens\.tsv, line 1: 3 field\(s\) instead of 4"),
        ("ann\t\tcream\t3\nbob\t\tcream\tx\n", r"listens\.tsv, line 2: plays is 'x'"),
        ("user\tartist\nann\tcream\n", r"listens\.tsv has no column 'plays'; found: user, artist\."),
        ("", r"listens\.tsv has no header"),
    ],
)
def test_what_is_wrong_in_a_last_fm_file_is_named_with_its_line(folder, text, message):
    write(folder, "listens.tsv", text)
    with pytest.raises(DatasetError, match=message):
        Dataset.open(folder)


@pytest.mark.parametrize("bad", [1, 1_999, 2_000, 2_001, 5_999])
def test_one_bad_row_is_found_among_thousands(folder, bad):
    rows = [f"u{i},cream,{'x' if i == bad else 1}\n" for i in range(6_000)]
    write(folder, "listens.csv.gz", "user,artist,plays\n" + "".join(rows))
    with pytest.raises(DatasetError, match=rf"line {bad + 2}: plays is 'x'"):
        Dataset.open(folder)


@pytest.mark.parametrize("n_bytes", [5, 60, -1])
def test_a_broken_gzip_file_is_named(folder, n_bytes):
    path = write(folder, "listens.csv.gz", "user,artist,plays\n" + "".join(f"u{i},cream,1\n" for i in range(3_000)))
    path.write_bytes(path.read_bytes()[:n_bytes])
    with pytest.raises(DatasetError, match=r"listens\.csv\.gz is truncated or damaged after about \d+ lines"):
        Dataset.open(folder)


def test_a_gzip_file_with_a_changed_byte_is_named(folder):
    path = write(folder, "listens.csv.gz", "user,artist,plays\n" + "".join(f"u{i},cream,1\n" for i in range(3_000)))
    packed = bytearray(path.read_bytes())
    packed[len(packed) // 2] ^= 0xFF
    path.write_bytes(packed)
    with pytest.raises(DatasetError, match=r"listens\.csv\.gz, line|listens\.csv\.gz is truncated or damaged"):
        Dataset.open(folder)


def test_rows_without_a_user_or_an_artist_are_counted_and_skipped(folder):
    write(folder, "listens.csv", "user,artist,plays\nann,,3\n ,cream,4\nann,cream,5\nbob,beatles,6\n")
    data = Dataset.open(folder)
    assert data.plays.toarray().tolist() == [[0, 5], [6, 0]]
    assert data.n_users == 2
    assert data.notes == ("listens.csv: 2 rows have no user or no artist; skipped.",)


def test_artists_without_listeners_are_included_and_named(folder):
    songs = "".join(f"{i},{artist},t\n" for i, artist in enumerate(["cream", "abba", "blur", "cake", "dido"]))
    (folder / "songs.csv").write_text("song_id,artist,title\n" + songs)
    np.save(folder / "vectors.npy", np.eye(5))
    data = Dataset.open(folder)
    assert data.plays.shape == (2, 5)
    assert data.notes == ("listens.csv: 4 of 5 artists have no listeners (such as abba, blur, cake).",)


def test_two_files_of_listens_are_one_too_many(folder):
    (folder / "listens.tsv").write_text("x")
    with pytest.raises(DatasetError, match=r"has both listens\.csv and listens\.tsv; remove one"):
        Dataset.open(folder)
