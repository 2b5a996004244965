"""What a hostile caller tries, without the token or through the user's browser: nothing of it gets him anywhere."""

import asyncio
import io
import json
import logging
import os
import sys
from pathlib import Path
from unittest import mock

import pytest
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response

from nearsong.web.http.authentication import COOKIE, WRONG_TOKENS_PER_MINUTE
from nearsong.web.http.compression import CompressionMiddleware
from nearsong.web.http.logs import WithoutCancelled, filter_logs, masked
from nearsong.web.http.origins import is_embedded, is_foreign
from nearsong.web.http.security import SecurityMiddleware
from nearsong.web.jobs.draw_map import DrawMap
from nearsong.web.jobs.queue import JobQueue
from nearsong.web.settings import ServeSettings
from token_authentication import token_authentication

TOKEN = "correct-horse-battery-staple-4242"
BEARER = {"Authorization": f"Bearer {TOKEN}"}
EMBEDDED = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "image"}
FOLLOWED = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
OPENED = {**FOLLOWED, "Sec-Fetch-Site": "none"}
"""By a user who opens a link from elsewhere than a page."""


@pytest.fixture
def guarded(make_client):
    return make_client(token=TOKEN)


def through_middleware(app=None, with_token=True, path="/api/v1/songs", method="GET", receive=None, **headers):
    """Return status, headers and body of what a middleware answers to a request that no client would send."""
    sent, scope = [], scope_of(path, method, **headers)

    async def nothing():
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message):
        sent.append(message)

    settings = ServeSettings(token=TOKEN if with_token else None)
    middleware = SecurityMiddleware(
        app or Response("secret"), settings, token_authentication(TOKEN if with_token else None)
    )
    asyncio.run(middleware(scope, receive or nothing, send))
    return sent[0]["status"], Headers(raw=sent[0]["headers"]), b"".join(part.get("body", b"") for part in sent[1:])


def scope_of(path="/api/v1/songs", method="GET", **headers):
    pairs = [(name.replace("_", "-").encode(), value.encode("latin-1")) for name, value in headers.items()]
    return {
        "type": "http", "method": method, "path": path, "raw_path": path.encode(), "query_string": b"",
        "scheme": "http", "headers": pairs, "client": ("192.0.2.7", 1), "server": ("127.0.0.1", 8337),
        "root_path": "",
    }  # fmt: skip


# ---- the Host header


@pytest.mark.parametrize(
    "host",
    [
        "localhost:8337/static/css/x", "localhost/login?", "localhost:8337/login?", "localhost?", "localhost#/login",
        "127.0.0.1:8337\\static", "user@localhost", "localhost:", "localhost:x", "localhost:\u00b2",
        "localhost:8337:1", "[::1", "[::1]x", "[::1]/static/css/x", "[localhost]", "::1",
        " localhost", "localhost\n", "local host",
    ],
)  # fmt: skip
def test_a_host_that_is_more_than_a_name_and_a_port_is_refused(host):
    for with_token in (True, False):
        status, _, body = through_middleware(with_token=with_token, host=host)
        assert (status, json.loads(body)["type"]) == (421, "urn:nearsong:unknown-host")


@pytest.mark.parametrize("host", ["localhost:8337/static/css/x", "localhost/login?", "localhost:8337"])
def test_authentication_goes_by_the_path_and_not_by_the_host_header(host):
    authentication = token_authentication(TOKEN)
    assert authentication.refusal(Request(scope_of(host=host))).status_code == 401
    assert authentication.refusal(Request(scope_of("/static/css/x", host=host))) is None


# ---- other sites' pages


@pytest.mark.parametrize("origin", ["http://[::1", "http://[x]", "http://[", "//["])
def test_an_origin_that_cannot_be_read_is_foreign(client, origin):
    assert is_foreign(Request(scope_of(origin=origin, host="127.0.0.1")))
    assert client.post("/login", headers={"Origin": origin}, data={"token": "x"}).status_code == 403


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
@pytest.mark.parametrize("path", ["/api/v1/map", "/api/v1/songs", "/api/v1/songs/1/audio", "/rest/ping?u=me"])
def test_another_page_cannot_even_look_behind_its_users_back(client, path, site):
    for more in ({}, {"Sec-Fetch-Mode": "cors"}, {"Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe"}):
        answer = client.get(path, headers={"Sec-Fetch-Site": site, **more})
        assert answer.status_code == 403
        assert answer.json()["type"] == "urn:nearsong:foreign-origin"
    assert client.service.jobs.all() == []


def test_a_link_to_the_map_does_not_start_work_but_our_own_page_does(client):
    assert client.get("/api/v1/songs", headers=FOLLOWED).status_code == 200
    assert client.get("/", headers=FOLLOWED).status_code == 200
    with (
        mock.patch("nearsong.web.api.map.drawn", return_value=None),
        mock.patch.object(client.service.jobs, "add", side_effect=client.service.jobs.add) as added,
    ):
        assert client.get("/api/v1/map", headers=FOLLOWED).status_code == 403
        assert not added.called
        assert client.get("/api/v1/map", headers={"Sec-Fetch-Site": "same-origin"}).status_code == 202
        assert added.called


