"""A generator -> listening histories with hostile rows, in every format that is read."""

import io
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

Random = np.random.Generator
Row = list[str]
HEADER = ["user", "artist", "title", "plays", "time"]


@dataclass(frozen=True, kw_only=True)
class HistoryFile:
    """A file to import: its name, its bytes, and how many rows must be accounted for (None if that is undefined)."""

    name: str
    data: bytes
    rows: int
    exact: bool = False


_NAMES: tuple[str, ...] = (
    '"',
    '""',
    "'; DROP TABLE songs; --",
    "\u202eevil\u202c",
    "\x1b[2J\x07",
    "\ufeff\ufffe",
    "e" + "\u0301" * 500,
    "\ud800".encode("utf-8", "surrogatepass").decode("utf-8", "replace"),
    "=cmd|' /C calc'!A0",
    "<script>alert(1)</script>",
    "../../../etc/passwd",
    "%s%n%x",
    "{}{0}{self}",
    "\\",
    "\u2028\u2029",
    "\U0010ffff",
    "\u200b",
    "nan",
    "null",
    "\u0130\u0131\u00df\ufb01",
    "\U0001f9d1\u200d\U0001f680" * 20,
    "[dunkelbunt]",
    "x" * 5_000,
)
_NUMBERS = (
    "0",
    "-1",
    "nan",
    "inf",
    "-inf",
    "1e308",
    "1e309",
    "1e-320",
    "99999999999999999999",
    "0x10",
    "1_000",
    "1,5",
    "٣",
    "",
    " 7 ",
    "1" * 4_000,
    "True",
    "1e9",
    "1000000001",
    "--5",
)
_TIMES = (
    "0",
    "-1",
    "nan",
    "9" * 30,
    "1e400",
    "2023-02-30",
    "0000-00-00",
    "9999-12-31T23:59:59+23:59",
    "31 Feb 2023, 99:99",
    "2100-01-01",
    "20231301",
    "1700000000",
    "1700000000000",
    "2023-01-31T12:34:00Z",
    "12/31/2023",
    "Z",
    "UTC",
    "1 " + " " * 50 + "x",
    "٢٠٢٣-٠١-٠١",
    "\u00b2\u00b3",
)


def _one(choices: Sequence[str], random: Random) -> str:
    return choices[int(random.integers(len(choices)))]


def hostile_row(random: Random) -> Row:
    """Return a row of which a field or two may be hostile; most rows can be read, so that a file is not refused."""
    row = [
        f"user{random.integers(50)}",
        f"Artist {random.integers(200)}",
        f"Song {random.integers(500)}",
        "1",
        "1600000000",
    ]
    for column, choices in ((0, _NAMES), (1, _NAMES), (2, _NAMES), (3, _NUMBERS), (4, _TIMES)):
        if random.random() < 0.12:
            row[column] = _one(choices, random)
    return row


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def csv_rows(n_rows: int, random: Random) -> HistoryFile:
    """Correctly quoted rows: all are accounted for, unless a name holds a line end that splits it."""
    lines = [",".join(HEADER)]
    lines += [",".join(map(_quoted, hostile_row(random))) for _ in range(n_rows)]
    return HistoryFile(name="quoted.csv", data="\r\n".join(lines).encode("utf-8", "replace"), rows=n_rows, exact=True)


def csv_zeros(n_rows: int, random: Random) -> HistoryFile:
    """NULs in names, only after the beginning that tells text from other files."""
    lines = [",".join(HEADER)] + ["ann,Band A0,Song 1,1,1600000000"] * 3_000
    lines += [",".join(map(_quoted, hostile_row(random))).replace("a", "a\0") for _ in range(n_rows)]
    return HistoryFile(name="zeros.csv", data="\r\n".join(lines).encode("utf-8", "replace"), rows=n_rows)


def csv_stray_quotes(n_rows: int, random: Random) -> HistoryFile:
    """Write rows with quotes that nothing closes."""
    lines = [",".join(HEADER)]
    for _ in range(n_rows):
        row = hostile_row(random)
        lines.append(",".join(field if random.random() < 0.97 else '"' + field for field in row))
    return HistoryFile(name="stray.csv", data="\n".join(lines).encode("utf-8", "replace"), rows=n_rows)


