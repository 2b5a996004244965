"""Audio is read, written and converted with PyAV 19 too, which pyproject.toml holds back for its size only.

PyAV 19 needs Python 3.12, so where the tests run on an older one, a newer interpreter reads the files.
"""

import json
import os
import re
import shutil
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path

import av
import pytest

from nearsong.audio.write import EXTENSIONS

from .conftest import FORMATS

ROOT = Path(__file__).parents[2]
NEWER_PYTHONS = ("3.14", "3.13", "3.12")
HELD_BACK = "av>=19,<20"
USED = re.compile(r"av|numba|numpy|pebble|scipy|soundfile|soxr|threadpoolctl")
REPORT = """
import json, sys
import av
from nearsong.audio import load_audio
from nearsong.audio.conversion.convert import convert_file
from nearsong.audio.conversion.forms import AudioFormat
from nearsong.guarded_file import identity_of
from nearsong.audio.write import write_audio

folder, extensions, *paths = sys.argv[1:]
samples = {path: load_audio(path, sample_rate=24_000) for path in paths}
written = [write_audio(f"{folder}/new.{ending}", samples[paths[0]], 24_000) for ending in extensions.split()]
converted = []
for audio_format in (AudioFormat(), AudioFormat(128)):
    for path in paths:
        with open(path, "rb", buffering=0) as file:
            target = f"{folder}/converted.{audio_format.extension}"
            convert_file(path, identity_of(file), target, audio_format, 60.0, 10**8)
            converted.append(len(load_audio(target, sample_rate=24_000)) / 24_000)
report = {
    "pyav": av.__version__,
    "read": [len(found) / 24_000 for found in samples.values()],
    "written": [len(load_audio(path, sample_rate=24_000)) / 24_000 for path in written],
    "converted": converted,
}
print(json.dumps(report))
"""


def requirements() -> list[str]:
    """Return what `nearsong.audio` needs, as pyproject.toml has it."""
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    return [line for line in declared if USED.fullmatch(re.split("[<>=]", line)[0])]


def newest_python() -> str | None:
    """Return the newest Python above 3.11 on this machine; a pyenv shim on the path may not be usable."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    for version in NEWER_PYTHONS:
        candidates = [shutil.which(f"python{version}"), *(str(p) for p in pyenv.glob(f"{version}.*/bin/python"))]
        for python in filter(None, candidates):
            if subprocess.run([python, "-m", "pip", "--version"], capture_output=True).returncode == 0:
                return python
    return None


@pytest.fixture(scope="module")
def newest_pyav(tmp_path_factory) -> Iterator[tuple[str, Path]]:
    """Yield a Python and a folder with the newest PyAV for it."""
    python = newest_python()
    if python is None:
        pytest.skip("PyAV 19 needs Python 3.12 or newer, and there is none on this machine")
    folder = tmp_path_factory.mktemp("newest-pyav")
    options = ["-q", "--disable-pip-version-check", "--no-compile", "--only-binary", ":all:", "--target", str(folder)]
    others = [line for line in requirements() if not line.startswith("av>")]
    done = subprocess.run(
        [python, "-m", "pip", "install", *options, *others, HELD_BACK], capture_output=True, text=True
    )
    if done.returncode != 0:
        pytest.skip(f"pip cannot install the newest PyAV here: {done.stderr.strip().splitlines()[-1]}")
    yield python, folder
    shutil.rmtree(folder)  # half a gigabyte


def test_every_format_is_read_written_and_converted_with_the_newest_pyav(newest_pyav, make_sound, tmp_path):
    python, packages = newest_pyav
    paths = [str(make_sound(name)) for name in FORMATS]
    latin = tmp_path / "latin1.mp3"  # a title that is not UTF-8 must not stop the decoder
    frame = b"TIT2" + (6).to_bytes(4, "big") + b"\0\0" + b"\x03caf\xe9\xff"
    mp3 = (tmp_path / "song.mp3").read_bytes()
    latin.write_bytes(b"ID3\x03\0\0\0\0\0" + bytes([len(frame)]) + frame + mp3)
    done = subprocess.run(
        [python, "-W", "error", "-c", REPORT, str(tmp_path), " ".join(EXTENSIONS), *paths, str(latin)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": f"{packages}{os.pathsep}{ROOT / 'src'}"},
    )
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert int(report["pyav"].split(".")[0]) >= 19
    assert [len(report[name]) for name in ("read", "written", "converted")] == [12, 6, 24]
    for seconds in (*report["read"], *report["written"], *report["converted"]):
        assert seconds == pytest.approx(2.0, abs=0.15)


def test_the_bound_of_pyproject_admits_the_installed_pyav():
    (bound,) = (line for line in requirements() if line.startswith("av"))
    lowest, limit = (int(number) for number in re.fullmatch(r"av>=(\d+),<(\d+)", bound).groups())
    assert lowest <= int(av.__version__.split(".")[0]) < limit
