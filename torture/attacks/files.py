"""Mutants and bombs of every format, in a folder that is scanned twice and whose covers are shown."""

import json
import os
import shutil
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import ClassVar

import numpy as np

from torture.attack import Attack, Defect, Figures, Trial, check
from torture.hostile.bombs import BOMBS, make_sparse, make_special
from torture.hostile.material import strangers
from torture.hostile.mutations import mutate, odd_name
from torture.hostile.songs import Song, read_songs
from torture.processes import MemoryWatch
from torture.warm.victim import Victim, all_ended

PARENT_MB = 600
"""What the process of the scan, and of the service, may take above its start."""

WORKER_MB = 700
"""What a process that reads strangers' files may take; a third of what `nearsong.audio.workers` refuses it."""

SPARSE_WORKER_MB = 2_400
"""The same where files have holes of gigabytes, which a decoder reads until its memory is refused."""

SMOKE_BOMBS = (
    "compressed ID3 text",
    "compressed ID3 cover",
    "compressed ID3 in WAV",
    "PNG cover bomb",
    "PNG cover within the limits",
    "APEv2 of 4 GB declared",
    "MP4 atoms 100,000 deep",
    "WAV of 65,535 channels",
)
_COMMON_WORDS = {"took longer": "too slow", "crashed": "crashed the decoder", "more memory": "too large"}


