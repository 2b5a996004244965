"""Many clients ask a running service for similar songs at once: how long they wait, against the bare index query.

A library of random songs is written straight into a store; `nearsong serve` answers in a process of its own, and
clients on as many connections, each with its next question as soon as it has an answer, ask for the ten nearest of
random songs; then again for songs by other artists only; then each at its own times, all together so many times a
second, whether or not answers come in time: a wait counts from when the question was due. One JSON line for each:
requests a second, p50, p95 and p99 of the wait, processor time of the service for a request, errors, and what one
costs the bare index, measured in the same run. The clients share the machine with the service.
"""

import argparse
import asyncio
import json
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from time import monotonic, perf_counter, sleep

import numpy as np

from keep_alive import KeepAlive
from random_library import bare_index, make_library

PROFILES = {
    "smoke": {
        "case": "service_500_songs",
        "songs": 500,
        "codewords": 64,
        "clients": 8,
        "requests": 200,
        "rate": 40.0,
        "seconds": 1.0,
    },
    "full": {
        "case": "service_100k_songs",
        "songs": 100_000,
        "codewords": 1024,
        "clients": 200,
        "requests": 20_000,
        "rate": 300.0,
        "seconds": 20.0,
    },
}
QUERIES = {"": "", "_new_artists": "&new_artists=true"}
"""What is added to the name of the case, and to the question."""


async def ask(port: int, songs: list[int], query: str, waits: list[float], problems: list[str]) -> None:
    """Ask for one song after another on one connection."""
    client = KeepAlive(port)
    for song in songs:
        start = perf_counter()
        answer = await client.ask(f"/api/v1/similar?seed={song}&n=10{query}")
        waits.append(perf_counter() - start)
        if answer.status != 200 or len(json.loads(answer.body)["songs"]) != 10:
            problems.append(f"status {answer.status}: {answer.body[:80]!r}")
    client.close()


