"""What a test needs and is not installed -> a skipped test, or where it has to be installed, a failed one."""

import os

import pytest

VARIABLE = "NEARSONG_REQUIRED"
"""Names, separated by spaces, of what is installed here: ``postgres``, ``dask``, ``browser``. CI sets it."""


def require(name: str, is_here: bool, reason: str) -> None:
    """Skip a test, or a module while it is imported, that lacks something; fail where that is required."""
    if is_here:
        return
    if name in os.environ.get(VARIABLE, "").split():
        pytest.fail(f"{VARIABLE} names {name}, but {reason}", pytrace=False)
    pytest.skip(reason, allow_module_level=True)
