"""Every row of a table is read, left out or reported, whatever quotes it has and however the file is cut into chunks.

The reference reads one line after the other with the csv module.
"""

import csv
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nearsong.listens import RowCounts, open_listens, sources
from nearsong.listens.blocks import BlockBuilder
from nearsong.listens.columns import ColumnNames
from nearsong.listens.layouts import Layout
from nearsong.listens.numbering import clean
from nearsong.listens.sources import SourceFile
from nearsong.listens.tables import read_table
from nearsong.listens.tables.dictionaries import ByteDictionary, PairDictionary
from nearsong.listens.tables.numbers import UNUSUAL, plain_numbers, usual_times
from nearsong.listens.tables.quoted import MAX_LINES_PER_ROW
from nearsong.listens.times import parse_time

COLUMNS = ColumnNames(user=0, artist=1, plays=2)
HEADER = "user{0}artist{0}plays"


def layout_of(quoted):
    return Layout("csv", COLUMNS, 3, delimiter="," if quoted else "\t", quoted=quoted)


# ---- the reference


def decoded(line):
    for encoding in ("utf-8", "cp1252"):
        try:
            return line.decode(encoding)
        except UnicodeDecodeError:
            continue
    return line.decode("latin-1")


def lines_of(content, quoted):
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        content = content.decode("utf-16").encode()
    first = re.search(rb"\r\n|\n|\r", content)
    ends = rb"\r\n|\n|\r" if quoted or (first and first.group() == b"\r") else rb"\r?\n"
    return [decoded(line) for line in re.findall(rb"(?s).*?(?:" + ends + rb")|.+\Z", content)]


def parsed(lines, **options):
    """Return a row and the number of its lines; no row if it goes on after the last line."""
    asked = []

    def feed():
        yield from lines
        asked.append(True)

    reader = csv.reader(feed(), skipinitialspace=True, **options)
    row = next(reader)
    return (None if asked else row), reader.line_num


def is_complete(line):
    if line.count('"') % 2:
        return False
    try:
        row, _ = parsed([line], strict=True)
    except csv.Error:
        return False
    return row is not None and len(row) == 3 and any(map(str.strip, row))


def quoted_row(lines, at):
    """Return the row that begins in a line, or None if it is bad, and the number of its lines."""
    row, _ = parsed(lines[at : at + 1])
    if row is not None:
        return row, 1
    stop = at + 1
    while stop < min(len(lines), at + MAX_LINES_PER_ROW) and not is_complete(lines[stop]):
        stop += 1
    try:
        row, n_lines = parsed(lines[at:stop], strict=True)
    except csv.Error:
        return None, 1
    return (row, n_lines) if row is not None and len(row) == 3 else (None, 1)


def number(text):
    try:
        return float(text)
    except ValueError:
        return 0


def reference(content, quoted):
    """Return all good rows, and the number of bad ones."""
    lines = lines_of(content, quoted)
    found, n_bad, at = [], 0, 1
    while at < len(lines):
        if quoted:
            row, n_lines = quoted_row(lines, at)
        else:
            row, n_lines = re.sub(r"\r?\n\Z|\r\Z", "", lines[at]).split("\t"), 1
        at += n_lines
        if row is not None and not any(map(str.strip, row)):
            continue
        if row is None or any(map(str.strip, row[3:])):
            n_bad += 1
            continue
        user, artist, plays = [*row, "", ""][:3] if len(row) < 3 else row[:3]
        if clean(user) and clean(artist) and 0 < number(plays) <= 1e9:
            found.append((clean(user), clean(artist), number(plays)))
        else:
            n_bad += 1
    return found, n_bad


def read(path, quoted):
    counts, lines = RowCounts(), []
    builder = BlockBuilder(lambda message: lines.append(int(re.search(r", line (\d+):", message)[1])), counts)
    blocks = [*read_table(SourceFile(path), builder, "me", layout_of(quoted)), *builder.finish()]
    found = [
        (block.users[user], block.tracks[item].artist, float(plays))
        for block in blocks
        for user, item, plays in zip(block.user, block.item, block.plays, strict=True)
    ]
    return found, counts, lines


