"""What was converted is cached within bounds, made again when it is gone, and removed with the service."""

import asyncio
import os
import shutil
import stat

import foreign_music
from foreign_music import address_of, complete, left_in
from nearsong.audio.conversion.forms import AudioFormat
from nearsong.audio.workers import AudioWorkers
from nearsong.temporary import CONVERTED_PREFIX as PREFIX
from nearsong.web.media.converted import Conversions

# ---- what is cached


def test_what_was_made_serves_again_and_goes_with_the_service(make_client, foreign, temporary, held):
    held.gate.set()
    client = make_client(foreign)
    first = complete(client, address_of(foreign, "AIFF")).content
    assert client.get(address_of(foreign, "AIFF")).content == first
    assert held.begun == ["AIFF"]
    (folder,) = temporary.glob(f"{PREFIX}*")  # the first worker of a process has a folder of its own
    assert folder.stat().st_mode & 0o777 == 0o700
    assert len(left_in(folder)) == 1
    client.close()
    assert list(temporary.glob(f"{PREFIX}*")) == []


def test_what_was_asked_for_longest_ago_makes_space(make_client, foreign, temporary, held):
    held.gate.set()
    client = make_client(foreign)
    titles = ("AIFF", "Apple Lossless", "WMA")
    sizes = {title: len(client.get(address_of(foreign, title)).content) for title in titles}
    client.service.conversions.max_bytes = sum(sizes.values()) - 1
    client.get(address_of(foreign, "AIFF"))  # now the second is the oldest
    number = foreign_music.number_of(foreign, "AAC")
    stream = f"/rest/stream?u=a&p=a&c=t&v=1.16.1&id={number}&format=mp3"
    assert client.get(stream).headers["content-type"] == "audio/mpeg"
    stored = sum(os.path.getsize(path) for path in temporary.rglob("*.*") if path.is_file())
    assert stored <= client.service.conversions.max_bytes
    held.begun.clear()
    for title in ("AIFF", "WMA", "Apple Lossless"):
        client.get(address_of(foreign, title))
    assert held.begun == ["Apple Lossless"]


def test_what_is_being_sent_is_sent_to_its_end_though_it_is_removed(make_client, foreign, temporary):
    client = make_client(foreign)
    conversions = client.service.conversions
    made = complete(client, address_of(foreign, "AIFF")).content
    song = client.service.snapshot.song(foreign_music.number_of(foreign, "AIFF"))
    with asyncio.run(conversions.open_converted(song, foreign.open_file(song), AudioFormat())) as stored:
        for path in temporary.rglob("*.flac"):
            path.unlink()
        assert stored.file.read() == made
    assert complete(client, address_of(foreign, "AIFF")).content == made  # made again
    shutil.rmtree(next(temporary.iterdir()))
    assert complete(client, address_of(foreign, "AIFF")).content == made


def test_a_worker_writes_to_a_new_private_file_whose_name_nobody_can_guess(
    make_client, foreign, temporary, monkeypatch
):
    write, names = Conversions._write, []

    def watched(self, request, target, max_bytes):
        facts = os.lstat(target)
        assert (stat.S_ISREG(facts.st_mode), stat.S_IMODE(facts.st_mode), facts.st_size) == (True, 0o600, 0)
        names.append(target.name)
        write(self, request, target, max_bytes)

    monkeypatch.setattr(Conversions, "_write", watched)
    client = make_client(foreign)
    for _ in range(2):
        assert client.get(address_of(foreign, "AIFF")).status_code == 200
        for path in temporary.rglob("*.flac"):
            path.unlink()
    assert len(set(names)) == 2


def test_a_killed_services_folder_goes_when_the_next_one_starts(make_client, foreign, temporary):
    old = temporary / f"{PREFIX}old"
    old.mkdir()
    (old / "in-use").touch()
    (old / "song.flac").write_bytes(b"x")
    make_client(foreign)
    assert list(temporary.iterdir()) == []


# ---- where there is little space


def test_where_little_space_is_left_a_song_is_not_called_too_long_and_works_when_there_is_more(
    make_client, foreign, temporary, monkeypatch
):
    client, free = make_client(foreign), 30_000
    real = shutil.disk_usage
    monkeypatch.setattr(shutil, "disk_usage", lambda path: real(path)._replace(free=free))
    refused = client.get(address_of(foreign, "AIFF"))
    assert (refused.status_code, refused.json()["type"]) == (507, "urn:nearsong:no-room")
    assert refused.json()["detail"].startswith("no space to convert the song (little space is left); free")
    assert left_in(temporary) == []
    monkeypatch.undo()
    assert client.get(address_of(foreign, "AIFF")).status_code == 200


def test_what_is_cached_makes_space_where_others_have_filled_the_disk(make_client, foreign, temporary, monkeypatch):
    client = make_client(foreign)
    sizes = [len(client.get(address_of(foreign, title)).content) for title in ("AIFF", "Apple Lossless")]
    assert len(left_in(temporary)) == 2
    real = shutil.disk_usage
    monkeypatch.setattr(shutil, "disk_usage", lambda path: real(path)._replace(free=2 * max(sizes)))
    client.get(address_of(foreign, "WMA"))
    assert sum(path.stat().st_size for path in temporary.rglob("*.flac")) <= (2 * max(sizes) + sum(sizes)) / 3


def test_a_folder_that_is_removed_while_a_song_is_converted_is_not_the_songs_fault(
    make_client, foreign, temporary, monkeypatch
):
    client = make_client(foreign)
    run = AudioWorkers.run
    once = iter([True])

    def tidied(*given):
        if next(once, False):
            shutil.rmtree(next(temporary.iterdir()))
        return run(*given)

    monkeypatch.setattr(AudioWorkers, "run", tidied)
    answer = client.get(address_of(foreign, "AIFF"))
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "5")
    assert client.get(address_of(foreign, "AIFF")).status_code == 200


def test_a_worker_that_is_killed_costs_one_answer_and_leaves_nothing(make_client, foreign, temporary, monkeypatch):
    client = make_client(foreign)
    assert client.get(address_of(foreign, "WMA")).status_code == 200
    before = left_in(temporary)
    workers = client.service.conversions._workers
    monkeypatch.setattr(workers, "_function", foreign_music.be_killed)
    pool, workers._pool = workers._pool, None
    pool.stop()
    pool.join()
    answer = client.get(address_of(foreign, "AIFF"))
    assert (answer.status_code, answer.json()["type"]) == (422, "urn:nearsong:unusable-audio")
    assert left_in(temporary) == before
    assert client.service.conversions.n_active == 0


def test_two_services_leave_each_others_folders_alone(make_client, foreign, temporary):
    first, second = make_client(foreign), make_client(foreign)
    sound = complete(first, address_of(foreign, "AIFF")).content
    assert complete(second, address_of(foreign, "AIFF")).content == sound
    assert len(list(temporary.iterdir())) == 2
    third = make_client(foreign)  # sweeps when it starts
    third.close()
    second.close()
    assert len(list(temporary.iterdir())) == 1
    assert first.get(address_of(foreign, "AIFF")).content == sound