def tsv_broken_text(n_rows: int, random: Random) -> HistoryFile:
    """Rows of bytes that are not UTF-8, some with too few or too many fields."""
    lines = ["\t".join(HEADER).encode()]
    for _ in range(n_rows):
        fields = [field.encode("utf-8", "replace").replace(b"\t", b" ") for field in hostile_row(random)]
        if random.random() < 0.3:
            fields[int(random.integers(3))] += bytes([int(random.integers(128, 256)), 0xFF])
        if random.random() < 0.1:
            fields = fields[: int(random.integers(5))] if random.random() < 0.5 else fields * 3
        lines.append(b"\t".join(fields).replace(b"\n", b" "))
    return HistoryFile(name="broken.tsv", data=b"\n".join(lines), rows=n_rows)


def utf16(n_rows: int, random: Random) -> HistoryFile:
    """UTF-16, cut in the middle of a character."""
    table = csv_rows(n_rows, random)
    return HistoryFile(name="wide.csv", data=table.data.decode().encode("utf-16")[:-1], rows=n_rows)


def json_lines(n_rows: int, random: Random) -> HistoryFile:
    """JSON, one record a line, with values of the wrong types."""
    lines = []
    for _ in range(n_rows):
        record: dict[str, Any] = dict(zip(HEADER, hostile_row(random), strict=True))
        if random.random() < 0.2:
            record[HEADER[int(random.integers(5))]] = _odd_value(random)
        lines.append(json.dumps(record, ensure_ascii=bool(random.random() < 0.5)))
        if random.random() < 0.05:
            lines[-1] = lines[-1][: int(random.integers(1, len(lines[-1])))]
    data = "\n".join(line.replace("\r", " ") for line in lines) + "\n"
    return HistoryFile(name="lines.jsonl", data=data.encode("utf-8", "replace"), rows=n_rows, exact=True)


def _odd_value(random: Random) -> Any:
    values: tuple[Any, ...] = (
        None,
        True,
        [],
        {},
        [[[]]],
        {"name": {"name": ["x"]}},
        10**400,
        -1,
        1e308,
        float("nan"),
        [None],
        {"#text": None},
        "\ud800",
        -(2**63),
        2**70,
    )
    return values[int(random.integers(len(values)))]


def json_array(n_rows: int, random: Random) -> HistoryFile:
    """Write an array of ListenBrainz's listens, of Spotify's, and of neither."""
    records: list[Any] = []
    for _ in range(n_rows):
        row = hostile_row(random)
        facts: dict[str, Any] = {"artist_name": row[1], "track_name": row[2], "additional_info": {}}
        record: Any = {"listened_at": row[4], "user_name": row[0], "track_metadata": facts}
        if random.random() < 0.1:
            record = _odd_value(random)
        elif random.random() < 0.1:
            facts[("mbid_mapping", "additional_info")[int(random.integers(2))]] = _odd_value(random)
        records.append(record)
    records[0] = {"listened_at": 1, "user_name": "a", "track_metadata": {"artist_name": "b", "track_name": "c"}}
    return HistoryFile(name="array.json", data=json.dumps(records).encode("utf-8", "replace"), rows=n_rows)


def spotify(n_rows: int, random: Random) -> HistoryFile:
    """Write Spotify's account history with wrong times and lengths."""
    records = []
    for _ in range(n_rows):
        row = hostile_row(random)
        records.append(
            {
                "endTime": row[4],
                "artistName": row[1],
                "trackName": row[2],
                "msPlayed": row[3] if random.random() < 0.5 else 60_000,
            }
        )
    records[0] = {"endTime": "2023-01-31 12:34", "artistName": "Ann", "trackName": "Song", "msPlayed": 60_000}
    return HistoryFile(
        name="StreamingHistory0.json", data=json.dumps(records).encode("utf-8", "replace"), rows=n_rows
    )


def lastfm_360k(n_rows: int, random: Random) -> HistoryFile:
    """Write a table without a header."""
    lines = ["u\t\tBand\t3"] * 20
    lines += [
        "\t".join((row[0], row[2], row[1], row[3])).replace("\n", " ")
        for row in (hostile_row(random) for _ in range(n_rows))
    ]
    return HistoryFile(name="360k.tsv", data="\n".join(lines).encode("utf-8", "replace"), rows=n_rows)


