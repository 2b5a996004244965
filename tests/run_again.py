"""The failures of the last run of pytest -> run once more, alone.

Thousands of tests with browsers, databases and killed processes share two cores; now and then one meets a moment that
it was not made for. A test that fails beside the others and passes alone is named, so that it gets mended, but does
not fail the whole; more than a few failures are no chance, and are not run again.
"""

import json
import subprocess
import sys
from pathlib import Path

MAX_FAILURES = 5
LAST_FAILED = Path(".pytest_cache/v/cache/lastfailed")


def main() -> int:
    """Return the exit code for the whole: 0 if all that failed passes alone."""
    failed = sorted(json.loads(LAST_FAILED.read_text())) if LAST_FAILED.exists() else []
    if not 1 <= len(failed) <= MAX_FAILURES:
        print(f"{len(failed)} tests failed; at most {MAX_FAILURES} would be run again.")
        return 1
    print("Once more, alone:", *failed, sep="\n  ", flush=True)
    code = subprocess.run([sys.executable, "-m", "pytest", "-q", "-rA", *failed], check=False).returncode
    print(f"{'Passed' if code == 0 else 'Failed'} alone, and failed beside the others:", *failed, sep="\n  ")
    return code


if __name__ == "__main__":
    sys.exit(main())
