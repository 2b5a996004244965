"""Songs: lists to page through, one song, its sound in parts, its cover."""

import io
import os
import shutil

import pytest

from nearsong.library.snapshot import Snapshot
from nearsong.web.media.files import ranges_of


def all_songs(client):
    found, address = [], "/api/v1/songs?limit=30"
    while address:
        page = client.get(address).json()
        found += page["items"]
        address = page["next"]
    return found


def audio_of(client, song):
    return client.get(f"/api/v1/songs/{song['id']}").json()["path"]


def test_pages_together_hold_every_song_once_and_next_leads_through_them(client):
    songs = all_songs(client)
    assert len({song["id"] for song in songs}) == len(songs) == 72
    assert client.get("/api/v1/songs?offset=70&limit=50").json()["next"] is None
    assert client.get("/api/v1/songs?offset=5000").json()["items"] == []


def test_next_keeps_what_was_asked_for(client):
    page = client.get("/api/v1/songs", params={"search": "band a", "sort": "title", "limit": 3}).json()
    following = client.get(page["next"]).json()
    assert following["offset"] == 3
    assert all(song["artist"].startswith("Band A") for song in following["items"])
    assert not {song["id"] for song in page["items"]} & {song["id"] for song in following["items"]}


def test_songs_can_be_asked_for_by_artist_album_and_genre(client):
    assert {song["artist"] for song in client.get("/api/v1/songs?artist=Band A3").json()["items"]} == {"Band A3"}
    assert client.get("/api/v1/songs?genre=low hum").json()["total"] == 24
    assert client.get("/api/v1/songs?album=First&artist=Band A0").json()["total"] == 2


def test_songs_with_a_heart_are_those_of_the_listener_the_latest_heart_first(trained, client):
    assert client.get("/api/v1/songs?hearts=true").json()["items"] == []
    for song in (3, 9, 7):
        client.put(f"/api/v1/songs/{song}/heart")
    client.put("/api/v1/songs/5/heart", params={"listener": "anna"})

    def hearted(**parameters):
        page = client.get("/api/v1/songs", params={"hearts": True, **parameters}).json()
        return [song["id"] for song in page["items"]]

    assert hearted() == [7, 9, 3]
    assert hearted(sort="artist") == [s["id"] for s in all_songs(client) if s["id"] in (3, 7, 9)]
    assert hearted(listener="anna") == [5]
    assert hearted(listener="nobody") == []
    assert hearted(search=client.get("/api/v1/songs/9").json()["title"]) == [9]
    page = client.get("/api/v1/songs?hearts=true&limit=2").json()
    assert (page["total"], [song["id"] for song in client.get(page["next"]).json()["items"]]) == (3, [3])
    page = client.get("/api/v1/songs?hearts=true&limit=1&listener=anna").json()
    assert page["next"] is None
    assert [song["id"] for song in client.get("/api/v1/home").json()["hearts"]] == [7, 9, 3]


def test_what_is_written_nearly_right_is_found_and_marked_so(client):
    page = client.get("/api/v1/songs?search=bnad").json()
    assert page["fuzzy"] is bool(page["items"])
    assert client.get("/api/v1/songs?search=band").json()["fuzzy"] is False


@pytest.mark.parametrize(
    "query", ["limit=0", "limit=201", "offset=-1", "sort=loudness", "limit=x", "search=" + 301 * "x"]
)
def test_an_odd_page_is_a_problem_that_names_the_field(client, query):
    answer = client.get(f"/api/v1/songs?{query}")
    assert answer.status_code == 422
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["detail"].startswith(query.partition("=")[0] + ":")


def test_genres_are_counted(client):
    assert {genre["name"]: genre["songs"] for genre in client.get("/api/v1/genres").json()} == {
        "low hum": 24,
        "mid hiss": 24,
        "high pulses": 24,
    }


def test_a_song_says_where_its_file_is_and_what_kind_it_is(client):
    song = client.get("/api/v1/songs/1").json()
    assert song["size"] == os.path.getsize(song["path"])
    assert (
        song["media_type"]
        == {"flac": "audio/flac", "ogg": "audio/ogg", "wav": "audio/wav"}[song["path"][-4:].strip(".")]
    )


