"""The smoke profile of every attack holds, and every attack has defects that it finds when they are put back."""

import os
import subprocess
import sys

import pytest

from torture.campaign import ROOT
from torture.registry import ATTACKS

TIMEOUT_SECONDS = 900


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return the folder of all attacks, which share their music."""
    return tmp_path_factory.mktemp("torture")


@pytest.mark.parametrize("attack", ATTACKS)
def test_everything_holds_in_the_smoke_profile_of(attack, folder):
    paths = os.pathsep.join([str(ROOT / "tests"), str(ROOT)])
    run = subprocess.run(
        [sys.executable, "-m", "torture", attack, "--profile", "smoke", "--folder", str(folder)],
        env=os.environ | {"PYTHONPATH": paths},
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
        check=False,
    )
    assert run.returncode == 0, run.stdout[-3000:] + run.stderr[-3000:]
    assert "Everything held." in run.stdout


@pytest.mark.parametrize("attack", ATTACKS)
def test_there_is_a_defect_to_put_back_for(attack):
    defects = ATTACKS[attack].defects
    assert defects
    for defect in defects:
        text = (ROOT / "src" / defect.file).read_text(encoding="utf-8")
        assert text.count(defect.old) == 1, f"{defect.file}: {defect.old!r}"
        assert defect.new != defect.old
