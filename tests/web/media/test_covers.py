"""Covers are read in workers with limits, from files that belong to the library."""

import os
import shutil
import struct
import sys
import threading
import zlib
from concurrent.futures import ThreadPoolExecutor

import pytest
from mutagen.flac import FLAC, Picture

from nearsong.errors import AudioTimeoutError
from nearsong.library.files.drawn_cover import painted_placeholder
from nearsong.library.snapshot import Snapshot
from nearsong.web.media import covers as serving
from peak_memory import peak_memory
from pictures import RED
from waiting import wait_for

COVER = "/api/v1/songs/1/cover"
DRAWING = f"{COVER}?placeholder=true"
TIMEOUT_SECONDS = 60


@pytest.fixture
def album(client, monkeypatch, tmp_path):
    """Return the path of song 1, copied to a scanned folder that a test may change."""
    song = client.service.snapshot.song(1)
    folder = tmp_path / "music" / "album"
    folder.mkdir(parents=True)
    path = shutil.copy(song.path, folder / os.path.basename(song.path))
    moved = type(song)(**{name: getattr(song, name) for name in song.__slots__} | {"path": str(path)})
    monkeypatch.setattr(Snapshot, "song", lambda *_: moved)
    monkeypatch.setattr(type(client.service.library), "folders", [str(folder.parent)])
    return path


@pytest.fixture
def secret(tmp_path):
    """Return a picture outside the scanned folders."""
    path = tmp_path / "secret.jpg"
    path.write_bytes(RED)
    return path


def art_of(client):
    """Return what a player gets."""
    return client.get("/rest/getCoverArt?u=me&p=x&f=json&id=1")


def has_cover(client):
    """Return whether the page and players get a picture of song 1; both, or both a drawing."""
    song = client.service.snapshot.song(1)
    painted = painted_placeholder(song.artist, song.album or song.title, 512).data
    answers = [client.get(COVER).status_code == 200, art_of(client).content != painted]
    drawn = client.get(DRAWING).headers["content-type"].startswith("image/svg")
    assert answers == 2 * [not drawn]
    return answers[0]


def with_picture(path, data):
    """Embed a picture in a song of any format as FLAC would have it."""
    file = FLAC(path)
    picture = Picture()
    picture.type, picture.data = 3, data
    file.add_picture(picture)
    file.save()
    return path


def test_a_picture_that_is_a_link_out_of_the_library_is_not_served(client, album, secret):
    cover = album.parent / "cover.jpg"
    cover.symlink_to(secret)
    assert not has_cover(client)
    cover.unlink()
    inside = shutil.copy(secret, album.parent.parent / "front.jpg")
    cover.symlink_to(inside)
    assert has_cover(client)


def test_a_folder_that_became_a_link_out_of_the_library_has_no_cover(client, album, secret, tmp_path):
    outside = tmp_path / "outside"
    shutil.copytree(album.parent, outside)
    shutil.copy(secret, outside / "cover.jpg")
    shutil.rmtree(album.parent)
    album.parent.symlink_to(outside)
    assert not has_cover(client)


def test_a_song_that_became_a_link_gives_neither_its_sound_nor_a_cover(client, album, tmp_path):
    outside = with_picture(shutil.copy(album, tmp_path / "outside.flac"), RED)
    shutil.copy(outside, album)
    assert has_cover(client)
    album.unlink()
    album.symlink_to(outside)
    assert not has_cover(client)
    assert client.get("/api/v1/songs/1/audio").status_code == 404


@pytest.mark.skipif(os.name != "posix", reason="needs pipes")
def test_a_pipe_instead_of_a_picture_or_a_song_is_no_cover(client, album):
    os.mkfifo(album.parent / "cover.jpg")
    assert not has_cover(client)
    (album.parent / "cover.jpg").unlink()
    (album.parent / "cover.jpg").write_bytes(RED)
    assert has_cover(client)
    album.unlink()
    os.mkfifo(album)
    assert not has_cover(client)


def test_pictures_of_the_page_and_of_players_are_parsed_in_another_process(client, album, monkeypatch):
    (album.parent / "cover.jpg").write_bytes(RED)
    monkeypatch.setattr("nearsong.library.files.cover.cover_of", None)  # in this process
    monkeypatch.setattr("PIL.Image.open", None)
    assert has_cover(client)


def png_of(side):
    """Return a black PNG of some kilobytes, whatever its side."""
    rows = zlib.compressobj(9)
    packed = b"".join(rows.compress(bytes(1 + side // 8)) for _ in range(side)) + rows.flush()

    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    head = struct.pack(">IIBBBBB", side, side, 1, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", packed) + chunk(b"IEND", b"")


@pytest.mark.skipif(sys.platform != "linux", reason="measures memory by /proc")
def test_a_flood_of_large_covers_takes_no_memory_of_the_service(client, album):
    with_picture(album, RED + bytes(15 << 20))
    (album.parent / "cover.png").write_bytes(png_of(20_000))  # too many pixels
    assert client.get(COVER).status_code == 200  # the workers run

    def ask(number):
        return client.get(f"{COVER}?size={100 + number}").status_code

    with ThreadPoolExecutor(100) as callers, peak_memory() as peak:
        statuses = set(callers.map(ask, range(100)))
    assert 200 in statuses
    assert statuses <= {200, 503}
    assert peak.growth < 100 << 20


def test_a_picture_of_too_many_pixels_is_no_cover(client, album):
    (album.parent / "cover.png").write_bytes(png_of(20_000))
    assert not has_cover(client)


def test_covers_beyond_those_that_may_wait_are_refused_or_drawn_for_now(client, album, monkeypatch):
    (album.parent / "cover.jpg").write_bytes(RED)
    entered, release = threading.Semaphore(0), threading.Event()
    really = client.service.covers._workers.run

    def held(*arguments):
        entered.release()
        assert release.wait(TIMEOUT_SECONDS)
        return really(*arguments)

    limit = serving.ConcurrencyLimit(1, 1, what="covers")
    monkeypatch.setattr(client.service.covers, "_limit", limit)
    monkeypatch.setattr(client.service.covers._workers, "run", held)
    with ThreadPoolExecutor(2) as callers:
        try:
            first = callers.submit(client.get, f"{COVER}?size=100")
            assert entered.acquire(timeout=TIMEOUT_SECONDS)
            second = callers.submit(client.get, f"{COVER}?size=200")
            wait_for(lambda: limit._admitted._value == 0)
            refused, drawn, art = client.get(f"{COVER}?size=300"), client.get(f"{DRAWING}&size=300"), art_of(client)
        finally:
            release.set()
        assert (first.result().status_code, second.result().status_code) == (200, 200)
    assert (refused.status_code, refused.json()["type"]) == (503, "urn:nearsong:busy")
    assert refused.json()["detail"] == "too many covers are in progress; try again in a few seconds."
    assert art.status_code == 503
    assert drawn.headers["content-type"].startswith("image/svg")
    assert drawn.headers["cache-control"] == "no-store"
    assert client.get(f"{COVER}?size=300").status_code == 200


def test_a_cover_that_takes_too_long_counts_as_none_and_is_not_tried_again(client, album, monkeypatch):
    tried = []

    def too_slow(path, *arguments):
        tried.append(path)
        raise AudioTimeoutError(path, "took longer than 20.0 s to read and was skipped.")

    monkeypatch.setattr(client.service.covers._workers, "run", too_slow)
    assert [client.get(COVER).status_code for _ in range(3)] == [404, 404, 404]
    assert tried == [str(album)]
