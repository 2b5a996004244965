"""ListenBrainz, Spotify and records in general; arrays, lines, objects; complete and cut."""

import io
import json
import zipfile

import pytest

from nearsong.errors import ListensError
from nearsong.listens import MIN_PLAY_MS, json_records, open_listens, sources
from nearsong.listens.blocks import RowCounts
from nearsong.listens.records import Action
from nearsong.listens.services.listenbrainz import listen_row

SENT = "b10bbbfc-cf9e-42e0-be17-e2c3e1d2600d"
MATCHED = "3bd73256-3905-4f3a-97e2-8b341527f805"
MOMENT = 1675168440


def listen(artist="Björk", title="Jóga", time=MOMENT, **more):
    return {"listened_at": time, "track_metadata": {"artist_name": artist, "track_name": title}, **more}


def stream(artist="Björk", title="Jóga", ms=MIN_PLAY_MS, **more):
    """Make a stream that ended half a minute after MOMENT."""
    return {
        "ts": "2023-01-31T12:34:30Z",
        "ms_played": ms,
        "master_metadata_track_name": title,
        "master_metadata_album_artist_name": artist,
        "episode_name": None,
        **more,
    }


def old_stream(artist="Björk", title="Jóga", ms=MIN_PLAY_MS):
    return {"endTime": "2023-01-31 12:34", "artistName": artist, "trackName": title, "msPlayed": ms}


def lines(records):
    return "".join(json.dumps(record) + "\n" for record in records)


@pytest.mark.parametrize(
    "text",
    [
        lines([listen()]),
        lines([listen(time=float(MOMENT))]),
        json.dumps([listen()]),
        json.dumps([listen()], indent=2),
        json.dumps({"payload": {"count": 1, "listens": [listen()], "latest_listen_ts": 5}}),
        json.dumps({"payload": {"count": 1, "listens": [listen()]}}, indent=4),
    ],
)
def test_listenbrainz_in_every_shape(write, listens, text):
    path = write("listens.json", text)
    history = open_listens(path)
    assert (history.format, history.kind) == ("listenbrainz", "events")
    assert listens(path) == [("me", "Björk", "Jóga", 1, MOMENT)]


def test_listenbrainz_dumps_name_users_and_call_time_otherwise(write, listens):
    record = listen(user_name="ann", timestamp=MOMENT)
    del record["listened_at"]
    assert listens(write("1.jsonl", lines([record]))) == [("ann", "Björk", "Jóga", 1, MOMENT)]


def test_what_listenbrainz_says_is_playing_now_is_no_listen(write, listens):
    assert len(listens(write("1.json", json.dumps([listen(), listen(playing_now=True, time=None)])))) == 1


def test_what_listenbrainz_matched_goes_before_what_was_sent():
    record = listen()
    record["track_metadata"]["additional_info"] = {"recording_mbid": SENT, "artist_mbids": [SENT, MATCHED]}
    assert listen_row(record)[3:5] == (SENT, SENT)
    record["track_metadata"]["mbid_mapping"] = {"recording_mbid": MATCHED, "artist_mbids": [MATCHED, SENT]}
    assert listen_row(record)[3:5] == (MATCHED, MATCHED)
    record["track_metadata"]["mbid_mapping"] = None
    assert listen_row(record)[3:5] == (SENT, SENT)


def test_the_zip_of_an_export_is_read_and_names_its_user(write, listens):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("user.json", json.dumps({"user_id": 1, "username": "ann"}))
        archive.writestr("listens/2023/1.jsonl", lines([listen()]))
        archive.writestr("listens/2023/2.jsonl", lines([listen("Múm", time=MOMENT + 1)]))
        archive.writestr("feedback.jsonl", lines([{"recording_mbid": SENT, "score": 1, "created": 5}]))
    path = write("listenbrainz_ann.zip", buffer.getvalue())
    assert (open_listens(path).format, open_listens(path).kind) == ("listenbrainz", "events")
    assert listens(path) == [("ann", "Björk", "Jóga", 1, MOMENT), ("ann", "Múm", "Jóga", 1, MOMENT + 1)]
    assert len(list(open_listens(path).blocks())) == 1  # small files share a block


