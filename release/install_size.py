"""An environment -> what each package in it takes on disk, as a table in Markdown: `make size`.

Run it with the Python of the environment. Sizes are those of the files that pip recorded, in MB of 10^6 bytes;
bytecode is what pip compiles while it installs.
"""

import argparse
from importlib.metadata import Distribution, distributions
from typing import NamedTuple

MB = 1e6


class Size(NamedTuple):
    """The bytes of a package, and how many of them are bytecode."""

    name: str
    n_bytes: int
    n_bytecode: int


def size_of(package: Distribution) -> Size:
    """Return what a package takes; files that were removed since count nothing."""
    n_bytes = n_bytecode = 0
    for file in package.files or []:
        path = package.locate_file(file)
        try:
            size = path.stat().st_size  # type: ignore[attr-defined]
        except OSError:
            continue
        n_bytes += size
        n_bytecode += size if file.suffix == ".pyc" else 0
    return Size(package.name, n_bytes, n_bytecode)


def table(sizes: list[Size], n_shown: int) -> str:
    """Return the largest packages, the sum of the others, and the total."""
    sizes = sorted(sizes, key=lambda size: (-size.n_bytes, size.name))
    shown, rest = sizes[:n_shown], sizes[n_shown:]
    for name, sizes_of_row in ((f"{len(rest)} others", rest), ("**together**", sizes)):
        shown.append(Size(name, sum(s.n_bytes for s in sizes_of_row), sum(s.n_bytecode for s in sizes_of_row)))
    rows = [f"| {name} | {all_ / MB:.1f} | {(all_ - code) / MB:.1f} |" for name, all_, code in shown]
    return "\n".join(["| package | MB | without bytecode |", "|---|---|---|", *rows])


def main() -> None:
    """Print the table; exit with 1 if the installation is larger than ``--limit`` MB."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--top", type=int, default=20, help="packages to name (default: 20)")
    parser.add_argument("--limit", type=float, help="MB, with bytecode, above which this fails")
    arguments = parser.parse_args()
    sizes = list({package.name: size_of(package) for package in distributions()}.values())
    print(table(sizes, arguments.top))
    if arguments.limit is not None and sum(size.n_bytes for size in sizes) > arguments.limit * MB:
        raise SystemExit(f"The installation is larger than {arguments.limit:g} MB; see the table for what is large.")


if __name__ == "__main__":
    main()