class Files(Attack):
    """Scans of folders that strangers filled."""

    name = "files"
    title = "mutants and bombs of every audio format among good songs"
    defects: ClassVar[tuple[Defect, ...]] = (
        Defect(
            name="compressed frames unpack without limit",
            file="nearsong/audio/headers/tag_file.py",
            old="return zlib.decompress(data) if _reading.file is None else _reading.file.unpack(data)",
            new="return zlib.decompress(data)",
        ),
        Defect(
            name="files that cannot be read are forgotten",
            file="nearsong/library/scanning/write_files.py",
            old="[(file.path, result.reason) for file, result in results if isinstance(result, AudioError)]",
            new="[]",
        ),
        Defect(
            name="names that are not UTF-8 end a scan",
            file="nearsong/library/store/text.py",
            old='return path if path.isascii() and "\\0" not in path else _UNSTORABLE.sub(_escaped, path)',
            new="return path",
        ),
    )

    def trials(self) -> Iterable[Trial]:
        n_trials, n_mutants = self.workshop.pick(smoke=(1, 60), full=(40, 250))
        names = list(self.workshop.pick(smoke=SMOKE_BOMBS, full=tuple(BOMBS)))
        for number in range(n_trials):
            options = {
                "mutants": n_mutants,
                "bombs": names[number % 8 :: 8] if n_trials > 1 else names,
                "sparse": n_trials > 1 and number % 8 == 0,
                "first": n_trials > 1 and number % 8 == 1,
                "keep_all": number % 2 == 0,  # the songs are short; otherwise most are set aside
            }
            yield Trial(key=f"{number:03}", options=options)

    def set_up(self) -> None:
        self.folder = strangers(self.workshop)
        self.songs = read_songs(self.folder / "songs")
        by_format = {path.name.split(".", 1)[1]: path.read_bytes() for path in (self.folder / "songs").glob("song.*")}
        self.by_format = by_format
        self.expected = json.loads((self.folder / "vectors.json").read_text())

    def run(self, trial: Trial, random: np.random.Generator) -> Figures:
        scratch = self.workshop.scratch(self.name, trial.key)
        music, good = scratch / "music", scratch / "music" / "zz good"
        shutil.copytree(self.folder / "good", good)
        kinds = self._fill(music, trial, random)
        task = {
            "do": "scan",
            "library": str(scratch / "library.sqlite"),
            "music": str(music),
            "good": str(good),
            "model": None if trial.options["first"] else str(self.folder / "model.npz"),
            "encoders": ["gaussian", "chroma"],
            "timeout": self.workshop.pick(smoke=5, full=10),
            "keep_all": trial.options["keep_all"],
            "seed": int(random.integers(2**32)),
        }
        victim = Victim(task, module="torture.hostile.victim")
        with all_ended([victim]), MemoryWatch(victim.pid) as memory:
            found = victim.wait()
        figures = self._judge(found, memory.peaks, trial)
        shutil.rmtree(scratch)
        return figures | {"mutants": trial.options["mutants"], "bombs": len(trial.options["bombs"]), "kinds": kinds}

    def _fill(self, music: Path, trial: Trial, random: np.random.Generator) -> dict[str, int]:
        """Write the mutants and bombs of a trial, a few albums of them; return how often each mutation was used."""
        kinds: Counter[str] = Counter()
        for number in range(trial.options["mutants"]):
            kind, mutant = mutate(self.songs, random)
            kinds.update(kind.split("+"))
            stem = odd_name(number, random) if random.random() < 0.1 else f"mutant {number}".encode()
            _write(music / f"album {number // 40}", stem, mutant)
        for name in trial.options["bombs"]:
            _write(music / "bombs", name.encode(), BOMBS[name](self.by_format))
        make_special(music / "album 0")
        if trial.options["sparse"]:
            for ending in ("wav", "mp3", "flac", "m4a", "ape"):
                make_sparse(music / "album 0" / f"sparse.{ending}", self.by_format[ending][:4_000])
        return dict(kinds)

    def _judge(self, found: Figures, peaks: dict[str, int], trial: Trial) -> Figures:
        for turn in ("first", "second"):
            scan = found[turn]
            check(
                scan["found"] == scan["accounted"],
                f"the {turn} scan found {scan['found']} files, and accounts for {scan['accounted']}",
            )
        check(not found["lost"], f"{len(found['lost'])} files are neither songs nor errors: {found['lost'][:3]}")
        for name, why in found["reasons"]:
            check(
                bool(why) and "\n" not in why and "Traceback" not in why,
                f"{name}: the reason is not one line: {why!r}",
            )
        if trial.options["first"]:
            check(found["vectors"].keys() == self.expected.keys(), "good songs are missing")
        else:
            check(found["vectors"] == self.expected, "good songs have other vectors among hostile files")
        parent, worker = peaks["parent"] - found["start"], peaks["child"]
        check(parent < PARENT_MB, f"the process of the scan, and of the service, grew by {parent} MB")
        most = SPARSE_WORKER_MB if trial.options["sparse"] else WORKER_MB
        check(worker < most, f"a worker grew to {worker} MB")
        reasons = Counter(
            next((short for words, short in _COMMON_WORDS.items() if words in why), "refused")
            for _, why in found["reasons"]
        )
        return {
            "files": found["files"],
            "songs": found["songs"],
            "errors": dict(reasons),
            "unforeseen": [f"{name}: {why}" for name, why in found["reasons"] if "could not be processed" in why][:5],
            "covers": found["covers"],
            "seconds": [found["first"]["seconds"], found["second"]["seconds"]],
            "parent MB": parent,
            "worker MB": worker,
        }

    def verdict(self, rows: Sequence[Figures]) -> Figures:
        errors: Counter[str] = Counter()
        for row in rows:
            errors.update(row["errors"])
        return {
            "mutants": sum(row["mutants"] for row in rows),
            "bombs": sum(row["bombs"] for row in rows),
            "songs": sum(row["songs"] for row in rows),
            "errors": dict(errors),
            "covers shown": sum(row["covers"]["shown"] for row in rows),
            "parent MB above its start": max((row["parent MB"] for row in rows), default=0),
            "worker MB": max((row["worker MB"] for row in rows), default=0),
        }


def _write(folder: Path, stem: bytes, song: Song) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    path = os.path.join(os.fsencode(folder), stem.replace(b"/", b"_") + b"." + song.ending.encode())
    with open(path, "wb") as file:
        file.write(song.data)