# ---- random tables

letters = st.text(st.sampled_from("ab\"', é\t"), max_size=4)
fields = st.one_of(letters, st.text(st.sampled_from('ab",\n\r'), max_size=4), st.sampled_from(["1", "2.5", "", "x"]))


def written(row):
    """Return a row as a program writes it, with every field quoted that needs it."""
    return ",".join('"' + field.replace('"', '""') + '"' if re.search('[",\r\n]', field) else field for field in row)


proper = st.tuples(fields, fields, st.sampled_from(["1", "17", " 3", "0", "1e2"])).map(written)
raw = st.lists(letters, min_size=0, max_size=5).map(",".join)
stray = st.tuples(letters, letters).map(lambda pair: f'{pair[0]},"{pair[1]},4')
lines = st.lists(st.one_of(proper, raw, stray, st.just(""), st.just("ann,Bob,3")), max_size=14)


def content_of(rows, quoted, end, has_end, encodings):
    delimiter = "," if quoted else "\t"
    rows = [HEADER.format(delimiter), *[delimiter.join(["u", "v", "1"])] * 60, *rows]
    if encodings == "utf-16":
        return (end.join(rows) + (end if has_end else "")).encode("utf-16")
    packed = [row.encode(encodings[i % len(encodings)], "replace") for i, row in enumerate(rows)]
    return end.encode().join(packed) + (end.encode() if has_end else b"")


@given(
    rows=lines,
    quoted=st.booleans(),
    end=st.sampled_from(["\n", "\r\n", "\r"]),
    has_end=st.booleans(),
    encodings=st.sampled_from([["utf-8"], ["utf-8", "cp1252"], ["cp1252"], "utf-16"]),
    size=st.integers(3, 300),
)
@settings(max_examples=120, deadline=None)
def test_rows_are_those_of_the_csv_module_and_each_is_counted(folder, rows, quoted, end, has_end, encodings, size):
    path = folder / "plays.csv"
    path.write_bytes(content_of(rows, quoted, end, has_end, encodings))
    expected, n_bad = reference(path.read_bytes(), quoted)
    for chunk in (1 << 18, size):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sources, "CHUNK_BYTES", chunk)
            found, counts, reported = read(path, quoted)
        assert found == expected
        assert (counts.read, counts.bad) == (len(expected), n_bad)
        assert len(reported) == n_bad
        assert reported == sorted(set(reported))


def test_three_stray_quotes_among_a_thousand_rows_cost_three_rows(write, listens):
    rows = [f"user {i % 7},artist {i % 90},{i % 5 + 1}" for i in range(1000)]
    for at in (100, 500, 900):
        rows[at] = f'user,"artist {at},1'
    reported, counts = [], RowCounts()
    path = write("plays.csv", "\n".join(["user,artist,plays", *rows]))
    assert len(listens(path, on_bad_row=reported.append, counts=counts)) == 997
    assert [message.split("line ")[1].split(":")[0] for message in reported] == ["102", "502", "902"]
    assert counts.total == 1000


def test_a_quoted_field_may_span_as_many_lines_as_allowed_and_no_more(write, listens):
    for n_lines, expected in ((MAX_LINES_PER_ROW, 3), (MAX_LINES_PER_ROW + 1, 2)):
        field = "\n".join(f"part {i}" for i in range(n_lines))
        text = f'user,artist,plays\nann,A,1\nann,"{field}",2\nann,C,3\nann,D,3\n' + "ann,E,1\n" * 30
        counts = RowCounts()
        rows = listens(write("plays.csv", text), counts=counts)
        assert len(rows) - 31 == expected
        assert (counts.bad > 0) == (expected == 2)