def test_only_what_a_browser_reports_of_another_page_is_embedded():
    for own in ({}, {"sec-fetch-site": "same-origin", "sec-fetch-mode": "cors"}, {"sec-fetch-site": "none"}):
        assert not is_embedded(Headers(own))
    assert not is_embedded(Headers(FOLLOWED))
    assert is_embedded(Headers(EMBEDDED))


def test_with_a_token_players_in_a_browser_may_look_below_rest_and_nowhere_else(guarded):
    asked = f"/rest/ping?u=me&p={TOKEN}&f=json"
    assert guarded.get(asked, headers=EMBEDDED).json()["subsonic-response"]["status"] == "ok"
    assert guarded.get("/api/v1/songs", headers={**EMBEDDED, **BEARER}).status_code == 403


def test_pictures_on_another_page_do_not_lock_the_user_out(guarded):
    for _ in range(WRONG_TOKENS_PER_MINUTE + 2):
        assert guarded.get("/?token=wrong", headers=EMBEDDED).status_code == 403
        guarded.get("/?token=wrong", headers=OPENED)
        guarded.get("/rest/ping?u=me&p=wrong&f=json", headers=EMBEDDED)
    assert guarded.get("/?token=wrong", headers=OPENED).status_code == 429
    assert guarded.get("/api/v1/songs", headers=BEARER).status_code == 200
    assert guarded.get(f"/?token={TOKEN}", headers=OPENED).status_code == 303


def test_who_embeds_a_link_with_the_token_does_not_learn_whether_it_is_right(guarded):
    right, wrong = (guarded.get(f"/?token={given}", headers=EMBEDDED) for given in (TOKEN, "wrong"))
    assert (right.status_code, right.content) == (wrong.status_code, wrong.content)
    assert "set-cookie" not in right.headers
    assert guarded.get(f"/?token={TOKEN}", headers=OPENED).status_code == 303


# ---- bodies, and an end in the middle


def test_a_body_that_does_not_come_is_408():
    async def never():
        await asyncio.sleep(60)

    async def reading(scope, receive, send):
        await receive()

    with (
        mock.patch("nearsong.web.http.security.MAX_BODY_SECONDS", 0.05),
        pytest.raises(Exception, match=r"408: the request did not arrive within 0\.05 s; try again\."),
    ):
        asyncio.run(_through_guard(reading, never, content_length="5"))


def test_after_the_body_one_may_wait_for_as_long_as_it_takes_and_without_one_too():
    async def slowly():
        await asyncio.sleep(0.1)
        return {"type": "http.disconnect"}

    async def first_the_body():
        if not came:
            came.append(1)
            return {"type": "http.request", "body": b"x", "more_body": False}
        return await slowly()

    async def waiting(scope, receive, send):
        message = await receive()
        while message["type"] != "http.disconnect":
            message = await receive()
        await Response("done")(scope, receive, send)

    came = []
    with mock.patch("nearsong.web.http.security.MAX_BODY_SECONDS", 0.02):
        assert asyncio.run(_through_guard(waiting, first_the_body, content_length="1")) == 200
        assert asyncio.run(_through_guard(waiting, slowly)) == 200
        assert asyncio.run(_through_guard(waiting, slowly, path="/api/v1/query", content_length="1")) == 200


async def _through_guard(app, receive, path="/api/v1/playlists", **headers):
    sent = []

    async def send(message):
        sent.append(message)

    with mock.patch("nearsong.web.http.security.unexpected", side_effect=_raised):
        middleware = SecurityMiddleware(app, ServeSettings(), token_authentication(None))
        await middleware(scope_of(path, "POST", host="localhost", **headers), receive, send)
    return sent[0]["status"]


def _raised(error):
    raise error


def test_who_is_cut_short_before_the_answer_learns_that_the_service_stops():
    sent = []

    async def send(message):
        sent.append(message)

    async def forever(scope, receive, send):
        await asyncio.sleep(60)

    async def cancelled():
        middleware = SecurityMiddleware(forever, ServeSettings(), token_authentication(None))
        task = asyncio.ensure_future(middleware(scope_of(host="localhost"), mock.Mock(), send))
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())
    assert sent[0]["status"] == 503
    headers = Headers(raw=sent[0]["headers"])
    assert (headers["connection"], headers["content-type"]) == ("close", "application/problem+json")
    assert b"the service is stopping" in sent[1]["body"]


# ---- compression


@pytest.mark.parametrize("asked", [{"Range": "bytes=0-4999"}, {}])
def test_sound_is_sent_as_it_is_complete_or_in_part(client, asked):
    answer = client.get("/api/v1/songs/1/audio", headers={"Accept-Encoding": "gzip", **asked})
    assert answer.status_code == (206 if asked else 200)
    assert "content-encoding" not in answer.headers
    assert int(answer.headers["content-length"]) == len(answer.content) >= 5000


