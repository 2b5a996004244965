"""What a release contains, and that two builds of a commit are the same."""

import hashlib
import json
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PRIVATE = (str(ROOT), str(Path.home()) + "/", sys.prefix, "file://")


def made(folder: Path) -> Path:
    subprocess.run([sys.executable, "release/make_release.py", str(folder)], cwd=ROOT, check=True, timeout=600)
    return folder


@pytest.fixture(scope="module")
def release(tmp_path_factory) -> Path:
    return made(tmp_path_factory.mktemp("release"))


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def test_two_builds_of_a_commit_are_the_same_bytes(release, tmp_path):
    again = made(tmp_path / "again")
    assert (again / "SHA256SUMS").read_text() == (release / "SHA256SUMS").read_text()


def test_the_hashes_are_those_of_all_files(release):
    lines = dict(reversed(line.split("  ")) for line in (release / "SHA256SUMS").read_text().splitlines())
    files = {file.name: file for file in release.iterdir() if file.suffix in (".whl", ".gz", ".json")}
    assert lines == {name: hashlib.sha256(file.read_bytes()).hexdigest() for name, file in files.items()}
    assert {Path(name).suffix for name in lines} == {".whl", ".gz", ".json"}


def test_the_bill_lists_every_dependency_with_version_and_licence(release):
    bill = json.loads((release / "nearsong.cdx.json").read_text())
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    listed = {normal(part["name"]): part for part in bill["components"]}
    declared = {normal(re.match(r"[\w.-]+", text).group()) for text in project["dependencies"]}
    assert declared - set(listed) == set()
    assert {"starlette", "anyio", "llvmlite"} <= set(listed)  # needed by what is declared
    assert {"pytest", "mypy", "cyclonedx-bom"} & set(listed) == set()  # not of a plain installation
    assert [name for name, part in listed.items() if not part.get("version") or not part.get("licenses")] == []
    assert bill["bomFormat"] == "CycloneDX"
    root = bill["metadata"]["component"]
    (own,) = (link for link in bill["dependencies"] if link["ref"] == root["bom-ref"])
    assert {normal(listed_ref.partition("==")[0]) for listed_ref in own["dependsOn"]} == declared


def test_the_wheel_is_the_package_alone_and_complete(release):
    (wheel,) = release.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    assert {name.partition("/")[0].partition("-")[0] for name in names} == {"nearsong", "beetsplug"}
    assert {name for name in names if name.startswith("beetsplug/")} == {"beetsplug/nearsong.py"}
    sources = (ROOT / "src" / "nearsong").rglob("*")
    wanted = {
        f"nearsong/{file.relative_to(ROOT / 'src' / 'nearsong').as_posix()}"
        for file in sources
        if file.is_file() and file.suffix not in (".pyc", ".nbi", ".nbc")
    }
    assert {name for name in names if name.startswith("nearsong/")} == wanted


def test_nothing_in_a_release_names_a_place_of_this_machine(release):
    (wheel,), (source,) = release.glob("*.whl"), release.glob("*.tar.gz")
    with zipfile.ZipFile(wheel) as archive:
        contents = {name: archive.read(name) for name in archive.namelist()}
    with tarfile.open(source) as files:
        contents |= {one.name: files.extractfile(one).read() for one in files.getmembers() if one.isfile()}
    contents["bill"] = (release / "nearsong.cdx.json").read_bytes()
    private = [place.encode() for place in PRIVATE[:3]]
    assert [name for name, data in contents.items() if any(place in data for place in private)] == []
    assert b"file://" not in contents["bill"]
