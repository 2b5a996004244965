"""What is written to a server survives lost answers, and never touches what others made."""

from contextlib import closing

import pytest

from nearsong.errors import ListensError
from nearsong.library.listeners.pull.subsonic_server import SubsonicServer
from nearsong.library.store import Store
from nearsong.library.sync.server_playlists import COMMENT, ServerPlaylists, WantedPlaylist
from pull_servers import Scripted, serving


class Playlists:
    """A server with playlists, numbered as Ampache numbers them: from 1 again, once it is set up anew."""

    def __init__(self):
        self.made, self.next, self.breaks = {}, 1, None

    def __call__(self, _number, path, asked):
        method = path.removeprefix("/rest/").removesuffix(".view")
        answer = getattr(self, method)(asked)
        if method == self.breaks:
            self.breaks = None
            return 404, {"subsonic-response": {"status": "failed", "error": {"code": 0, "message": "gone"}}}
        return 200, {"subsonic-response": {"status": "ok", **answer}}

    def ping(self, _asked):
        return {}

    def add(self, name, songs=(), comment=""):
        self.made[str(self.next)] = {"id": str(self.next), "name": name, "songs": list(songs), "comment": comment}
        self.next += 1

    def getPlaylists(self, _asked):
        return {"playlists": {"playlist": [{**one, "owner": "ann"} for one in self.made.values()]}}

    def getPlaylist(self, asked):
        return {"playlist": {"entry": [{"id": song} for song in self.made[asked["id"]]["songs"]]}}

    def createPlaylist(self, asked):
        if "playlistId" in asked:
            self.made[asked["playlistId"]]["songs"] = [asked["songId"]]
        else:
            self.add(asked["name"])
        return {}

    def updatePlaylist(self, asked):
        one = self.made[asked["playlistId"]]
        one["songs"] += [asked["songIdToAdd"]] if "songIdToAdd" in asked else []
        one.update({name: asked[name] for name in ("name", "comment") if name in asked})
        return {}

    def deletePlaylist(self, asked):
        del self.made[asked["id"]]
        return {}


@pytest.fixture
def there(tmp_path, monkeypatch):
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setattr("nearsong.library.sync.server_playlists.SONGS_PER_REQUEST", 1)  # the server keeps one of each
    playlists = Playlists()
    with serving(Scripted(playlists)) as url, closing(Store(tmp_path / "library.sqlite")) as store:

        def write(*songs, name="Evening"):
            server = SubsonicServer(url, "ann", password="sesame")
            return ServerPlaylists(store, server).write([WantedPlaylist("1", name, songs)])

        yield playlists, write


def names_and_songs(playlists):
    return sorted((one["name"], tuple(one["songs"])) for one in playlists.made.values())


def test_a_creation_whose_answer_was_lost_is_found_and_used(there):
    playlists, write = there
    playlists.breaks = "createPlaylist"
    with pytest.raises(ListensError, match="refuses: gone"):
        write("a", "b", "c")
    assert write("a", "b", "c").written == 1
    assert names_and_songs(playlists) == [("Evening", ("a", "b", "c"))]
    assert write("a", "b", "c").unchanged == 1


def test_a_half_written_playlist_is_completed(there):
    playlists, write = there
    playlists.breaks = "updatePlaylist"
    with pytest.raises(ListensError, match="refuses: gone"):
        write("a", "b", "c")
    assert write("a", "b", "c").written == 1
    assert names_and_songs(playlists) == [("Evening", ("a", "b", "c"))]


def test_a_playlist_that_only_has_the_number_of_ours_is_left_alone(there):
    playlists, write = there
    write("a")
    playlists.made.clear()
    playlists.next = 1
    playlists.add("Mine", ["z"])
    write("b")
    assert names_and_songs(playlists) == [("Evening", ("b",)), ("Mine", ("z",))]
    write()
    assert names_and_songs(playlists) == [("Mine", ("z",))]


def test_ours_is_known_by_its_comment_after_it_was_renamed_there(there):
    playlists, write = there
    write("a")
    assert playlists.made["1"]["comment"] == COMMENT
    playlists.made["1"]["name"] = "Renamed"
    write("a")
    assert names_and_songs(playlists) == [("Evening", ("a",))]
