"""A server for players tells plays, hearts and ratings; each pull replaces the one before in one step."""

import importlib.util
import json
import urllib.parse
import urllib.request
from contextlib import closing

import pytest

from music_library import make_music
from nearsong.errors import InvalidInputError, ListensError
from nearsong.library.listeners.pull import subsonic_server
from nearsong.library.listeners.pull.pulling import pull_listens
from nearsong.library.store import Store
from nearsong.listens.records import Action
from pull_servers import FakeSubsonic, Scripted, serving
from pulled_rows import check_history, rows_of
from supysonic_server import supysonic

SONGS = [
    {"id": "1", "albumId": "a", "artist": "Ann", "title": "One", "playCount": 7, "played": "2023-03-26T22:27:46Z"},
    {"id": "2", "albumId": "a", "artist": "Ann", "title": "Two", "playCount": 0, "starred": "2023-01-01T00:00:00.5Z"},
    {"id": "3", "albumId": "b", "artist": "Ben", "title": "Three", "playCount": 2, "userRating": 4},
    {"id": "4", "albumId": "b", "artist": "Ben", "title": "Four"},
]


@pytest.fixture(autouse=True)
def keys(monkeypatch):
    monkeypatch.setenv(subsonic_server.PASSWORD_VARIABLE, FakeSubsonic.password)
    monkeypatch.setenv("no_proxy", "127.0.0.1")


@pytest.fixture
def store(tmp_path):
    with closing(Store(tmp_path / "library.sqlite")) as opened:
        yield opened


def plays_of(store, source, action=Action.LISTEN):
    """Return title -> plays, or stars."""
    ids, tracks = store.listens.names()
    titles = {id: track.title for id, track in zip(ids.tolist(), tracks, strict=True)}
    parts = [block.of(action) for block in store.listens.columns(source)]
    return {
        titles[name]: n for part in parts for name, n in zip(part.name.tolist(), part.plays.tolist(), strict=True)
    }


@pytest.mark.parametrize("finds_nothing", [False, True], ids=["search", "albums"])
def test_plays_hearts_and_ratings_are_read_with_a_salted_token(store, finds_nothing):
    service = FakeSubsonic(SONGS)
    service.finds_nothing = finds_nothing
    service.starred_only = [{"id": "9", "artist": "Cat", "title": "Nine", "starred": "2023-01-02T00:00:00Z"}]
    with serving(service) as url:
        report = pull_listens(store, "subsonic", "ann", url=f"{url}/rest/")
    assert (report.rows, report.hearts, report.listener) == (5, 2, "ann")
    assert plays_of(store, report.source) == {"One": 7, "Three": 2}
    assert plays_of(store, report.source, Action.RATING) == {"Three": 4}
    assert rows_of(store, report.source) == [(0, "Ben", "Three"), (1_679_869_666, "Ann", "One")]
    assert [row[2] for row in rows_of(store, report.source, Action.HEART)] == ["Two", "Nine"]
    check_history(store, report.source)
    (history,) = store.listens.histories()
    assert (history.format, history.kind) == ("subsonic", "counts")
    assert history.name == f"subsonic: ann at {url.removeprefix('http://')}"
    assert all("p" not in request and request["t"] != FakeSubsonic.password for request in service.requests)
    assert len({request["s"] for request in service.requests}) == len(service.requests)


def test_a_later_pull_replaces_the_earlier_one_and_the_same_state_changes_nothing(store):
    service = FakeSubsonic(SONGS)
    with serving(service) as url:
        address = url.replace("http://", "http://ann@")
        first = pull_listens(store, "subsonic", url=address, user="me")
        digest = store.listens.digest()
        again = pull_listens(store, "subsonic", url=address, user="me")
        assert (again.new_rows, again.source, store.listens.digest()) == (0, first.source, digest)
        service.songs = [{**SONGS[0], "playCount": 9}]
        second = pull_listens(store, "subsonic", url=address, user="me")
        assert [history.id for history in store.listens.histories()] == [second.source]
        assert plays_of(store, second.source) == {"One": 9}
        service.songs = []
        with pytest.raises(ListensError, match="no plays, hearts or ratings of 'ann'"):
            pull_listens(store, "subsonic", url=address, user="me")
    assert [history.id for history in store.listens.histories()] == [second.source]


