"""Run the command line in this process: the same `main`, without the start-up time."""

import io
import os
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from unittest import mock

import pytest

from nearsong.cli import main


@dataclass(frozen=True)
class Result:
    returncode: int
    stdout: str
    stderr: str


@pytest.fixture
def nearsong():
    """Return a function that runs a command as `nearsong --library ADDRESS ...` would."""

    def run(*arguments, library=None, **environment) -> Result:
        options = [] if library is None else ["--library", str(library)]
        out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
        clean = {key: value for key, value in os.environ.items() if not key.startswith("NEARSONG")}
        with (
            mock.patch.dict(os.environ, clean | environment, clear=True),
            mock.patch.object(sys, "argv", ["nearsong", *options, *map(str, arguments)]),
            redirect_stdout(out),
            redirect_stderr(err),
        ):
            code = 0
            try:
                main()
            except SystemExit as end:
                code = end.code if isinstance(end.code, int) else int(end.code is not None)
        result = Result(code, out.buffer.getvalue().decode(), err.buffer.getvalue().decode())
        assert "Traceback" not in result.stderr
        return result

    return run