@pytest.mark.parametrize("part", ["", "/audio", "/cover"])
@pytest.mark.parametrize(
    ("number", "status"), [("99999", 404), ("0", 422), ("-1", 422), ("x", 422), (str(2**63), 422)]
)
def test_a_song_that_is_not_there_is_a_problem(client, number, status, part):
    answer = client.get(f"/api/v1/songs/{number}{part}")
    assert answer.status_code == answer.json()["status"] == status


@pytest.mark.parametrize(
    "path", ["/api/v1/songs/../../etc/passwd", "/api/v1/songs/%2e%2e%2fetc/audio", "/static/%2e%2e/schemas.py"]
)
def test_no_address_leads_to_another_file(client, path):
    assert client.get(path).status_code in (404, 422)


def test_a_song_comes_as_it_is(client):
    for number in (1, 2, 3):
        song = client.get(f"/api/v1/songs/{number}").json()
        answer = client.get(f"/api/v1/songs/{number}/audio", headers={"Accept-Encoding": "gzip"})
        with open(song["path"], "rb") as file:
            assert answer.content == file.read()
        assert answer.headers["content-type"] == song["media_type"]
        assert answer.headers["accept-ranges"] == "bytes"
        assert "content-encoding" not in answer.headers


@pytest.mark.parametrize(
    ("header", "first", "last"),
    [("bytes=0-99", 0, 99), ("bytes=100-", 100, None), ("bytes=-50", -50, None), ("bytes=7-7", 7, 7)],
)
def test_a_part_is_the_part_of_the_file(client, header, first, last):
    path = audio_of(client, {"id": 1})
    with open(path, "rb") as file:
        complete = file.read()
    answer = client.get("/api/v1/songs/1/audio", headers={"Range": header})
    wanted = complete[first:] if last is None else complete[first : last + 1]
    assert answer.status_code == 206
    assert answer.content == wanted
    start = len(complete) + first if first < 0 else first
    assert answer.headers["content-range"] == f"bytes {start}-{start + len(wanted) - 1}/{len(complete)}"


def test_several_parts_come_in_one_answer(client):
    with open(audio_of(client, {"id": 1}), "rb") as file:
        complete = file.read()
    answer = client.get("/api/v1/songs/1/audio", headers={"Range": "bytes=0-9, 100-109, 99999999-"})
    assert answer.status_code == 206
    kind, _, boundary = answer.headers["content-type"].partition("; boundary=")
    assert kind == "multipart/byteranges"
    parts = [part.split(b"\r\n\r\n", 1)[1][:10] for part in answer.content.split(f"--{boundary}".encode())[1:3]]
    assert parts == [complete[:10], complete[100:110]]
    assert len(answer.content) == int(answer.headers["content-length"])


def test_a_part_behind_the_end_is_problem_416_with_the_size(client):
    size = os.path.getsize(audio_of(client, {"id": 1}))
    for header in (f"bytes={size}-", "bytes=-0", f"bytes={size}-,{size + 5}-"):
        answer = client.get("/api/v1/songs/1/audio", headers={"Range": header})
        assert answer.status_code == 416
        assert answer.headers["content-range"] == f"bytes */{size}"
        assert answer.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize(
    "header", ["lines=1-2", "bytes=", "bytes=x-y", "bytes=9-1", "bytes", "bytes=" + "0-1," * 50 + "0-1", "bytes=١-٢"]
)
def test_a_range_that_means_nothing_is_ignored(client, header):
    answer = client.get("/api/v1/songs/1/audio", headers={"Range": header.encode()})
    assert answer.status_code == 200
    assert len(answer.content) == os.path.getsize(audio_of(client, {"id": 1}))


def test_a_part_is_only_sent_if_the_file_is_still_the_one_the_caller_has(client):
    address = "/api/v1/songs/1/audio"
    tag = client.head(address).headers["etag"]
    part = {"Range": "bytes=0-9"}
    assert client.get(address, headers={**part, "If-Range": tag}).status_code == 206
    assert client.get(address, headers={**part, "If-Range": '"another"'}).status_code == 200
    assert client.get(address, headers={**part, "If-Range": f"W/{tag}"}).status_code == 200
    assert (
        client.get(address, headers={**part, "If-Range": client.head(address).headers["last-modified"]}).status_code
        == 206
    )


def test_the_caller_who_has_the_file_gets_a_304(client):
    address = "/api/v1/songs/1/audio"
    head = client.head(address)
    assert head.status_code == 200
    assert head.content == b""
    assert int(head.headers["content-length"]) == os.path.getsize(audio_of(client, {"id": 1}))
    for header in (head.headers["etag"], "W/" + head.headers["etag"], '"x", ' + head.headers["etag"], "*"):
        assert client.get(address, headers={"If-None-Match": header}).status_code == 304
    assert client.get(address, headers={"If-None-Match": '"x"'}).status_code == 200