@pytest.mark.parametrize(
    ("status", "headers", "is_smaller"),
    [
        (200, {"content-type": "application/json"}, True),
        (200, {"content-type": "text/javascript; charset=utf-8"}, True),
        (200, {"content-type": "audio/flac"}, False),
        (200, {"content-type": "Image/SVG+xml"}, False),
        (200, {"content-type": "text/event-stream; charset=utf-8"}, False),
        (200, {"content-type": "application/octet-stream"}, False),
        (206, {"content-type": "application/json", "content-range": "bytes 0-1/2"}, False),
        (200, {"content-type": "application/json", "content-range": "bytes 0-1/2"}, False),
        (416, {"content-type": "application/problem+json", "content-range": "bytes */2"}, False),
    ],
)
def test_only_what_gains_by_it_and_is_complete_is_made_smaller(status, headers, is_smaller):
    app = CompressionMiddleware(Response(b"a" * 9000, status, headers=headers))
    _, sent, body = through_middleware(app, with_token=False, host="localhost", accept_encoding="gzip")
    assert (sent.get("content-encoding") == "gzip") == is_smaller
    assert (len(body) < 9000) == is_smaller
    assert int(sent["content-length"]) == len(body)


# ---- the log


@pytest.mark.parametrize(
    "address",
    [
        f"/?token={TOKEN}", f"/?x=1&token={TOKEN}&y=2", f"/rest/ping?u=a&p={TOKEN}", f"/rest/ping?apiKey={TOKEN}",
        f"/rest/ping?u=a&t={TOKEN}&s=salt", f"/?%74oken={TOKEN}", f"/?TOKEN={TOKEN}", f"/?token=a&token={TOKEN}",
        f"/?a?b&token={TOKEN}", f"/?token={TOKEN}=x",
    ],
)  # fmt: skip
def test_the_log_of_requests_has_no_secret(address, caplog):
    filter_logs()
    filter_logs()
    logger, written = logging.getLogger("uvicorn.access"), io.StringIO()
    # its only handler: pytest's are on every logger that uvicorn has configured, on none of them or on the root alone
    with (
        mock.patch.multiple(logger, handlers=[logging.StreamHandler(written)], propagate=False),
        caplog.at_level(logging.INFO, "uvicorn.access"),
    ):
        logger.info('%s - "%s %s HTTP/%s" %d', "192.0.2.7:4", "GET", address, "1.1", 200)
    assert written.getvalue().count("192.0.2.7:4 - ") == 1
    assert TOKEN not in written.getvalue()
    assert "salt" not in written.getvalue()


def test_what_is_no_secret_stays_in_the_log():
    for address in ("/api/v1/songs?search=the+token%3Dx&limit=1", "/rest/stream?id=7&u=me", "/", "/?", "/x?token"):
        assert masked(address) == address


def test_only_the_end_that_was_wanted_is_left_out_of_the_log():
    def record(error):
        info = None if error is None else (type(error), error, None)
        return logging.LogRecord("uvicorn.error", logging.ERROR, "", 0, "x", None, info)

    quiet = WithoutCancelled()
    assert not quiet.filter(record(asyncio.CancelledError()))
    assert quiet.filter(record(ValueError()))
    assert quiet.filter(record(None))


# ---- counting, logging out, what is started


def test_who_is_refused_is_counted_too(guarded):
    guarded.get("/api/v1/songs")
    guarded.get("/api/v1/songs", headers={"Host": "evil.example"})
    guarded.post("/api/v1/playlists", headers={"Origin": "https://evil.example"})
    text = guarded.get("/api/v1/metrics", headers=BEARER).text
    for method, status in (("GET", 401), ("GET", 421), ("POST", 403)):
        assert f'nearsong_requests_total{{method="{method}",route="other",status="{status}"}} 1.0' in text


def test_logging_out_takes_the_cookie_back(guarded, client):
    guarded.post("/login", data={"token": TOKEN})
    assert guarded.get("/api/v1/songs").status_code == 200
    assert guarded.post("/logout", headers={"Origin": "https://evil.example"}).status_code == 403
    assert guarded.get("/logout").status_code == 405
    answer = guarded.post("/logout")
    assert (answer.status_code, answer.headers["location"]) == (303, "/login")
    assert COOKIE not in guarded.cookies
    assert guarded.get("/api/v1/songs").status_code == 401
    assert client.post("/logout").headers["location"] == "/"


def test_a_job_does_not_inherit_the_token(tmp_path):
    seen = tmp_path / "seen"
    script = f"import os; open({str(seen)!r}, 'w').write(repr(sorted(os.environ)))"
    with mock.patch.dict(os.environ, {"NEARSONG_TOKEN": TOKEN, "NEARSONG_OTHER": "x"}):
        jobs = JobQueue("nowhere", command=(sys.executable, "-c", script))
        jobs.wait(jobs.add(DrawMap())[0].id, 60)
        jobs.close()
    names = Path(seen).read_text()
    assert "NEARSONG_OTHER" in names
    assert "NEARSONG_TOKEN" not in names
