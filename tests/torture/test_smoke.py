"""The smoke profile of every attack holds, and every attack has defects that it finds when they are put back."""

import os
import re
import subprocess
import sys
import tempfile

import pytest

from torture.campaign import ROOT
from torture.registry import ATTACKS

TIMEOUT_SECONDS = 3600


@pytest.fixture(scope="module")
def said() -> dict[str, str]:
    """Run all attacks, which share their music and libraries; return what was said about each."""
    paths = os.pathsep.join([str(ROOT / "src"), str(ROOT / "tests"), str(ROOT)])
    with tempfile.TemporaryDirectory() as folder:  # a short path: there are sockets in it
        run = subprocess.run(
            [sys.executable, "-m", "torture", "--profile", "smoke", "--folder", folder],
            env=os.environ | {"PYTHONPATH": paths},
            capture_output=True,
            text=True,
            timeout=TIMEOUT_SECONDS,
            check=False,
        )
    assert run.returncode in (0, 1), run.stdout[-3000:] + run.stderr[-3000:]
    assert (run.returncode == 0) == run.stdout.endswith("Everything held.\n")
    starts = {name: run.stdout.index(f"{name}: {kind.title}") for name, kind in ATTACKS.items()}
    ends = [*list(starts.values())[1:], None]
    return {name: run.stdout[start:end] for (name, start), end in zip(starts.items(), ends, strict=True)}


@pytest.mark.parametrize("attack", ATTACKS)
def test_everything_holds_in_the_smoke_profile_of(attack, said):
    found = re.search(r"^  (\d+) of (\d+) trials held, ", said[attack], flags=re.MULTILINE)
    assert found, said[attack]
    assert found[1] == found[2] != "0", said[attack]
    assert "BROKEN" not in said[attack], said[attack]


@pytest.mark.parametrize("attack", ATTACKS)
def test_there_is_a_defect_to_put_back_for(attack):
    defects = ATTACKS[attack].defects
    assert defects
    for defect in defects:
        text = (ROOT / "src" / defect.file).read_text(encoding="utf-8")
        assert text.count(defect.old) == 1, f"{defect.file}: {defect.old!r}"
        assert defect.new != defect.old