def test_short_streams_of_spotify_are_skips_and_unknown_ones_are_left_out(write, listens):
    reported, counts = [], RowCounts()
    records = [old_stream(), old_stream(ms=29_999), old_stream("Unknown Artist", "Unknown Track"), old_stream("")]
    path = write("StreamingHistory_music_0.json", json.dumps(records, indent=2))
    assert (open_listens(path).format, open_listens(path).kind) == ("spotify-account", "events")
    row = ("ann", "Björk", "Jóga", 1, MOMENT - 30)  # when it began: the file has the minute in which it ended
    assert listens(path, user="ann", on_bad_row=reported.append, counts=counts) == [row]
    assert listens(path, user="ann", action=Action.SKIP) == [row]
    assert reported == []
    assert (counts.read, counts.left_out, counts.total) == (2, {"without artist or title": 2}, 4)


def test_short_streams_of_the_extended_history_are_skips_and_podcasts_are_left_out(write, listens):
    reported, counts = [], RowCounts()
    records = [
        stream(None, None, episode_name="Talk", episode_show_name="Show"),
        stream(username="ann"),
        stream(username=None),
        stream(ms=29_999),
        stream("Reader", "Chapter 1", episode_name="Chapter 1"),
    ]
    path = write("Streaming_History_Audio_2023_1.json", json.dumps(records))
    assert (open_listens(path).format, open_listens(path).kind) == ("spotify-extended", "events")
    assert listens(path, on_bad_row=reported.append, counts=counts) == [
        ("ann", "Björk", "Jóga", 1, MOMENT),
        ("me", "Björk", "Jóga", 1, MOMENT),
    ]
    assert listens(path, action=Action.SKIP) == [("me", "Björk", "Jóga", 1, MOMENT)]
    assert reported == []
    assert (counts.read, counts.left_out, counts.total) == (3, {"podcasts, audiobooks and videos": 2}, 5)


def test_podcasts_alone_and_other_files_of_spotify_are_no_history(write):
    podcasts = [{"endTime": "2023-01-31 12:34", "podcastName": "P", "episodeName": "E", "msPlayed": 99999}]
    with pytest.raises(ListensError, match="is a history of podcasts; there is no music in it"):
        open_listens(write("StreamingHistory_podcast_0.json", json.dumps(podcasts)))
    with pytest.raises(
        ListensError, match=r"Userdata.json is not a recognised listening history.*fields username, email"
    ):
        open_listens(write("Userdata.json", json.dumps({"username": "ann", "email": "a@b.c"}, indent=2)))
    with pytest.raises(ListensError, match=r"Marquee.json is not a recognised listening history|Marquee.json lists"):
        open_listens(write("Marquee.json", json.dumps([{"artistName": "A", "segment": "Light"}])))


@pytest.mark.parametrize(
    "text",
    [
        json.dumps([{"user": "ann", "artist": "Björk", "track": "Jóga", "timestamp": MOMENT}]),
        lines([{"user": "ann", "artist_name": "Björk", "title": "Jóga", "played_at": "2023-01-31 12:34"}]),
        json.dumps({"username": "ann", "scrobbles": [{"track": "Jóga", "artist": "Björk", "date": MOMENT * 1000}]}),
        json.dumps(
            [[
                {"user": "ann", "artist": {"#text": "Björk"}, "name": "Jóga", "@attr": {"nowplaying": "true"}},
                {"user": "ann", "artist": {"#text": "Björk"}, "name": "Jóga", "date": {"uts": str(MOMENT)}},
            ]]
        ),
    ],
)  # fmt: skip
def test_records_of_other_programs_are_read_by_their_fields(write, listens, text):
    path = write("history.json", text)
    assert open_listens(path).format == "json"
    assert listens(path) == [("ann", "Björk", "Jóga", 1, MOMENT)]