async def load(
    port: int, n_songs: int, clients: int, requests: int, query: str = ""
) -> tuple[list[float], list[str], float]:
    waits: list[float] = []
    problems: list[str] = []
    asked = np.random.default_rng(0).integers(1, n_songs + 1, size=(clients, requests // clients)).tolist()
    start = perf_counter()
    done = await asyncio.gather(
        *(ask(port, songs, query, waits, problems) for songs in asked), return_exceptions=True
    )
    problems += [repr(one) for one in done if one is not None]
    return waits, problems, perf_counter() - start


async def ask_in_time(
    client: KeepAlive, due: float, songs: list[int], interval: float, waits: list[float], problems: list[str]
) -> None:
    """Ask for one song after another at fixed times; an answer that is late does not move the next question."""
    for song in songs:
        await asyncio.sleep(max(0.0, due - perf_counter()))
        answer = await client.ask(f"/api/v1/similar?seed={song}&n=10")
        waits.append(perf_counter() - due)
        due += interval
        if answer.status != 200:
            problems.append(f"status {answer.status}: {answer.body[:80]!r}")
    client.close()


async def load_at_rate(
    port: int, n_songs: int, clients: int, rate: float, seconds: float
) -> tuple[list[float], list[str], float]:
    """Ask so many times a second from all clients together, each on an open connection and with its own phase."""
    waits: list[float] = []
    problems: list[str] = []
    asked = np.random.default_rng(1).integers(1, n_songs + 1, size=(clients, int(rate * seconds / clients))).tolist()
    connections = [KeepAlive(port) for _ in range(clients)]
    for connection in connections:
        await connection.ask("/api/v1/health")
    start = perf_counter() + 0.1
    done = await asyncio.gather(
        *(
            ask_in_time(connection, start + i / rate, songs, clients / rate, waits, problems)
            for i, (connection, songs) in enumerate(zip(connections, asked, strict=True))
        ),
        return_exceptions=True,
    )
    problems += [repr(one) for one in done if one is not None]
    return waits, problems, perf_counter() - start


def start_service(folder: Path) -> tuple[subprocess.Popen[bytes], int]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [
        sys.executable,
        "-m",
        "nearsong",
        "serve",
        "--library",
        str(folder / "library.sqlite"),
        "--port",
        str(port),
        "--no-automatic",
    ]
    service = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    deadline = monotonic() + 120
    while monotonic() < deadline and service.poll() is None:
        try:
            waits, problems, _ = asyncio.run(load(port, 1, 1, 1))
        except OSError:
            problems, waits = ["not there yet"], []
        if waits and not problems:
            return service, port
        sleep(0.2)
    service.kill()
    raise SystemExit(f"the service did not answer (exit code {service.poll()})")


def processor_seconds(process: int) -> float:
    """Return how long a process has computed; 0 where the system does not tell."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def wait_until_quiet(process: int, most: float = 300.0) -> None:
    """Wait until a service that has just begun to answer has made everything ready: three quiet seconds in a row.

    On a busy machine a thread that works all the time may get a tenth of a core.
    """
    deadline = monotonic() + most
    quiet = 0
    while quiet < 3 and monotonic() < deadline:
        before = processor_seconds(process)
        sleep(1.0)
        quiet = 0 if processor_seconds(process) - before > 0.05 else quiet + 1


def measure(profile: str) -> Iterator[dict[str, object]]:
    case = PROFILES[profile]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_library(folder, case["songs"], case["codewords"])
        alone, together = bare_index(folder / "library.sqlite")
        service, port = start_service(folder)
        try:
            wait_until_quiet(service.pid)
            for named, query in QUERIES.items():
                asyncio.run(load(port, case["songs"], case["clients"], case["clients"] * 2, query))
                before = processor_seconds(service.pid)
                found = asyncio.run(load(port, case["songs"], case["clients"], case["requests"], query))
                computed = processor_seconds(service.pid) - before
                quiet, _, _ = asyncio.run(load(port, case["songs"], 1, 50, query))
                figures = summary(*found, alone)
                yield {
                    "case": f"{case['case']}{named}",
                    "clients": case["clients"],
                    **figures,
                    "service_cpu_ms": round(1000 * computed / len(found[0]), 2),
                    "one_client_p50_ms": round(1000 * float(np.median(quiet)), 2),
                    "bare_index_ms": round(1000 * alone, 3),
                    "bare_index_of_32_ms": round(1000 * together, 3),
                }
            before = processor_seconds(service.pid)
            in_time = load_at_rate(port, case["songs"], case["clients"], case["rate"], case["seconds"])
            found = asyncio.run(in_time)
            computed = processor_seconds(service.pid) - before
            yield {
                "case": f"{case['case']}_at_{case['rate']:g}_a_second",
                "clients": case["clients"],
                **summary(*found, alone),
                "service_cpu_ms": round(1000 * computed / len(found[0]), 2),
                "bare_index_of_32_ms": round(1000 * together, 3),
            }
        finally:
            service.terminate()
            service.wait(timeout=30)


def summary(waits: list[float], problems: list[str], seconds: float, alone: float) -> dict[str, object]:
    if problems:
        raise SystemExit(f"{len(problems)} of {len(waits)} requests failed, first: {problems[0]}")
    p50, p95, p99 = np.quantile(waits, [0.5, 0.95, 0.99])
    return {
        "requests": len(waits),
        "errors": len(problems),
        "requests_per_second": round(len(waits) / seconds, 1),
        "p50_ms": round(1000 * p50, 2),
        "p95_ms": round(1000 * p95, 2),
        "p99_ms": round(1000 * p99, 2),
        "per_request_over_bare_index": round(seconds / len(waits) / alone, 2),
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--profile", choices=PROFILES, default="full")
    for line in measure(parser.parse_args().profile):
        print(json.dumps(line), flush=True)
