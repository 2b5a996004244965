"""What any program writes in a format is what comes back: the same multiset of who, what, how often and when."""

import csv
import gzip
import io
import json
from collections import Counter
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nearsong.listens import open_listens

# A name as people have them: some text without white space around it that is not only white space.
names = (
    st.text(st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"]), min_size=1, max_size=8)
    .map(str.strip)
    .filter(bool)
)
plain_names = st.text("abcÄöß日 'é!&\"", min_size=1, max_size=8).map(str.strip).filter(bool)
times = st.integers(100_000_000, 2_000_000_000)
histories = st.lists(st.tuples(names, names, names, st.integers(1, 9999), times), min_size=1, max_size=6)
plain_histories = st.lists(
    st.tuples(plain_names, plain_names, plain_names, st.integers(1, 9999), times), min_size=1, max_size=6
)


def read_back(folder, name, content, format=None, user=None):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    reported = []
    found = Counter()
    for block in open_listens(path, format).blocks(reported.append, user):
        assert len(set(block.users)) == len(block.users)
        assert len(set(block.tracks)) == len(block.tracks)
        for who, what, plays, time in zip(block.user, block.item, block.plays, block.time, strict=True):
            track = block.tracks[what]
            found[block.users[who], track.artist, track.title, float(plays), int(time)] += 1
    assert reported == []
    return found


def iso(time):
    return datetime.fromtimestamp(time, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def minute(time):
    return time - time % 60


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@given(history=histories, packed=st.booleans())
@settings(max_examples=30)
def test_csv_of_counts(folder, delimiter, history, packed):
    text = io.StringIO()
    writer = csv.writer(text, delimiter=delimiter, quoting=csv.QUOTE_ALL)
    writer.writerow(["user", "artist", "title", "plays"])
    writer.writerows(row[:4] for row in history)
    content = text.getvalue().encode()
    found = read_back(folder, "h.csv", gzip.compress(content) if packed else content)
    assert found == Counter((*row[:3], float(row[3]), 0) for row in history)


@given(history=histories, form=st.sampled_from([str, iso, lambda time: str(time * 1000)]))
@settings(max_examples=40)
def test_csv_of_events(folder, history, form):
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(["Track Name", "Timestamp", "User ID", "Artist Name"])
    writer.writerows((title, form(time), user, artist) for user, artist, title, _, time in history)
    found = read_back(folder, "h.csv", text.getvalue())
    assert found == Counter((user, artist, title, 1.0, time) for user, artist, title, _, time in history)


@given(history=histories)
@settings(max_examples=40)
def test_the_360k_set(folder, history):
    text = "".join(f"{user}\t\t{artist}\t{plays}\n" for user, artist, _, plays, _ in history)
    found = read_back(folder, "h.tsv", text, "lastfm-360k")
    assert found == Counter((user, artist, "", float(plays), 0) for user, artist, _, plays, _ in history)


@given(history=histories)
@settings(max_examples=40)
def test_the_1k_set(folder, history):
    text = "".join(f"{user}\t{iso(time)}\t\t{artist}\t\t{title}\n" for user, artist, title, _, time in history)
    found = read_back(folder, "h.tsv", text, "lastfm-1k")
    assert found == Counter((user, artist, title, 1.0, time) for user, artist, title, _, time in history)


@given(history=plain_histories, user=plain_names)
@settings(max_examples=40)
def test_lastfm_to_csv(folder, history, user):
    text = io.StringIO()
    writer = csv.writer(text)
    for _, artist, title, _, time in history:
        writer.writerow([artist, "album", title, datetime.fromtimestamp(time, UTC).strftime("%d %b %Y, %H:%M")])
    found = read_back(folder, "h.csv", text.getvalue(), "lastfm-csv", user)
    assert found == Counter((user, artist, title, 1.0, minute(time)) for _, artist, title, _, time in history)


@given(history=histories, shape=st.sampled_from(["array", "indented", "lines"]), letters=st.booleans())
@settings(max_examples=60)
def test_listenbrainz(folder, history, shape, letters):
    records = [
        {"user_name": user, "listened_at": time, "track_metadata": {"artist_name": artist, "track_name": title}}
        for user, artist, title, _, time in history
    ]
    if shape == "lines":
        text = "".join(json.dumps(record, ensure_ascii=letters) + "\n" for record in records)
    else:
        text = json.dumps(records, indent=1 if shape == "indented" else None, ensure_ascii=letters)
    found = read_back(folder, "h.json", text)
    assert found == Counter((user, artist, title, 1.0, time) for user, artist, title, _, time in history)


@given(history=histories)
@settings(max_examples=40)
def test_spotify(folder, history):
    extended = [
        {"ts": iso(time), "username": user, "ms_played": 30_000 + 1_000 * plays, "master_metadata_track_name": title,
         "master_metadata_album_artist_name": artist, "episode_name": None}
        for user, artist, title, plays, time in history
    ]  # fmt: skip
    account = [
        {"endTime": iso(time)[:16].replace("T", " "), "artistName": artist, "trackName": title, "msPlayed": 30_000}
        for _, artist, title, _, time in history
    ]
    assert read_back(folder, "h.json", json.dumps(extended)) == Counter(
        (user, artist, title, 1.0, time - 30 - plays) for user, artist, title, plays, time in history
    )
    assert read_back(folder, "h.json", json.dumps(account), user="ann") == Counter(
        ("ann", artist, title, 1.0, minute(time) - 30) for _, artist, title, _, time in history
    )


@given(history=plain_histories, name=plain_names)
@settings(max_examples=40)
def test_playlists(folder, history, name):
    expected = Counter((name, artist, title, 1.0, 0) for _, artist, title, _, _ in history)
    lines = [f"#EXTINF:5,{artist} - {title}\nx.mp3\n" for _, artist, title, _, _ in history]
    assert read_back(folder, "h.m3u8", f"#EXTM3U\n#PLAYLIST:{name}\n" + "".join(lines)) == expected
    tracks = [{"creator": artist, "title": title} for _, artist, title, _, _ in history]
    assert read_back(folder, "h.jspf", json.dumps({"playlist": {"title": name, "track": tracks}})) == expected


@given(history=histories)
@settings(max_examples=20)
def test_parquet(folder, history):
    pa = pytest.importorskip("pyarrow", reason="the extra nearsong[parquet] is not installed")
    pq = pytest.importorskip("pyarrow.parquet", reason="the extra nearsong[parquet] is not installed")
    columns = dict(zip(["user", "artist", "title", "plays", "time"], zip(*history, strict=True), strict=True))
    buffer = io.BytesIO()
    pq.write_table(pa.table({name: list(values) for name, values in columns.items()}), buffer)
    found = read_back(folder, "h.parquet", buffer.getvalue())
    assert found == Counter((*row[:3], float(row[3]), row[4]) for row in history)
