"""Requests that end in two ways -> one answer at most, and the connection is closed.

A proxy in front that believes the other end would take the hidden request's answer for that of another client.
"""

import numpy as np

from torture.attack import Figures, check
from torture.wire.client import Client, loopback_address, read_to_end
from torture.wire.target import Target

CLOSE_SECONDS = 30.0
"""How long a connection may stay open after a request that is not clear; the limit of a head is 10 s."""

HIDDEN = "/api/v1/health?hidden"
TWO_REQUESTS = ("another protocol",)
"""What is, by its form, a request that is refused, followed by one that cannot be read."""

BODY = b'{"name": "x", "songs": []}'


def smuggle(target: Target, random: np.random.Generator, n: int) -> Figures:
    """Send requests with another request inside; no answer may be to the inner one."""
    client = Client(target.service, loopback_address(random))
    _check_that_two_clear_requests_have_two_answers(client)
    shapes = list(_shapes(client).items())
    order = [int(i) for i in random.permutation(len(shapes))]
    for at in range(n):
        name, data = shapes[order[at % len(order)]]
        _check_shape(client, name, data, random)
    return {"smuggled requests": n, "shapes": len(shapes)}


def _check_that_two_clear_requests_have_two_answers(client: Client) -> None:
    """Otherwise this probe could not fail."""
    with client.connect() as connection:
        inner = client.head("GET", HIDDEN, Connection="close") + b"\r\n"
        connection.sendall(client.head("GET", "/api/v1/health") + b"\r\n" + inner)
        said, _ = read_to_end(connection, CLOSE_SECONDS)
    check(_statuses(said) == [200, 200], f"two requests in a row: {_statuses(said)}")


def _check_shape(client: Client, name: str, data: bytes, random: np.random.Generator) -> None:
    with client.connect() as connection:
        cut = int(random.integers(1, len(data)))  # whether it arrives at once or in two pieces must not matter
        try:
            connection.sendall(data[:cut])
            connection.sendall(data[cut:])
        except OSError:  # refused before it was complete
            pass
        said, is_closed = read_to_end(connection, CLOSE_SECONDS)
    statuses = _statuses(said)
    n_most = 2 if name in TWO_REQUESTS else 1
    check(len(statuses) <= n_most, f"{name}: {len(statuses)} answers, {statuses}")
    check(all(400 <= status < 500 for status in statuses), f"{name}: answered {statuses}")
    check(is_closed, f"{name}: the connection stayed open")


def _statuses(said: bytes) -> list[int]:
    pieces = said.split(b"HTTP/1.1 ")[1:]
    return [int(piece[:3]) for piece in pieces]


def _shapes(client: Client) -> dict[str, bytes]:
    """Return requests whose length is not clear, each with another request in what one reader takes for the body."""
    post = client.head("POST", "/api/v1/playlists", Content_Type="application/json")
    hidden = client.head("GET", HIDDEN) + b"\r\n"
    chunked = b"Transfer-Encoding: chunked\r\n"
    empty_chunks = b"0\r\n\r\n"

    def length(n: int | str) -> bytes:
        return f"Content-Length: {n}\r\n".encode()

    def with_head(*lines: bytes, body: bytes) -> bytes:
        return post + b"".join(lines) + b"\r\n" + body

    chunk = f"{len(BODY):x}\r\n".encode() + BODY + b"\r\n"
    return {
        "length and chunks": with_head(length(len(hidden)), chunked, body=empty_chunks + hidden),
        "chunks and length": with_head(chunked, length(4), body=empty_chunks + hidden),
        "two lengths": with_head(length(0), length(len(hidden)), body=hidden),
        "two lengths, small first": with_head(length(len(hidden)), length(0), body=hidden),
        "a list of lengths": with_head(length(f"0, {len(hidden)}"), body=hidden),
        "the same length twice": with_head(length(len(BODY)), length(len(BODY)), body=BODY + hidden),
        "a list of the same length": with_head(length(f"{len(BODY)}, {len(BODY)}"), body=BODY + hidden),
        "a folded line": with_head(b"X: a\r\n b\r\n", length(len(BODY)), body=BODY + hidden),
        "a line without a return": with_head(b"X: a\n", length(len(BODY)), body=BODY + hidden),
        "a negative length": with_head(length(-1), body=hidden),
        "a length with a sign": with_head(length("+5"), body=BODY + hidden),
        "a length in hexadecimal": with_head(length("0x10"), body=BODY + hidden),
        "a length with an underscore": with_head(length("1_0"), body=BODY + hidden),
        "a length of words": with_head(length("ten"), body=BODY + hidden),
        "a length too long to read": with_head(length("9" * 400), body=BODY + hidden),
        "two encodings": with_head(chunked, b"Transfer-Encoding: identity\r\n", body=empty_chunks + hidden),
        "an unknown encoding": with_head(b"Transfer-Encoding: xchunked\r\n", body=empty_chunks + hidden),
        "chunks not last": with_head(b"Transfer-Encoding: chunked, identity\r\n", body=empty_chunks + hidden),
        "a space before the colon": with_head(length(4), b"Transfer-Encoding : chunked\r\n", body=BODY + hidden),
        "a folded encoding": with_head(length(4), b"Transfer-Encoding:\r\n chunked\r\n", body=empty_chunks + hidden),
        "a tab in the encoding": with_head(length(4), b"Transfer-Encoding:\tchunked\r\n", body=empty_chunks + hidden),
        "a vertical tab in the encoding": with_head(b"Transfer-Encoding: \x0bchunked\r\n", body=chunk + hidden),
        "a head with a bare return": with_head(b"X: y\rTransfer-Encoding: chunked\r\n", body=empty_chunks + hidden),
        "a head with a zero": with_head(b"X: y\x00\r\n", length(4), body=BODY + hidden),
        "a name with a space": with_head(b"Content Length: 5\r\n", body=hidden),
        "no name": with_head(b": 5\r\n", body=hidden),
        "a first line that is folded": with_head(body=b"").replace(b"\r\n", b"\r\n X: y\r\n", 1) + hidden,
        "a chunk of no number": with_head(chunked, body=b"zz\r\n" + BODY + b"\r\n" + empty_chunks + hidden),
        "a negative chunk": with_head(chunked, body=b"-1\r\n" + BODY + b"\r\n" + empty_chunks + hidden),
        "a chunk in 0x": with_head(chunked, body=b"0x5\r\nhello\r\n" + empty_chunks + hidden),
        "a giant chunk": with_head(chunked, body=b"f" * 40 + b"\r\n" + BODY + b"\r\n" + empty_chunks + hidden),
        "a chunk longer than it says": with_head(chunked, body=b"2\r\n" + BODY + b"\r\n" + empty_chunks + hidden),
        "a chunk of a line feed": with_head(chunked, body=b"\n5\nhello\n0\n\n" + hidden),
        "chunks in HTTP/1.0": with_head(chunked, body=empty_chunks + hidden).replace(b"HTTP/1.1", b"HTTP/1.0", 1),
        "no host": with_head(length(0), body=hidden).replace(b"Host:", b"Ghost:", 1),
        "garbage": bytes(range(256)) * 4 + hidden,
        "a line without end": b"A" * 200_000 + hidden,
        "a head without end": client.head("GET", HIDDEN) + b"".join(b"X%d: y\r\n" % i for i in range(20_000)),
        "another protocol": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + hidden,
        "an old protocol": b"GET /api/v1/health\r\n\r\n" + hidden,
    }
