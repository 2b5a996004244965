"""Clients that nobody here wrote, liblistenbrainz and pylistenbrainz, submit to a real server and read it back."""

import time

import liblistenbrainz
import liblistenbrainz.errors
import pylistenbrainz
import pytest

from nearsong.library import Library

MBIDS = ("b1a9c0e9-d987-4042-ae91-78d6a3267d69", "87c5dedd-371d-4a53-9f7f-80522fb7f3cb")


def connected(served, token):
    client = liblistenbrainz.ListenBrainz(api_base_url=served.address)
    client.set_auth_token(token)
    return client


def test_the_client_submits_and_reads_back(served):
    client = connected(served, served.ben)
    now = int(time.time())
    listen = liblistenbrainz.Listen(
        track_name="Jóga",
        artist_name="Björk",
        listened_at=now - 900,
        release_name="Homogenic",
        recording_mbid=MBIDS[0],
        artist_mbids=[MBIDS[1]],
        tags=["electronic"],
        tracknumber=2,
        additional_info={"duration_ms": 305_000, "media_player": "Player", "submission_client": "x"},
    )
    assert client.submit_single_listen(listen) == {"status": "ok"}
    assert client.submit_single_listen(listen) == {"status": "ok"}, "an offline client repeats itself"
    many = [liblistenbrainz.Listen(f"Song {n}", "Ann", listened_at=now - 1_000 - 240 * n) for n in range(300)]
    assert client.submit_multiple_listens(many) == {"status": "ok"}
    assert served.played("Ben")[:2] == [("Björk", "Jóga", now - 900), ("Ann", "Song 0", now - 1_000)]
    read = client.get_listens("Ben", count=100)
    assert [one.track_name for one in read] == ["Jóga", *(f"Song {n}" for n in range(99))]
    assert (read[0].artist_name, read[0].listened_at, read[0].username) == ("Björk", now - 900, None)
    assert (read[0].recording_mbid, read[0].artist_mbids) == (MBIDS[0], [MBIDS[1]])
    assert len(client.get_listens("Ben")) == 25
    older = client.get_listens("Ben", max_ts=now - 1_000, count=2)
    assert [one.track_name for one in older] == ["Song 1", "Song 2"]
    newer = client.get_listens("Ben", min_ts=now - 1_000 - 240 * 5, count=2)
    assert [one.track_name for one in newer] == ["Song 3", "Song 4"]
    assert client.get_user_listen_count("Ben") == 301


def test_the_client_shows_what_plays_now_and_it_is_not_recorded(served):
    client = connected(served, served.ben)
    assert client.get_playing_now("Ben") is None
    assert client.submit_playing_now(liblistenbrainz.Listen("Joga", "Bjork")) == {"status": "ok"}
    playing = client.get_playing_now("ben")
    assert (playing.artist_name, playing.track_name, playing.listened_at) == ("Bjork", "Joga", None)
    assert served.played("Ben") == []


def test_a_wrong_token_is_the_clients_own_error(served):
    with pytest.raises(liblistenbrainz.errors.InvalidAuthTokenException):
        connected(served, "wrong")
    client = liblistenbrainz.ListenBrainz(api_base_url=served.address)
    client.set_auth_token("wrong", check_validity=False)
    with pytest.raises(liblistenbrainz.errors.ListenBrainzAPIException) as caught:
        client.submit_single_listen(liblistenbrainz.Listen("a", "b", listened_at=int(time.time())))
    assert (caught.value.status_code, "wrong token" in caught.value.message) == (401, True)


def test_nobody_but_an_admin_sees_what_others_play(served):
    ben, anna = connected(served, served.ben), connected(served, served.anna)
    anna.submit_single_listen(liblistenbrainz.Listen("One", "Ann", listened_at=int(time.time())))
    ben.submit_single_listen(liblistenbrainz.Listen("Two", "Bob", listened_at=int(time.time())))
    for read in (ben.get_listens, ben.get_playing_now, ben.get_user_listen_count):
        with pytest.raises(liblistenbrainz.errors.ListenBrainzAPIException) as caught:
            read("Anna")
        assert (caught.value.status_code, "only an admin" in caught.value.message) == (403, True)
    assert [one.track_name for one in anna.get_listens("Ben")] == ["Two"]


def test_the_older_client_that_sends_its_token_in_the_address_works_too(served, monkeypatch):
    monkeypatch.setattr("pylistenbrainz.client.API_BASE_URL", served.address)
    client = pylistenbrainz.ListenBrainz()
    assert (client.is_token_valid(served.ben), client.is_token_valid("wrong")) == (True, False)
    client.set_auth_token(served.ben)
    now = int(time.time())
    client.submit_single_listen(pylistenbrainz.Listen("One", "Ann", listened_at=now))
    client.submit_playing_now(pylistenbrainz.Listen("Two", "Ann"))
    assert [one.track_name for one in client.get_listens("Ben")] == ["One"]
    assert client.get_playing_now("Ben").track_name == "Two"


def test_an_open_service_takes_any_token(open_service):
    client = connected(open_service, "anything")
    client.submit_single_listen(liblistenbrainz.Listen("One", "Ann", listened_at=int(time.time())))
    assert [title for _, title, _ in open_service.played("me")] == ["One"]
    assert client.get_user_listen_count("me") == 1


def test_another_library_pulls_from_the_service(served, tmp_path, monkeypatch):
    client = connected(served, served.ben)
    now = int(time.time())
    client.submit_multiple_listens(
        [liblistenbrainz.Listen(f"Song {n}", "Ann", listened_at=now - 300 * n) for n in range(150)]
    )
    monkeypatch.setenv("NEARSONG_LISTENBRAINZ_TOKEN", served.ben)
    with Library.open(tmp_path / "other.sqlite") as other:
        other.pull_listens("listenbrainz", "Ben", url=served.address)
        assert sum(history.rows for history in other.listens()) == 150