def m3u8(n_rows: int, random: Random) -> HistoryFile:
    """Write a playlist of files that are not songs, or not here."""
    lines = ["#EXTM3U"]
    paths = (
        "../secret.txt",
        "/etc/passwd",
        "file:///etc/passwd",
        "pipe.mp3",
        "\\\\host\\share\\x.mp3",
        "http://127.0.0.1:9/x.mp3",
        "/dev/zero",
        "~/x",
    )
    for _ in range(n_rows // 2):
        row = hostile_row(random)
        lines += [f"#EXTINF:{row[3]},{row[1]} - {row[2]}", _one(paths, random)]
    return HistoryFile(name="list.m3u8", data="\n".join(lines).encode("utf-8", "replace"), rows=n_rows)


def pls(n_rows: int, random: Random) -> HistoryFile:
    """Write a playlist whose numbers do not fit together."""
    lines = ["[playlist]"]
    for number in range(n_rows // 2):
        row = hostile_row(random)
        lines += [f"File{number}={row[1]}/{row[2]}.mp3", f"Title{random.integers(2**30)}={row[1]} - {row[2]}"]
    return HistoryFile(name="list.pls", data="\n".join(lines).encode("utf-8", "replace"), rows=n_rows)


def jspf(n_rows: int, random: Random) -> HistoryFile:
    """Write a playlist with tracks of the wrong types."""
    tracks: list[Any] = []
    for _ in range(n_rows):
        row = hostile_row(random)
        tracks.append(
            {"creator": row[1], "title": row[2], "location": "file:///etc/passwd", "identifier": _odd_value(random)}
        )
        if random.random() < 0.1:
            tracks[-1] = _odd_value(random)
    data = json.dumps({"playlist": {"title": "\u202e", "track": tracks}})
    return HistoryFile(name="list.jspf", data=data.encode("utf-8", "replace"), rows=n_rows)


def xspf(n_rows: int, random: Random) -> HistoryFile:
    """Write a playlist as XML."""
    tracks = []
    for _ in range(n_rows):
        row = [
            "".join(letter for letter in field if letter.isprintable() and letter not in "<&")
            for field in hostile_row(random)
        ]
        tracks.append(
            f"<track><creator>{row[1]}</creator><title>{row[2]}</title><location>../secret.txt</location></track>"
        )
    text = f'<playlist xmlns="http://xspf.org/ns/0/"><trackList>{"".join(tracks)}</trackList></playlist>'
    return HistoryFile(name="list.xspf", data=text.encode("utf-8", "replace"), rows=n_rows)


def parquet(n_rows: int, random: Random) -> HistoryFile:
    """Write a table whose columns have types that no history has, and text that is not UTF-8."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    names = [_one(_NAMES, random) for _ in range(n_rows)]
    broken = pa.array([name.encode("utf-8", "replace") + b"\xff" for name in names], pa.binary())
    numbers = random.integers(-(2**62), 2**62, n_rows)
    columns: dict[str, list[Any]] = {
        "artist": [
            pa.array(names),
            broken,
            pa.array([[name] for name in names]),
            pa.array([{"name": name} for name in names]),
            pa.array(names).dictionary_encode(),
            _as_text(broken),
        ],
        "user": [pa.array(names), pa.array(numbers), broken, pa.nulls(n_rows)],
        "plays": [
            pa.array(numbers),
            pa.array(random.normal(size=n_rows) * 1e300),
            pa.array(numbers, pa.timestamp("us")),
            pa.array(numbers, pa.duration("ns")),
            pa.array([name == "nan" for name in names]),
            pa.array(names),
        ],
        "time": [
            pa.array(numbers),
            pa.array(numbers, pa.timestamp("us")),
            pa.array(numbers, pa.timestamp("ns", "Europe/Berlin")),
            pa.array(numbers, pa.date64()),
            pa.array(names),
            pa.array(numbers % 86_400, pa.time64("us")),
            pa.array(numbers, pa.duration("s")),
        ],
    }
    chosen = {name: kinds[int(random.integers(len(kinds)))] for name, kinds in columns.items()}
    file = io.BytesIO()
    pq.write_table(pa.table(chosen), file)
    return HistoryFile(name="table.parquet", data=file.getvalue(), rows=n_rows, exact=True)


def _as_text(array: Any) -> Any:
    """Return bytes as an array of text without looking at them."""
    import pyarrow as pa

    return pa.Array.from_buffers(pa.string(), len(array), array.buffers())


HISTORIES: tuple[Callable[[int, Random], HistoryFile], ...] = (
    csv_rows,
    csv_zeros,
    csv_stray_quotes,
    tsv_broken_text,
    utf16,
    json_lines,
    json_array,
    spotify,
    lastfm_360k,
    m3u8,
    pls,
    jspf,
    xspf,
    parquet,
)
