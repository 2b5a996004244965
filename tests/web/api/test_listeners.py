"""Listeners are people: own plays, hearts and playlists; an admin; tokens, sessions and what each may do."""

import hashlib
import io
import json
import socket
import unicodedata
import zipfile

import numpy as np
import pytest
import soundfile

from library_store import store_of
from nearsong.audio.tags import Tags, write_tags
from nearsong.library import Library
from nearsong.web.service.service import Service
from nearsong.web.settings import ServeSettings
from waiting import wait_for

SERVICE_TOKEN = "0123456789abcdef" * 2
FORBIDDEN = 403
ROWS = [f"artist 1,song {n},{1_700_000_000 + 400 * n}" for n in range(3)]
TABLE = "\n".join(["artist,title,time", *ROWS]).encode()


class People:
    """A client of a service, and the tokens of two listeners; Ada is an admin."""

    def __init__(self, client) -> None:
        self.client = client
        accounts = client.service.library.accounts
        self.tokens = {"ada": accounts.add("ada", is_admin=True), "ben": accounts.add("ben")}
        client.service.accounts.refresh()

    def ask(self, who, method, path, **more):
        token = self.tokens.get(who, who)
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        return self.client.request(method, f"/api/v1{path}", headers=headers, **more)

    def bearer(self, who):
        return {"Authorization": f"Bearer {self.tokens.get(who, who)}"}

    def get(self, who, path):
        return self.ask(who, "GET", path)

    def rest(self, who, method, password, **asked):
        parameters = {"u": who, "c": "test", "v": "1.16.1", "f": "json", **asked}
        salt = "c19b2d"
        token = hashlib.md5((password + salt).encode()).hexdigest()
        answer = self.client.get(f"/rest/{method}", params={**parameters, "t": token, "s": salt})
        return answer.json()["subsonic-response"]


@pytest.fixture
def people(make_client):
    return People(make_client())


@pytest.fixture(scope="module")
def unchanged(shared_client):
    """Two listeners for tests after which nothing is different."""
    return People(shared_client())


@pytest.fixture
def songs(people):
    return [song["id"] for song in people.get("ada", "/songs").json()["items"][:4]]


# ---- who may enter


def test_with_no_listener_set_up_this_machine_needs_no_token_and_with_one_it_does(make_client):
    client = make_client()
    status = client.get("/api/v1/status").json()
    assert (status["listener"], status["is_admin"], status["has_login"]) == (None, True, False)
    people = People(client)
    assert client.get("/api/v1/status").status_code == 401
    status = people.get("ben", "/status").json()
    assert (status["listener"], status["is_admin"], status["has_login"]) == ("ben", False, True)
    for name in ("ada", "ben"):
        client.service.library.accounts.remove(name)
    client.service.accounts.refresh()
    assert client.get("/api/v1/status").status_code == 401  # until it is started again
    assert make_client().get("/api/v1/status").status_code == 200


def test_an_account_added_by_another_process_counts_within_moments(make_client, trained):
    client = make_client()
    with Library.open(trained.address) as other:
        token = other.accounts.add("ada")
    wait_for(lambda: client.get("/api/v1/status").status_code == 401)
    assert client.get("/api/v1/status", headers={"Authorization": f"Bearer {token}"}).json()["listener"] == "ada"


def test_a_service_that_others_can_reach_stays_closed_when_its_last_account_goes(trained):
    token = trained.accounts.add("ada")
    service = Service(trained, ServeSettings(host="0.0.0.0", has_accounts=True))
    assert service.callers.with_token(token) is not None
    trained.accounts.remove("ada")
    service.accounts.refresh()
    assert not service.callers.is_open
    assert service.callers.with_token(token) is None


def test_the_token_of_the_service_is_that_of_an_admin_with_any_name(make_client):
    people = People(make_client(token=SERVICE_TOKEN))
    assert people.get(SERVICE_TOKEN, "/status").json()["is_admin"]
    assert [one["name"] for one in people.get(SERVICE_TOKEN, "/listeners").json()] == ["ada", "ben"]


