"""Run the command line in this process: the same `main`, without the start-up time."""

import io
import os
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

from nearsong.cli import main


@dataclass(frozen=True)
class Result:
    """How a command ended, and what it printed."""

    returncode: int
    stdout: str
    stderr: str


def run_nearsong(*arguments: object, library: str | Path | None = None, **environment: str) -> Result:
    """Run a command as `nearsong --library ADDRESS ...` would."""
    options = [] if library is None else ["--library", str(library)]
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    clean = {key: value for key, value in os.environ.items() if not key.startswith("NEARSONG")}
    clean["XDG_CONFIG_HOME"] = os.devnull  # not the config file of who runs the tests
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
    result = Result(code, *(stream.buffer.getvalue().decode() for stream in (out, err)))
    assert "Traceback" not in result.stderr
    return result
