"""The source tree -> wheel, sdist, bill of materials (CycloneDX) and SHA256SUMS: `release/make_release.py FOLDER`.

The same commit gives the same bytes: times are those of the last commit, and the bill has neither times nor random
numbers. It lists what a plain ``pip install nearsong`` installs, as it is in this environment.
"""

import hashlib
import json
import os
import subprocess
import sys
import tomllib
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent
BILL_NAME = "nearsong.cdx.json"
HASHES_NAME = "SHA256SUMS"


def release(out: Path) -> list[Path]:
    """Write all files of a release to a folder and return them."""
    out.mkdir(parents=True, exist_ok=True)
    epoch = os.environ.get("SOURCE_DATE_EPOCH") or _run("git", "log", "-1", "--format=%ct").strip()
    build = (sys.executable, "-m", "build", "--no-isolation", "--outdir", str(out), str(ROOT))
    _run(*build, SOURCE_DATE_EPOCH=epoch)
    (out / BILL_NAME).write_text(json.dumps(bill_of_materials(), indent=2, sort_keys=True) + "\n", encoding="utf-8")
    files = sorted([*out.glob("*.whl"), *out.glob("*.tar.gz"), out / BILL_NAME])
    lines = [f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n" for file in files]
    (out / HASHES_NAME).write_text("".join(lines), encoding="utf-8")
    return [*files, out / HASHES_NAME]


def bill_of_materials() -> dict[str, Any]:
    """Return the bill of the packages of a plain installation, with versions, licences and who needs whom."""
    project = str(ROOT / "pyproject.toml")
    options = ("--output-reproducible", "--of", "JSON", "--pyproject", project, "-o", "-")
    whole = json.loads(_run(sys.executable, "-m", "cyclonedx_py", "environment", *options, sys.executable))
    names = installed_by(base_requirements())
    components = [part for part in whole["components"] if canonicalize_name(part["name"]) in names]
    root = whole["metadata"]["component"]["bom-ref"]
    reference = {canonicalize_name(part["name"]): part["bom-ref"] for part in components}
    known = {root, *reference.values()}
    links = [
        {"ref": link["ref"], "dependsOn": sorted(known.intersection(link.get("dependsOn", ())))}
        for link in whole["dependencies"]
        if link["ref"] in known - {root}
    ]
    own = sorted(reference[canonicalize_name(one.name)] for one in base_requirements())
    bill = {key: value for key, value in whole.items() if key not in ("components", "dependencies")}
    return {**bill, "components": components, "dependencies": [{"ref": root, "dependsOn": own}, *links]}


def base_requirements() -> list[Requirement]:
    """Return the dependencies that the project declares, without its extras."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return [Requirement(text) for text in project["dependencies"]]


def installed_by(requirements: list[Requirement]) -> set[str]:
    """Return the names of all packages that requirements install here, directly or not."""
    found: set[tuple[str, str]] = set()
    waiting = [(one, extra) for one in requirements for extra in ("", *sorted(one.extras))]
    while waiting:
        requirement, extra = waiting.pop()
        name = canonicalize_name(requirement.name)
        if (name, extra) in found:
            continue
        found.add((name, extra))
        for text in distribution(name).requires or ():
            needed = Requirement(text)
            if needed.marker is None or needed.marker.evaluate({"extra": extra}):
                waiting += [(needed, inner) for inner in ("", *sorted(needed.extras))]
    return {name for name, _ in found}


def _run(*command: str, **variables: str) -> str:
    """Run a program in the source tree and return what it prints; its errors are shown."""
    done = subprocess.run(
        command, cwd=ROOT, env={**os.environ, **variables}, stdout=subprocess.PIPE, text=True, check=True
    )
    return done.stdout


if __name__ == "__main__":
    for written in release(Path(sys.argv[1])):
        print(written)