def test_a_browser_logs_in_with_a_listeners_token_and_a_new_one_ends_other_sessions(people):
    client = people.client

    def log_in():
        answer = client.post("/login", data={"token": people.tokens["ben"]})
        assert answer.status_code == 303
        client.cookies.clear()
        return {"Cookie": answer.headers["set-cookie"].partition(";")[0]}

    mine, other = log_in(), log_in()
    assert client.get("/api/v1/status", headers=mine).json()["listener"] == "ben"
    renewed = client.post("/api/v1/listeners/me/token", headers=mine)
    client.cookies.clear()
    assert renewed.json()["name"] == "ben"
    assert client.get("/api/v1/status", headers=other).status_code == 401
    assert client.get("/api/v1/status", headers=mine).status_code == 401
    stays = {"Cookie": renewed.headers["set-cookie"].partition(";")[0]}
    assert client.get("/api/v1/status", headers=stays).json()["listener"] == "ben"
    assert people.get("ben", "/status").status_code == 401
    assert people.get(renewed.json()["token"], "/status").json()["listener"] == "ben"


def test_the_last_admin_stays_and_the_last_listener_leaves_nothing_open(make_client, trained):
    client = make_client()
    people = People(client)
    for method, path, body in (("DELETE", "/listeners/me", None), ("PUT", "/listeners/ada", {"is_admin": False})):
        answer = people.ask("ada", method, path, json=body)
        assert (answer.status_code, answer.json()["type"]) == (409, "urn:nearsong:last-admin")
    trained.accounts.remove("ada")
    client.service.accounts.refresh()
    assert people.ask("ben", "DELETE", "/listeners/me").status_code == 200
    assert trained.accounts.list() == []
    assert client.post("/api/v1/jobs", json={"kind": "scan"}).status_code == 401


