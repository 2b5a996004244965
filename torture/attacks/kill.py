"""Kill -9 at random moments of everything that writes: afterwards all is as if nothing had been killed.

A trial is a chain: a task is started and killed, again and again, each time in a chosen phase after a random part of
the time that the phase takes; then it is left to end, and the library is compared with one that was never disturbed.
The services have trials of their own: the process of a job, the service itself, and PostgreSQL under a task.
"""

import time
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import ClassVar

import numpy as np

from torture.attack import Attack, Defect, Figures, Trial, Workshop, check
from torture.contents import difference
from torture.kills.servers import JobKills, PostgresKills, ServiceKills
from torture.kills.tasks import TASKS, KilledTask
from torture.warm.victim import Victim

MIN_KILLS_A_PHASE = 20
EARLY_PHASE = "fitting the encoder"
MAX_ATTEMPTS = 3
"""Kills that may miss a short phase; each comes earlier than the last."""

MAX_EARLY_KILLS = 40
"""More kills than there are songs to learn from: a scan that loses nothing needs fewer attempts."""


class Kill(Attack):
    """Kills tasks, jobs, the service and PostgreSQL."""

    name: ClassVar[str] = "kill"
    title: ClassVar[str] = "kill -9 in every phase of scan, import, train, models, jobs, service and PostgreSQL"
    lanes: ClassVar[int] = 2
    defects: ClassVar[tuple[Defect, ...]] = (
        Defect(
            name="samples of a killed scan are read again",
            file="nearsong/library/models/fit_encoder.py",
            old="            known = None if key is None else cache.sample(key, path, self.features)\n",
            new="            known = None\n",
            trials="early",
        ),
        Defect(
            name="a killed training leaves its model twice",
            file="nearsong/library/store/models.py",
            old="        if same is not None:\n",
            new="        if same is not None and not data:\n",
        ),
    )

    def __init__(self, workshop: Workshop) -> None:
        super().__init__(workshop)
        self._tasks = {kind.name: kind(workshop) for kind in TASKS}
        self._servers = {kind.name: kind(workshop) for kind in (JobKills, ServiceKills, PostgresKills)}

    def trials(self) -> Iterable[Trial]:
        yield Trial(key="early", options={"early": True})
        n_chains = self.workshop.pick(smoke=1, full=MIN_KILLS_A_PHASE + 2)
        for task in self._tasks.values():
            phases = task.smoke_phases if self.workshop.profile == "smoke" else task.phases
            for i in range(n_chains if phases else 0):
                yield Trial(key=f"{task.name}-{i:02}", options={"task": task.name, "phases": phases})
        for server in self._servers.values():
            for i in range(self.workshop.pick(smoke=server.smoke_trials, full=MIN_KILLS_A_PHASE)):
                yield Trial(key=f"{server.name}-{i:02}", options={"server": server.name})

    def set_up(self) -> None:
        for name in {trial.options["task"] for trial in self.trials() if "task" in trial.options}:
            self._tasks[name].learn_reference()

    def tear_down(self) -> None:
        for server in self._servers.values():
            server.close()

    def run(self, trial: Trial, random: np.random.Generator) -> Figures:
        folder = self.workshop.scratch(self.name, trial.key)
        if "early" in trial.options:
            return run_early(self._tasks["scan"], folder, self.workshop.pick(smoke=6, full=1), random)
        if "server" in trial.options:
            return self._servers[trial.options["server"]].run(folder, random)
        return run_chain(self._tasks[trial.options["task"]], folder, trial.options["phases"], random)

    def verdict(self, rows: Sequence[Figures]) -> Figures:
        kills: Counter[str] = Counter()
        for row in rows:
            kills.update(row["kills"])
        if self.workshop.profile == "full":
            wanted = {f"{task.name}: {phase}" for task in self._tasks.values() for phase in task.phases}
            rare = sorted(phase for phase in wanted if kills[phase] < MIN_KILLS_A_PHASE)
            check(not rare, f"fewer than {MIN_KILLS_A_PHASE} kills met {', '.join(rare)}")
            check(kills.total() >= 500, f"only {kills.total()} kills")
        return {
            "kills": kills.total(),
            "by phase": dict(sorted(kills.items())),
            "acknowledged writes lost": sum(row.get("lost", 0) for row in rows),
        }


def run_early(task: KilledTask, folder: Path, n_steps: int, random: np.random.Generator) -> Figures:
    """Kill a first scan each time it has read a few samples more than the last time, until it gets no further."""
    task.prepare(folder)
    n_kills, done = 0, 0
    while True:
        victim = Victim(task.command(folder))
        try:
            if not victim.wait_for_stage(EARLY_PHASE, done + n_steps + int(random.integers(4))):
                break
            first = victim.first_done[EARLY_PHASE]
            check(first > done, f"after {n_kills} kills a scan began with sample {first}, though it had {done}")
            done = victim.done
        finally:
            victim.kill()
        n_kills += 1
        check(n_kills <= MAX_EARLY_KILLS, f"after {n_kills} kills a first scan has learned no encoder")
    Victim(task.command(folder)).wait()
    changed = difference(task.reference, task.contents(folder))
    check(not changed, f"after {n_kills} early kills: {changed}")
    return {"kills": {f"{task.name}: {EARLY_PHASE}": n_kills}}


def run_chain(task: KilledTask, folder: Path, phases: Sequence[str], random: np.random.Generator) -> Figures:
    """Kill a task once in each of some phases, let it end, and compare."""
    kills: Counter[str] = Counter()
    task.prepare(folder)
    for phase in phases:
        for attempt in range(MAX_ATTEMPTS):
            seconds = random.random() * task.seconds_of(phase) / 2 ** (attempt + 1)
            stage = _kill_in(task, folder, phase, seconds, whole_group=random.random() < 0.5)
            if stage is None:
                break  # the task is done
            kills[f"{task.name}: {task.phase_of(stage)}"] += 1
            task.check_killed(folder)
            if task.phase_of(stage) == phase:
                break
    Victim(task.command(folder)).wait()
    changed = difference(task.reference, task.contents(folder))
    check(not changed, f"after kills in {', '.join(kills) or 'no phase'}: {changed}")
    return {"kills": dict(kills)}


def _kill_in(task: KilledTask, folder: Path, phase: str, seconds: float, *, whole_group: bool) -> str | None:
    """Start a task and kill it some seconds into a phase; return the stage that it was in, None if it had ended.

    A phase that an earlier run has passed for good does not come again: the task is killed at once in a later one.
    """
    victim = Victim(task.command(folder))
    later = {other for other in task.phases[task.phases.index(phase) :] if other != phase}
    try:
        if phase == "starting" or victim.wait_for_stage(phase, later=later):
            time.sleep(seconds)
        has_ended = victim.has_ended
    finally:
        stage = victim.kill(whole_group=whole_group)
    return None if has_ended or stage == "ended" else stage