def test_an_interrupted_pull_leaves_the_earlier_one(store):
    service = FakeSubsonic(SONGS)
    with serving(service) as url:
        first = pull_listens(store, "subsonic", "ann", url=url)
        service.songs = [{**SONGS[0], "playCount": 9}]

        def stop(new_rows, seconds):
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            pull_listens(store, "subsonic", "ann", url=url, reached=stop)
    assert plays_of(store, first.source) == {"One": 7, "Three": 2}


def test_many_songs_come_in_pages(store, monkeypatch):
    monkeypatch.setattr(subsonic_server, "PAGE_SONGS", 10)
    songs = [
        {"id": str(i), "albumId": str(i // 3), "artist": "Ann", "title": str(i), "playCount": i + 1}
        for i in range(40)
    ]
    service = FakeSubsonic(songs)
    with serving(service) as url:
        assert pull_listens(store, "subsonic", "ann", url=url).rows == 40
        service.finds_nothing = True
        assert pull_listens(store, "subsonic", "ann", url=url).new_rows == 0


def test_a_wrong_password_is_said_without_it(store, monkeypatch):
    monkeypatch.setenv(subsonic_server.PASSWORD_VARIABLE, "wrong-one")
    with (
        serving(FakeSubsonic(SONGS)) as url,
        pytest.raises(
            ListensError, match="Wrong username or password; check --name and NEARSONG_SUBSONIC_PASSWORD"
        ) as e,
    ):
        pull_listens(store, "subsonic", "ann", url=url)
    assert "wrong-one" not in str(e.value)


def test_the_password_itself_is_not_sent_where_others_can_read_it(store, monkeypatch):
    monkeypatch.setattr(subsonic_server, "is_private", lambda url: False)
    no_tokens = {"subsonic-response": {"status": "failed", "error": {"code": 41, "message": "No tokens"}}}
    service = Scripted(lambda number, path, asked: (200, no_tokens))
    with serving(service) as url, pytest.raises(ListensError, match="use https"):
        pull_listens(store, "subsonic", "ann", url=url)
    assert all("p" not in request for request in service.requests)


def test_a_password_in_the_url_and_a_missing_name_are_refused(store):
    with pytest.raises(InvalidInputError, match="must not hold a password") as error:
        pull_listens(store, "subsonic", url="http://ann:sesame@127.0.0.1")
    assert "sesame" not in str(error.value)
    with pytest.raises(InvalidInputError, match="--name"):
        pull_listens(store, "subsonic", url="http://127.0.0.1")


@pytest.mark.skipif(importlib.util.find_spec("supysonic") is None, reason="supysonic is not installed (dev extra)")
def test_supysonic_tells_its_hearts_and_ratings(store, tmp_path):
    music = make_music(tmp_path / "music", n_artists=3)

    def ask(method, **asked):
        query = urllib.parse.urlencode({"u": "ann", "p": "sesame", "c": "test", "v": "1.12.0", "f": "json", **asked})
        with urllib.request.urlopen(f"{url}/rest/{method}.view?{query}", timeout=30) as response:
            return json.load(response)["subsonic-response"]

    with supysonic(tmp_path / "server", music, "ann", "sesame") as url:
        songs = ask("search3", query="", songCount=100)["searchResult3"]["song"]
        assert len(songs) > 5
        with pytest.raises(ListensError, match="no plays, hearts or ratings"):
            pull_listens(store, "subsonic", "ann", url=url)
        ask("star", id=songs[0]["id"])
        ask("star", id=songs[1]["id"])
        ask("setRating", id=songs[2]["id"], rating=3)
        report = pull_listens(store, "subsonic", "ann", url=url, user="me")
        assert (report.rows, report.hearts) == (3, 2)
        hearts = {(artist, title) for _, artist, title in rows_of(store, report.source, Action.HEART)}
        assert hearts == {(song["artist"], song["title"]) for song in songs[:2]}
        assert plays_of(store, report.source, Action.RATING) == {songs[2]["title"]: 3}
        ask("unstar", id=songs[0]["id"])
        assert pull_listens(store, "subsonic", "ann", url=url, user="me").hearts == 1
        with pytest.raises(ListensError, match="check --name"):
            pull_listens(store, "subsonic", "nobody", url=url)
