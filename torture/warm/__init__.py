"""Commands and services of nearsong that start at once, as forks of a process that has imported it."""