def test_too_many_bad_rows_are_noticed_in_the_same_rows_whatever_the_chunks(write, monkeypatch):
    rows = ["ann,A,1,x" if i % 2 else "ann,A,1" for i in range(990)] + ["a,b,c,d"] * 600
    path = write("plays.csv", "\n".join(["user,artist,plays", *rows]))
    for size in (1 << 18, 1 << 10, 77):
        monkeypatch.setattr(sources, "CHUNK_BYTES", size)
        with pytest.raises(Exception, match="505 of the first 1000 rows are invalid"):
            list(open_listens(path).blocks())


# ---- the compiled parts


@given(st.lists(st.binary(max_size=20), min_size=1, max_size=60), st.integers(1, 9))
def test_texts_are_numbered_as_a_dictionary_of_python_numbers_them(texts, size):
    numbers = {}
    coded = ByteDictionary()
    texts = [text.hex()[:17].encode() for text in texts]
    for start in range(0, len(texts), size):
        part = texts[start : start + size]
        ends = np.cumsum([len(text) for text in part])
        codes = coded.codes(
            np.frombuffer(b"".join(part) + b".", np.uint8), ends - np.array([len(t) for t in part]), ends
        )
        assert codes.tolist() == [numbers.setdefault(text, len(numbers)) for text in part]
    assert coded.texts(0) == [text.decode() for text in numbers]


def test_very_many_texts_and_pairs_keep_their_numbers():
    texts = [f"artist {i * i}" for i in range(40_000)]
    data = np.frombuffer("".join(texts).encode(), np.uint8)
    ends = np.cumsum([len(text) for text in texts])
    starts = ends - np.array([len(text) for text in texts])
    coded, pairs = ByteDictionary(), PairDictionary()
    for _ in range(2):
        for part in np.array_split(np.arange(40_000), 7):
            codes = coded.codes(data, starts[part], ends[part])
            assert codes.tolist() == part.tolist()
            assert pairs.codes(codes, codes % np.int32(7)).tolist() == part.tolist()
    assert coded.texts(39_990) == texts[39_990:]
    assert [half.tolist() for half in pairs.pairs(np.array([8, 39_999], np.int32))] == [[8, 39_999], [1, 1]]


def fields_of(texts):
    packed = [text.encode() for text in texts]
    lengths = np.array([len(text) for text in packed])
    return np.frombuffer(b"".join(packed) + b".", np.uint8), np.cumsum(lengths) - lengths, np.cumsum(lengths)


times = st.one_of(
    st.datetimes().map(lambda moment: moment.isoformat(" ", "seconds")),
    st.datetimes().map(lambda moment: moment.isoformat("T", "minutes") + "Z"),
    st.integers(0, 10**11).map(str),
    st.from_regex(r"\A(19|20)\d\d-[01]\d-[0-3]\d[ T][0-2]\d:[0-6]\d(:[0-6]\d)?Z?\Z"),
    st.sampled_from(["", "2024-02-29 12:00", "2023-02-29 12:00", "1970-01-01 00:00", "2099-12-31T23:59:59", "soon"]),
)


@given(st.lists(times, min_size=1, max_size=20))
@settings(max_examples=300, deadline=None)
def test_usual_times_are_those_of_the_slower_function(texts):
    for text, seconds in zip(texts, usual_times(*fields_of(texts)).tolist(), strict=True):
        if seconds != UNUSUAL:
            assert seconds == parse_time(text)


def test_usual_notations_of_time_are_read_by_the_fast_function():
    texts = ["1675168440", "2023-01-31 12:34", "2023-01-31T12:34:00", "2023-01-31T12:34:00Z", ""]
    assert usual_times(*fields_of(texts)).tolist() == [1675168440] * 4 + [0]


@given(st.lists(st.one_of(st.integers(0, 10**10).map(str), st.text("0129.-+ e_", max_size=10)), min_size=1))
def test_whole_numbers_are_those_of_python(texts):
    for text, value in zip(texts, plain_numbers(*fields_of(texts)).tolist(), strict=True):
        assert value == (int(text) if text.isdecimal() and len(text) < 10 else UNUSUAL)
