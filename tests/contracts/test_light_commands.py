"""Commands that only read the library start at once: they load neither compilers nor learners nor decoders."""

import subprocess
import sys

import pytest

HEAVY = ("sklearn", "scipy", "numba", "av", "soundfile", "rapidfuzz", "pebble")

RUN = """
import sys
from nearsong.cli import main
try:
    main()
except SystemExit:
    pass
print("loaded", *(name for name in {heavy!r} if name in sys.modules))
"""


@pytest.mark.parametrize(
    "command",
    [
        ["status"],
        ["models", "list"],
        ["listens", "list"],
        ["listeners", "list"],
        ["status", "--library", "no-such-folder/library.sqlite"],
    ],
    ids=" ".join,
)
def test_a_light_command_loads_no_heavy_library(tmp_path, command):
    library = [] if "--library" in command else ["--library", str(tmp_path / "library.sqlite")]
    done = subprocess.run(
        [sys.executable, "-c", RUN.format(heavy=HEAVY), *command, *library],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=True,
    )
    assert done.stdout.splitlines()[-1] == "loaded", done.stdout