@pytest.mark.parametrize("name", ['"a\nb"', '"a\x07b"', '"a\\xb"'])
def test_a_user_name_that_is_no_json_is_refused_in_one_line(write, name):
    path = write("history.json", '{"username": ' + name + ', "scrobbles": [{"track": "Jóga", "artist": "Björk"}]}')
    with pytest.raises(
        ListensError, match=r"history.json .* its user name .* export or download it again"
    ) as refused:
        open_listens(path)
    assert "\n" not in str(refused.value)


def test_counts_as_records(write, listens):
    path = write("counts.jsonl", lines([{"user": "ann", "artist": 311, "plays": 3}, {"user": "b", "artist": "C"}]))
    assert open_listens(path).kind == "counts"
    assert listens(path) == [("ann", "311", "", 3, 0), ("b", "C", "", 1, 0)]


def test_broken_lines_and_records_are_reported_with_their_numbers(write, listens):
    reported = []
    good = lines([listen()] * 5)
    path = write(
        "listens.jsonl", good + '{"listened_at":\n\n[]\n{"track_metadata": {}}\n' + lines([listen("")]) + good
    )
    assert len(listens(path, on_bad_row=reported.append)) == 10
    assert [message.split("line ")[1].split(":")[0] for message in reported] == ["6", "8", "9", "10"]
    assert "not JSON" in reported[0]
    assert "a field is missing" in reported[1]
    assert "the artist is missing" in reported[3]


def test_bad_records_of_an_array_are_counted(write, listens):
    reported = []
    path = write("listens.json", json.dumps([listen(), listen(), {"listened_at": 5}, 7, listen()]))
    assert len(listens(path, on_bad_row=reported.append)) == 3
    assert [message.split("json, ")[1].split(":")[0] for message in reported] == ["record 3", "record 4"]


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("length", [0.5, 0.9, 0.999])
def test_a_cut_array_raises_and_says_where(write, listens, indent, length):
    text = json.dumps([listen(f"artist {i}") for i in range(200)], indent=indent)
    path = write("listens.json", text[: int(len(text) * length)])
    with pytest.raises(
        ListensError, match=r"listens.json is truncated or invalid JSON in record \d+, line \d+; export or download"
    ):
        listens(path)


def test_a_cut_last_line_raises_and_says_where(write, listens):
    with pytest.raises(ListensError, match=r"listens.jsonl is truncated in line 20; export or download it again"):
        listens(write("listens.jsonl", lines([listen()] * 20)[:-5]))


def test_an_array_broken_in_the_middle_raises_without_reading_on_for_ever(write, listens, monkeypatch):
    monkeypatch.setattr(sources, "CHUNK_BYTES", 1 << 10)
    monkeypatch.setattr(json_records, "MAX_RECORD_CHARACTERS", 1 << 14)
    text = json.dumps([listen()] * 100)[:-1] + ", {broken}, " + json.dumps([listen()] * 1000)[1:]
    with pytest.raises(ListensError, match="truncated or invalid JSON in record 101"):
        listens(write("listens.json", text))


@pytest.mark.parametrize("size", [7, 64, 1000])
@pytest.mark.parametrize("indent", [None, 1])
def test_records_are_complete_however_the_file_is_cut_into_pieces(write, listens, monkeypatch, size, indent):
    records = [listen(f"Björk {i}", time=MOMENT + i) for i in range(50)]
    path = write("listens.json", json.dumps(records, indent=indent, ensure_ascii=False))
    history = open_listens(path)
    monkeypatch.setattr(sources, "CHUNK_BYTES", size)
    found = [block.tracks[item].artist for block in history.blocks() for item in block.item]
    assert found == [f"Björk {i}" for i in range(50)]


@pytest.mark.parametrize("text", ["[]", "{}", "[[]]", "[1, 2]", "{}\n{}\n"])
def test_no_records_is_an_error(write, text):
    with pytest.raises(ListensError, match="has no records"):
        open_listens(write("listens.json", text))


@pytest.mark.parametrize("text", ["{", "[{", '{"playlist": {"track": [', "[" * 100_000, '{"a":' * 100_000])
def test_broken_json_is_one_line(write, text):
    with pytest.raises(ListensError, match="truncated or invalid JSON"):
        open_listens(write("listens.json", text))