def held(address, path, data, meanwhile, **headers):
    """Send a body to a running server after the head of the request was read."""
    with socket.create_connection(address) as connection:
        lines = [f"POST {path} HTTP/1.1", f"Host: 127.0.0.1:{address[1]}", "Content-Type: application/json"]
        lines += [f"Content-Length: {len(data)}", "Connection: close", "Expect: 100-continue"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        connection.sendall("\r\n".join([*lines, "", ""]).encode())
        assert connection.recv(65536).startswith(b"HTTP/1.1 100 ")  # the caller is let in, and the body awaited
        meanwhile()
        connection.sendall(data)
        return b"".join(iter(lambda: connection.recv(65536), b"")).decode()


def test_a_request_that_began_before_the_first_account_ends_as_one_without_a_token(trained, serving):
    server = serving(trained)
    with server as address:
        where = ("127.0.0.1", int(address.rsplit(":", 1)[1]))

        def add_owner():
            trained.accounts.add("owner", is_admin=True)
            server.service.accounts.refresh()

        said = held(where, "/api/v1/listeners", b'{"name": "mallory", "is_admin": true}', add_owner)
        assert said.startswith("HTTP/1.1 401 ")
        assert [account.name for account in trained.accounts.list()] == ["owner"]


def test_plays_that_arrive_after_their_listener_was_deleted_are_not_stored(trained, serving):
    token = trained.accounts.add("ben")
    trained.accounts.add("ada", is_admin=True)
    server = serving(trained)
    with server as address:
        where = ("127.0.0.1", int(address.rsplit(":", 1)[1]))

        def delete():
            trained.accounts.delete_everything("ben")
            server.service.accounts.refresh()

        listen = {"listened_at": 1_700_000_000, "track_metadata": {"artist_name": "Can", "track_name": "Vitamin C"}}
        body = json.dumps({"listen_type": "single", "payload": [listen]}).encode()
        said = held(where, "/1/submit-listens", body, delete, Authorization=f"Token {token}")
        assert said.startswith("HTTP/1.1 401 ")
    assert trained.play_log.count() == 0


def test_a_link_on_another_site_logs_nobody_in(people):
    token = people.tokens["ben"]
    for site, is_logged_in in (("none", True), ("same-origin", True), ("cross-site", False), ("same-site", False)):
        answer = people.client.get(f"/?token={token}", headers={"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "navigate"})
        assert answer.status_code == 303
        assert ("set-cookie" in answer.headers) == is_logged_in
        people.client.cookies.clear()


# ---- what each may do


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/jobs", {"kind": "scan"}),
        ("POST", "/jobs", {"kind": "train"}),
        ("POST", "/jobs", {"kind": "prune"}),
        ("DELETE", "/jobs/0123456789ab", None),
        ("GET", "/files", None),
        ("GET", "/metrics", None),
        ("POST", "/query?save=true", None),
        ("GET", "/folders/browse?path=/", None),
        ("DELETE", "/folders?path=/", None),
        ("DELETE", "/model/1", None),
        ("PUT", "/model", {"id": 1}),
        ("GET", "/listeners", None),
        ("POST", "/listeners", {"name": "eve", "is_admin": True}),
        ("PUT", "/listeners/ben", {"is_admin": True}),
        ("GET", "/listeners/ada", None),
        ("GET", "/listeners/ada/everything", None),
        ("POST", "/listeners/ada/token", None),
        ("POST", "/listeners/ada/app-password", None),
        ("DELETE", "/listeners/ada/app-password", None),
        ("DELETE", "/listeners/ada", None),
        ("GET", "/hearts?listener=ada", None),
        ("GET", "/ratings?listener=ada", None),
        ("PUT", "/songs/1/heart?listener=ada", None),
        ("POST", "/plays", {"song_id": 1, "listener": "ada"}),
        ("POST", "/skips", {"song_id": 1, "listener": "ada"}),
    ],
)
def test_what_only_an_admin_may_do_is_refused_to_others_and_changes_nothing(unchanged, method, path, body):
    people, before = unchanged, unchanged.client.service.library.accounts.list()
    answer = people.ask("ben", method, path, json=body)
    assert (answer.status_code, answer.json()["type"]) == (FORBIDDEN, "urn:nearsong:not-allowed")
    assert people.client.service.library.accounts.list() == before


def test_plays_and_hearts_are_each_listeners_own_and_an_admin_sees_all(people, songs):
    assert people.ask("ben", "PUT", f"/songs/{songs[0]}/heart").status_code == 204
    assert people.ask("ada", "PUT", f"/songs/{songs[1]}/heart").status_code == 204
    assert people.ask("ben", "POST", "/plays", json={"song_id": songs[2], "listener": "BEN"}).status_code == 204
    assert people.ask("ada", "POST", "/plays", json={"song_id": songs[3]}).status_code == 204
    liked = {who: [one["song_id"] for one in people.get(who, "/hearts").json()] for who in ("ada", "ben")}
    assert liked == {"ada": [songs[1]], "ben": [songs[0]]}
    assert [one["song_id"] for one in people.get("ada", "/hearts?listener=ben").json()] == [songs[0]]
    with store_of(people.client.service.library) as store:
        assert [play.listener for play in store.plays.all()] == ["ben", "ada"]


@pytest.mark.usefixtures("jobs_here")
def test_a_listener_imports_for_themselves_only_and_the_job_goes_with_them(people):
    file = {"file": ("plays.csv", TABLE)}
    assert people.ask("ben", "POST", "/listens?user=ada", files=file).status_code == FORBIDDEN
    started = people.ask("ben", "POST", "/listens", files=file)
    assert started.status_code == 202
    job = people.client.service.jobs.wait(started.json()["id"], 300)
    assert job.state == "done", job.words
    with store_of(people.client.service.library) as store:
        names = [history.name for history in store.listens.histories()]
    assert any("(ben)" in name for name in names)
    assert people.get("ben", "/jobs").json() == []  # others' imports are none of their business
    assert [job["kind"] for job in people.get("ada", "/jobs").json()] == ["listens"]
    other = people.ask("ada", "POST", "/listeners", json={"name": "eve"}).json()["token"]
    for path in (f"/jobs/{job.id}", f"/jobs/{job.id}/events"):
        assert people.get(other, path).status_code == 404
        assert people.get("ben", path).status_code == 200
        assert people.get("ada", path).status_code == 200
    assert people.ask("ben", "DELETE", "/listeners/me").status_code == 200
    assert people.get("ada", f"/jobs/{job.id}").status_code == 404


def test_playlists_are_ones_own_and_those_of_all_are_for_reading(people, songs):
    shared = people.client.service.library.playlists.add("for all", songs[:2])
    mine = people.ask("ben", "POST", "/playlists", json={"name": "mine", "songs": songs[2:]}).json()
    assert (mine["owner"], mine["can_change"]) == ("ben", True)
    seen = {
        who: [(one["name"], one["can_change"]) for one in people.get(who, "/playlists").json()]
        for who in ("ada", "ben")
    }
    assert seen == {"ada": [("for all", True)], "ben": [("for all", False), ("mine", True)]}
    changes = (("PUT", {"name": "x", "songs": []}), ("DELETE", None))
    for method, body in (("GET", None), *changes):
        assert people.ask("ada", method, f"/playlists/{mine['id']}", json=body).status_code == 404
    assert people.get("ada", f"/playlists/{mine['id']}/export").status_code == 404
    for method, body in changes:
        assert people.ask("ben", method, f"/playlists/{shared.id}", json=body).status_code == FORBIDDEN
    assert people.ask("ada", "PUT", f"/playlists/{shared.id}", json={"name": "new", "songs": []}).status_code == 200
    assert people.ask("ben", "DELETE", f"/playlists/{mine['id']}").status_code == 204


@pytest.mark.usefixtures("jobs_here")
def test_an_uploaded_playlist_tells_nothing_about_files_of_this_machine(people, tmp_path):
    secret = tmp_path / "memo.wav"
    soundfile.write(secret, np.zeros(8_000), 8_000)
    write_tags(secret, Tags(artist="A secret artist", title="A secret title"))
    text = f"#EXTM3U\n{secret}\n".encode()
    started = people.ask("ben", "POST", "/listens", files={"file": ("list.m3u8", text)})
    job = people.client.service.jobs.wait(started.json()["id"], 300)
    assert "secret" not in repr(job.result).replace(str(secret), "")
    with store_of(people.client.service.library) as store:
        assert "A secret title" not in {name.title for name in store.listens.names()[1]}


def test_names_are_the_same_in_every_case_and_form_of_unicode(people, songs):
    made = people.ask("ada", "POST", "/listeners", json={"name": unicodedata.normalize("NFD", "Zoë")}).json()
    assert made["name"] == unicodedata.normalize("NFC", "Zoë")
    assert people.ask(made["token"], "PUT", f"/songs/{songs[0]}/heart").status_code == 204
    for name in ("zoë", "ZOË", unicodedata.normalize("NFD", "Zoë")):
        found = people.client.get("/api/v1/hearts", params={"listener": name}, headers=people.bearer("ada")).json()
        assert [one["song_id"] for one in found] == [songs[0]]
        own = people.client.get("/api/v1/hearts", params={"listener": name}, headers=people.bearer(made["token"]))
        assert own.status_code == 200


# ---- players


def test_a_player_connects_with_the_app_password_and_sees_what_is_the_listeners(people, songs):
    assert people.rest("ben", "ping", people.tokens["ben"])["error"]["code"] == 40  # a hash of the token is unknown
    password = people.ask("ben", "POST", "/listeners/me/app-password").json()["app_password"]
    assert people.rest("BEN", "ping", password)["status"] == "ok"
    assert people.rest("ada", "ping", password)["error"]["code"] == 40
    people.rest("ben", "star", password, id=songs[0])
    assert people.rest("ben", "createPlaylist", password, name="road", songId=songs[0])["playlist"]["owner"] == "ben"
    assert people.get("ada", "/playlists").json() == []
    user = people.rest("ben", "getUser", password, username="ben")["user"]
    assert (user["username"], user["adminRole"]) == ("ben", False)
    assert people.rest("ben", "getUser", password, username="ada")["error"]["code"] == 50
    assert [one["username"] for one in people.rest("ben", "getUsers", password)["users"]["user"]] == ["ben"]
    assert people.rest("ben", "startScan", password)["error"]["code"] == 50
    assert people.get(password, "/status").status_code == 401  # it does not open the page
    mine = people.rest("ben", "createPlaylist", password, name="x", songId=songs[0])["playlist"]["id"]
    hers = people.ask("ada", "POST", "/listeners/me/app-password").json()["app_password"]
    assert people.rest("ada", "getCoverArt", hers, id=mine)["error"]["code"] == 70
    assert people.rest("ada", "startScan", hers)["error"]["code"] == 50  # an app password is no admin's
    assert len(people.rest("ada", "getUsers", hers)["users"]["user"]) == 1
    people.ask("ben", "DELETE", "/listeners/me/app-password")
    assert people.rest("ben", "ping", password)["error"]["code"] == 40


def test_a_token_is_an_api_key_and_a_password_sent_as_it_is(people):
    def ping(**asked):
        answer = people.client.get("/rest/tokenInfo", params={"c": "x", "v": "1.16.1", "f": "json", **asked}).json()
        return answer["subsonic-response"]

    assert ping(apiKey=people.tokens["ben"])["tokenInfo"]["username"] == "ben"
    assert ping(u="ben", p=people.tokens["ben"])["status"] == "ok"
    assert ping(u="ada", p=people.tokens["ben"])["error"]["code"] == 40
    assert ping(u="ben", p="")["error"]["code"] == 40  # who has no app password has no empty one
    assert ping(u="nobody", p="")["error"]["code"] == 40


# ---- everything about a listener


def test_a_listener_exports_and_deletes_everything_about_them(people, songs):
    people.ask("ben", "PUT", f"/songs/{songs[0]}/heart")
    people.ask("ben", "POST", "/plays", json={"song_id": songs[1]})
    people.ask("ada", "POST", "/plays", json={"song_id": songs[1]})
    people.ask("ben", "POST", "/playlists", json={"name": "mine", "songs": songs})
    exported = people.get("ben", "/listeners/me/everything")
    assert exported.headers["content-type"] == "application/zip"
    with zipfile.ZipFile(io.BytesIO(exported.content)) as archive:
        assert archive.testzip() is None
        text = b"".join(archive.read(name) for name in archive.namelist()).decode()
    assert text.count('"heart"') == 1
    assert "ada" not in text
    deleted = people.ask("ben", "DELETE", "/listeners/me")
    assert deleted.status_code == 200, deleted.text
    assert people.get("ben", "/status").status_code == 401
    assert [one["name"] for one in people.get("ada", "/listeners").json()] == ["ada"]
    with store_of(people.client.service.library) as store:
        assert [play.listener for play in store.plays.all()] == ["ada"]
        assert list(store.reactions.all()) == []
        assert store.playlists.list() == []


def test_the_first_account_is_not_made_over_the_web(client):
    answer = client.post("/api/v1/listeners", json={"name": "eve", "is_admin": True})
    assert answer.status_code == 409
    assert "nearsong listeners add NAME --admin" in answer.json()["detail"]
    assert client.get("/api/v1/listeners").json() == []


def test_an_admin_adds_changes_and_removes_listeners(people):
    made = people.ask("ada", "POST", "/listeners", json={"name": "Chloé"})
    assert made.status_code == 201
    assert people.get(made.json()["token"], "/status").json()["listener"] == "Chloé"
    assert people.ask("ada", "POST", "/listeners", json={"name": "chloé"}).status_code == 400
    assert people.ask("ada", "PUT", "/listeners/Chlo%C3%A9", json={"is_admin": True}).json()["is_admin"]
    assert people.get(made.json()["token"], "/listeners").status_code == 200
    renewed = people.ask("ada", "POST", "/listeners/chlo%C3%A9/token").json()["token"]
    assert people.get(made.json()["token"], "/status").status_code == 401
    assert people.get(renewed, "/status").status_code == 200
    assert people.ask("ada", "DELETE", "/listeners/Chlo%C3%A9").status_code == 200
    assert people.get(renewed, "/status").status_code == 401
