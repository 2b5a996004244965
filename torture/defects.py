"""Known defects, put back one at a time into a copy of the sources: the attack that is to find each must fail.

An attack that cannot fail proves nothing. Each defect is a replacement of text in one source file; the attack runs
its smoke profile on the changed copy, in processes whose ``PYTHONPATH`` begins with it.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from torture.attack import Defect
from torture.campaign import ROOT
from torture.registry import ATTACKS

TIMEOUT_SECONDS = 900


def put_back_defects(attacks: Sequence[str], folder: Path, seed: int) -> int:
    """Put each defect of some attacks back; return how many were not found."""
    missed = 0
    for name in attacks:
        for defect in ATTACKS[name].defects:
            found, line = _is_found(name, defect, folder / f"{name}-{defect.name}".replace(" ", "-"), seed)
            missed += not found
            print(f"{'found' if found else 'MISSED'}  {name}: {defect.name} ({line})", flush=True)
    return missed


def _is_found(attack: str, defect: Defect, folder: Path, seed: int) -> tuple[bool, str]:
    shutil.rmtree(folder, ignore_errors=True)
    source = folder / "src"
    shutil.copytree(ROOT / "src", source)  # with dates, so that compiled functions need not be compiled again
    path = source / defect.file
    text = path.read_text(encoding="utf-8")
    if text.count(defect.old) != 1:
        return False, f"{defect.file} does not have the text once that the defect replaces; renew the defect"
    path.write_text(text.replace(defect.old, defect.new), encoding="utf-8")
    paths = os.pathsep.join([str(source), str(ROOT / "tests"), str(ROOT)])
    command = [sys.executable, "-m", "torture", attack, "--profile", "smoke", "--seed", str(seed)]
    run = subprocess.run(
        [*command, "--trials", defect.trials, "--folder", str(folder / "run")],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": paths},
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
        check=False,
    )
    broken = [line.strip() for line in run.stdout.splitlines() if "BROKEN" in line]
    words = broken[0] if broken else (run.stderr.strip().splitlines() or ["nothing was broken"])[-1]
    if run.returncode == 1 and broken:
        shutil.rmtree(folder, ignore_errors=True)
        return True, words[:300]
    return False, words[:300]
