"""Importing listening histories into SQLite, beside Polars that reads and dictionary-encodes the same file.

One JSON line a case, each measured in fresh processes: rows per second and the ratio to Polars (left out where Polars
is not installed: extra ``peers``), the processor time of both, the peak memory of a large import, a zip of very many
small files, and many empty lines in a small gzip file (half a gigabyte in the full profile).
"""

import argparse
import gzip
import importlib.util
import json
import resource
import subprocess
import sys
import tempfile
import zipfile
from contextlib import closing
from pathlib import Path
from time import perf_counter, process_time

from bench_library import make_listens
from nearsong.errors import ListensError
from nearsong.library.listeners.importing import import_listens
from nearsong.library.store import Store

PROFILES: dict[str, dict[str, int]] = {
    "smoke": {"rows": 3_000, "large_rows": 6_000, "members": 50, "rounds": 1, "empty_mb": 8},
    "full": {"rows": 3_000_000, "large_rows": 20_000_000, "members": 20_000, "rounds": 3, "empty_mb": 512},
}
CASES = ("table", "large_table", "zip", "empty_lines")


def sizes_of(rows: int) -> dict[str, int]:
    """Return how many users and artists a history of this many rows has, as Last.fm 360K does."""
    return {"rows": rows, "users": max(rows * 3 // 200, 10), "artists": max(rows // 30, 10)}


def peak_mb() -> int:
    units = 1 if sys.platform == "darwin" else 1024
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * units / 1e6)


# ---- what is measured, in a process of its own


def run_nearsong(path: Path) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder, closing(Store(Path(folder) / "library.sqlite")) as store:
        warm = Path(folder) / "warm.csv"  # compiled functions are loaded
        warm.write_text("user,artist,plays\nann,A,1\n")
        with closing(Store(Path(folder) / "warm.sqlite")) as other:
            import_listens(other, [warm])
        start, cpu = perf_counter(), process_time()
        try:
            [done] = import_listens(store, [path])
            rows, refused = done.rows, ""
        except ListensError as error:
            rows, refused = 0, str(error).replace(str(path), path.name)
        facts = {"seconds": perf_counter() - start, "cpu_seconds": process_time() - cpu, "rows": rows}
        return facts | {"peak_mb": peak_mb()} | ({"refused": refused} if refused else {})


def run_polars(path: Path) -> dict[str, float]:
    import polars

    start, cpu = perf_counter(), process_time()
    texts = {"user": polars.Categorical, "artist": polars.Categorical}
    table = polars.read_csv(path, schema_overrides=texts)
    facts = {"seconds": perf_counter() - start, "cpu_seconds": process_time() - cpu, "rows": len(table)}
    return facts | {"peak_mb": peak_mb()}


def measured(program: str, path: Path) -> dict[str, float]:
    command = [sys.executable, __file__, "--run", program, str(path)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


# ---- the cases


def table(path: Path, rows: int, rounds: int) -> dict[str, float]:
    make_listens(path, sizes_of(rows))
    programs = ["nearsong", *(["polars"] if importlib.util.find_spec("polars") else [])]
    runs = [{program: measured(program, path) for program in programs} for _ in range(rounds)]
    best = {program: min((run[program] for run in runs), key=lambda run: run["seconds"]) for program in programs}
    ours = best["nearsong"]
    assert ours["rows"] == rows
    facts = ours | {"rows_a_second": round(rows / ours["seconds"])}
    if "polars" in best:
        peer = best["polars"]
        facts |= {f"polars_{name}": peer[name] for name in ("seconds", "cpu_seconds")}
        facts |= {"ratio": ours["seconds"] / peer["seconds"], "cpu_ratio": ours["cpu_seconds"] / peer["cpu_seconds"]}
    return facts


def many_members(path: Path, members: int) -> dict[str, float]:
    with zipfile.ZipFile(path, "w") as archive:
        for number in range(members):
            archive.writestr(f"{number:06d}.csv", f"user,artist,plays\nann,Band {number % 997},3\n" * 2)
    facts = measured("nearsong", path)
    return facts | {"milliseconds_a_member": 1000 * facts["seconds"] / members}


def empty_lines(path: Path, megabytes: int) -> dict[str, float]:
    piece = gzip.compress(b"\n" * (1 << 20))
    path.write_bytes(gzip.compress(b"user,artist,plays\nann,A,1\n") + piece * megabytes)
    return measured("nearsong", path)


def measure(case: str, sizes: dict[str, int], folder: Path) -> dict[str, float]:
    if case == "zip":
        return many_members(folder / "many.zip", sizes["members"])
    if case == "empty_lines":
        return empty_lines(folder / "empty.csv.gz", sizes["empty_mb"])
    rows, rounds = (sizes["rows"], sizes["rounds"]) if case == "table" else (sizes["large_rows"], 1)
    return table(folder / "history.csv", rows, rounds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--profile", choices=PROFILES, default="smoke")
    parser.add_argument("--case", choices=CASES, nargs="+", default=CASES, help="measure these alone")
    parser.add_argument("--run", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.run:
        program, path = arguments.run
        print(json.dumps((run_polars if program == "polars" else run_nearsong)(Path(path))))
        return
    for case in arguments.case:
        with tempfile.TemporaryDirectory() as folder:
            facts = measure(case, PROFILES[arguments.profile], Path(folder))
        shown = {name: round(value, 3) if isinstance(value, float) else value for name, value in facts.items()}
        print(json.dumps({"case": case, **shown}), flush=True)


if __name__ == "__main__":
    main()
