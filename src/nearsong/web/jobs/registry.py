"""The kinds of jobs -> the table that the API, the queue and the child process read."""

from nearsong.web.jobs.draw_map import DrawMap
from nearsong.web.jobs.import_listens import ImportListens
from nearsong.web.jobs.job_spec import JobSpec
from nearsong.web.jobs.prune import Prune
from nearsong.web.jobs.pull import Pull
from nearsong.web.jobs.scan import Scan
from nearsong.web.jobs.train import Train

KINDS: tuple[type[JobSpec], ...] = (Scan, Prune, Train, DrawMap, ImportListens, Pull)

JOBS = {job.model_fields["kind"].default: job for job in KINDS}
"""The kinds of jobs by name."""
