"""The jobs of all services: the table `service_jobs`. Each runs where it was started, one at a time over all."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from nearsong.library.store.database import Database
from nearsong.library.store.shared.leases import alive
from nearsong.library.store.shared.tables import NOW, jobs

ACTIVE = ("pending", "running")

_IS_ACTIVE = jobs.c.state.in_(ACTIVE)


@dataclass(frozen=True, kw_only=True)
class JobRow:
    """A job as services tell each other about it.

    Attributes
    ----------
    number : int
        Increases from job to job.
    id, service, owner, spec, state : str
        ``spec`` is JSON.
    progress : dict
        What changes while it runs, as JSON values.
    is_automatic, is_stopping, gave_way, is_forgotten : bool
    version : int
        Increases with every change.
    """

    number: int = 0
    id: str
    service: str = ""
    owner: str
    spec: str
    state: str
    progress: dict[str, Any]
    is_automatic: bool
    is_stopping: bool = False
    gave_way: bool = False
    is_forgotten: bool = False
    version: int = 0

    @property
    def has_ended(self) -> bool:
        """Whether nothing more will change."""
        return self.state not in ACTIVE


class JobTable:
    """Reads and writes the jobs of all services.

    Parameters
    ----------
    database : Database
    service : str
        The service that writes.
    """

    def __init__(self, database: Database, service: str) -> None:
        self._database, self.service = database, service

    # ---- reading

    def versions(self) -> dict[str, int]:
        """Return the versions of all jobs by their ids, in their order."""
        query = sa.select(jobs.c.id, jobs.c.version).order_by(jobs.c.number)
        with self._database.sharing(alone=False) as connection:
            return {str(job_id): int(version) for job_id, version in connection.execute(query)}

    def rows(self, job_ids: Sequence[str]) -> list[JobRow]:
        """Return some jobs, in their order."""
        query = sa.select(jobs).where(jobs.c.id.in_(job_ids)).order_by(jobs.c.number)
        with self._database.sharing(alone=False) as connection:
            found = connection.execute(query).mappings().all()
        return [JobRow(**{**row, "progress": json.loads(row["progress"])}) for row in found]

    # ---- by the service that starts one

    def add(
        self, job: JobRow, *, reuse_running: bool, stops_automatic: bool, max_pending: int
    ) -> tuple[str, int] | None:
        """Add a job, unless the same is there; return the id and the number of that or of the new one.

        None if too many are pending. With ``stops_automatic`` automatic jobs are told to stop.
        """
        may_reuse = _IS_ACTIVE if reuse_running else jobs.c.state == "pending"
        same = sa.select(jobs.c.id, jobs.c.number).where(may_reuse, ~jobs.c.is_stopping, jobs.c.spec == job.spec)
        pending = sa.select(sa.func.count()).select_from(jobs).where(jobs.c.state == "pending")
        values = {
            "id": job.id,
            "service": self.service,
            "owner": job.owner,
            "spec": job.spec,
            "state": job.state,
            "progress": json.dumps(job.progress),
            "is_automatic": job.is_automatic,
        }
        with self._database.sharing() as connection:
            if (existing := connection.execute(same).first()) is not None:
                return existing.id, existing.number
            if connection.execute(pending).scalar_one() >= max_pending:
                return None
            if stops_automatic:
                give_way = {"is_stopping": True, "gave_way": True, "version": jobs.c.version + 1}
                running = _IS_ACTIVE & jobs.c.is_automatic & ~jobs.c.is_stopping
                connection.execute(jobs.update().where(running).values(give_way))
            return job.id, connection.execute(jobs.insert().returning(jobs.c.number), values).scalar_one()

    def claim(self, job_id: str) -> bool:
        """Let a pending job run, if none runs and none has waited for longer; return whether it may."""
        running = sa.select(jobs.c.id).where(jobs.c.state == "running")
        first = sa.select(jobs.c.id).where(jobs.c.state == "pending").order_by(jobs.c.number).limit(1)
        with self._database.sharing() as connection:
            if connection.execute(running).first() is not None or connection.execute(first).scalar() != job_id:
                return False
            change = jobs.update().where(jobs.c.id == job_id)
            connection.execute(change.values(state="running", version=jobs.c.version + 1))
            return True

    def write(self, job_id: str, state: str, progress: dict[str, Any]) -> None:
        """Write how far an own job is; nothing if it was taken as ended, since this service seemed dead."""
        this = (jobs.c.id == job_id) & (jobs.c.service == self.service) & _IS_ACTIVE
        values = {"state": state, "progress": json.dumps(progress), "version": jobs.c.version + 1}
        with self._database.sharing(alone=False) as connection:
            connection.execute(jobs.update().where(this).values(values))

    # ---- by any service

    def stop(self, job_id: str) -> None:
        """Tell the service that has a job to stop it."""
        with self._database.sharing(alone=False) as connection:
            this = (jobs.c.id == job_id) & _IS_ACTIVE & ~jobs.c.is_stopping
            connection.execute(jobs.update().where(this).values(is_stopping=True, version=jobs.c.version + 1))

    def remove(self, job_id: str) -> None:
        """Forget a job."""
        with self._database.sharing(alone=False) as connection:
            connection.execute(jobs.delete().where(jobs.c.id == job_id))

    def forget(self, owner: str) -> None:
        """Stop the jobs of an owner, and forget what came of those that have ended."""
        mine = jobs.c.owner == owner
        stopping = {"is_stopping": True, "is_forgotten": True, "version": jobs.c.version + 1}
        with self._database.sharing() as connection:
            connection.execute(jobs.delete().where(mine, ~_IS_ACTIVE))
            connection.execute(jobs.update().where(mine).values(stopping))

    def end_orphans(self, words: str) -> list[str]:
        """End the jobs whose services are no longer alive, as failed for the given reason; return their ids."""
        orphans = sa.select(jobs.c.id, jobs.c.progress).where(_IS_ACTIVE, jobs.c.service.not_in(alive()))
        with self._database.sharing() as connection:
            found = connection.execute(orphans).all()
            for row in found:
                now = connection.execute(sa.select(NOW)).scalar_one()
                progress = json.loads(row.progress) | {"error": words, "words": words, "stage": "", "ended": now}
                change = {"state": "failed", "progress": json.dumps(progress), "version": jobs.c.version + 1}
                connection.execute(jobs.update().where(jobs.c.id == row.id).values(change))
        return [row.id for row in found]

    def trim(self, n_ended: int) -> None:
        """Forget all jobs that have ended but the last ones."""
        old = sa.select(jobs.c.id).where(~_IS_ACTIVE).order_by(jobs.c.number.desc()).offset(n_ended)
        with self._database.sharing() as connection:
            connection.execute(jobs.delete().where(jobs.c.id.in_(old)))