def test_a_file_that_is_gone_is_a_404_that_says_so(client, monkeypatch):
    song = client.service.snapshot.song(1)
    monkeypatch.setattr(Snapshot, "song", lambda *_: _moved(song, "/nowhere/at/all.flac"))
    answer = client.get("/api/v1/songs/1/audio")
    assert answer.status_code == 404
    assert answer.json()["detail"] == "the file of song 1 is missing; restore it and scan again."
    assert client.get("/api/v1/songs/1").json()["size"] is None
    assert client.get("/api/v1/songs/1/cover?placeholder=true").status_code == 200


def test_a_folder_instead_of_a_file_is_gone_too(client, monkeypatch, tmp_path):
    song = client.service.snapshot.song(1)
    monkeypatch.setattr(Snapshot, "song", lambda *_: _moved(song, str(tmp_path)))
    assert client.get("/api/v1/songs/1/audio").status_code == 404


def test_a_page_among_the_songs_is_never_sent_as_a_page(client, monkeypatch, tmp_path):
    page = tmp_path / "song.html"
    page.write_text("<script>alert(1)</script>")
    song = client.service.snapshot.song(1)
    monkeypatch.setattr(Snapshot, "song", lambda *_: _moved(song, str(page)))
    answer = client.get("/api/v1/songs/1/audio")
    assert answer.headers["content-type"] == "application/octet-stream"
    assert answer.headers["x-content-type-options"] == "nosniff"


def _moved(song, path):
    return type(song)(**{name: getattr(song, name) for name in song.__slots__} | {"path": path})


def test_ranges_stay_inside_of_the_file():
    for size in (1, 2, 10):
        for first in range(12):
            for last in range(first, 12):
                for start, end in ranges_of(f"bytes={first}-{last},-{last},{first}-", size):
                    assert 0 <= start <= end < size


# ---- covers


def test_a_song_without_a_picture_has_a_drawing_if_that_is_asked_for(client):
    assert client.get("/api/v1/songs/1/cover").status_code == 404
    answer = client.get("/api/v1/songs/1/cover?placeholder=true")
    assert answer.headers["content-type"].startswith("image/svg+xml")
    assert answer.headers["content-security-policy"] == "default-src 'none'; style-src 'unsafe-inline'"
    assert answer.headers["x-content-type-options"] == "nosniff"


def test_the_picture_next_to_a_song_is_made_small_and_can_be_cached(client, monkeypatch, tmp_path):
    Image = pytest.importorskip("PIL.Image")
    Image.new("RGB", (600, 400), "teal").save(tmp_path / "cover.jpg")
    song = client.service.snapshot.song(1)
    file = shutil.copy(song.path, tmp_path / os.path.basename(song.path))
    monkeypatch.setattr(Snapshot, "song", lambda *_: _moved(song, str(file)))
    answer = client.get("/api/v1/songs/1/cover?size=100")
    assert max(Image.open(io.BytesIO(answer.content)).size) == 100
    assert answer.headers["cache-control"] == "private, max-age=600"
    assert answer.headers["content-security-policy"].startswith("default-src 'none'; script-src 'self'")
    again = client.get("/api/v1/songs/1/cover?size=100", headers={"If-None-Match": answer.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert client.head("/api/v1/songs/1/cover?size=100").headers["etag"] == answer.headers["etag"]


def test_a_broken_picture_is_as_good_as_none(client, monkeypatch, tmp_path):
    (tmp_path / "cover.jpg").write_bytes(b"\xff\xd8\xff" + 1000 * b"no picture")
    song = client.service.snapshot.song(1)
    file = shutil.copy(song.path, tmp_path / os.path.basename(song.path))
    monkeypatch.setattr(Snapshot, "song", lambda *_: _moved(song, str(file)))
    assert client.get("/api/v1/songs/1/cover").status_code == 404
    assert client.get("/api/v1/songs/1/cover?placeholder=true").status_code == 200


@pytest.mark.parametrize("size", [15, 1201, "x"])
def test_a_cover_of_an_odd_size_is_a_problem(client, size):
    assert client.get(f"/api/v1/songs/1/cover?size={size}").status_code == 422
