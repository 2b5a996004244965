"""A flood of wrong tokens with right ones among them -> the right ones always work, and the wrong ones never."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import quote

import numpy as np

from torture.attack import Figures, check
from torture.wire.client import Client, check_busy, loopback_address
from torture.wire.target import Target

N_RIGHT = 85
N_THREADS = 8
COOKIE = "nearsong_session"


def guess_tokens(target: Target, random: np.random.Generator, n_wrong: int) -> Figures:
    """Send wrong tokens of all shapes among 85 right ones from one address, then log in and out."""
    address = loopback_address(random)
    right, stranger = Client(target.service, address), Client(target.service, address, with_token=False)
    token = target.service.token or ""
    asked = [True] * N_RIGHT + [False] * n_wrong
    random.shuffle(asked)
    guesses = [_guess(random, token) for _ in asked]

    def ask(at: int) -> int:
        if asked[at]:
            status = right.ask("/api/v1/songs?limit=1").status
            check(status == 200, f"the right token among wrong ones got {status}")
            return 200
        return _try(stranger, *guesses[at])

    with ThreadPoolExecutor(N_THREADS) as pool:
        statuses = Counter(pool.map(ask, range(len(asked))))
    check(statuses[200] == N_RIGHT, f"{statuses[200]} of {N_RIGHT} right tokens worked")
    check(statuses[401] > 0, "no wrong token was answered with 401")
    check(statuses[429] > 0, f"{n_wrong} wrong tokens and none was answered with 429")
    _log_in_and_out(target, loopback_address(random))
    return {"right tokens": N_RIGHT, "wrong tokens": n_wrong, "wrong tokens with 429": statuses[429]}


def _guess(random: np.random.Generator, token: str) -> tuple[str, str]:
    """Return a wrong token, near the right one or not, and the way it is sent."""
    at = int(random.integers(len(token)))
    other = "x" if token[at] != "x" else "y"
    kinds = [token[:at], token + "x", token[:at] + other + token[at + 1 :], token[::-1], token.upper() + "!", "x"]
    kinds += ["\u00e9" * 32, "a" * 5_000, f"{token}, {token}", f"Bearer {token}"]
    return str(random.choice(kinds)) or "x", str(random.choice(["bearer", "bearer", "link", "login", "rest"]))


def _try(stranger: Client, guess: str, way: str) -> int:
    """Send a wrong token; return 401 or 429, however that way says it."""
    if way == "bearer":
        sent = guess.encode().decode("latin-1")
        reply = stranger.ask("/api/v1/songs?limit=1", headers={"Authorization": f"Bearer {sent}"})
        status = reply.status
    elif way == "rest":
        reply = stranger.ask(f"/rest/getGenres?f=json&u=me&p={quote(guess)}")
        said = reply.json()["subsonic-response"]
        check(said["status"] == "failed", f"below /rest the password {guess[:40]!r} worked")
        status = 429 if reply.status == 429 else 401
    else:
        reply = (
            stranger.ask(f"/?token={quote(guess)}") if way == "link" else stranger.send_form("/login", token=guess)
        )
        check("set-cookie" not in reply.headers, f"{way}: {guess[:40]!r} logged in")
        status = 401 if (reply.status, "wrong" in reply.headers.get("location", "")) == (303, True) else reply.status
        if reply.status == 422:  # longer than any token
            status = 401
    check(status in (401, 429), f"a wrong token ({way}) got {reply.status}")
    check_busy(reply, "a wrong token")
    return status


def _log_in_and_out(target: Target, address: str) -> None:
    stranger = Client(target.service, address, with_token=False)
    check(stranger.ask("/api/v1/songs").status == 401, "no token is needed")
    first = stranger.send_form("/login", token=target.service.token or "").headers.get("set-cookie", "")
    check(COOKIE in first and "httponly" in first.lower(), f"log-in sets no cookie that scripts cannot read: {first}")
    cookie = {"Cookie": first.partition(";")[0]}
    check(stranger.ask("/api/v1/songs", headers=cookie).status == 200, "the cookie of a session does not work")
    stranger.ask("/logout", method="POST", headers=cookie)
    check(stranger.ask("/api/v1/songs", headers=cookie).status == 401, "the cookie works after log-out")
