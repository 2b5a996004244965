"""Long tasks in processes of their own; one file per kind of job, listed in `nearsong.web.jobs.registry`."""
