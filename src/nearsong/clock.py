"""The time by which the service and trainings go; a test can move it for a running process.

The environment variable ``NEARSONG_CLOCK_FILE`` names a file that holds seconds to add to the time of the system. It
is read again for every call, so that a story of weeks takes seconds. Nothing else is simulated.
"""

import os
import time

VARIABLE = "NEARSONG_CLOCK_FILE"


def now() -> float:
    """Return the time in seconds since 1970."""
    return time.time() + _offset(os.environ.get(VARIABLE))


def _offset(path: str | None) -> float:
    """Return the seconds that a file holds; 0 without one, or while it is written."""
    if not path:
        return 0.0
    try:
        with open(path, encoding="ascii") as file:
            return float(file.read())
    except (OSError, ValueError):
        return 0.0
