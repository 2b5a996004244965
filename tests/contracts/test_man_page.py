"""The man page is that of the commands as they are, and programs that read man pages find nothing wrong with it."""

import shutil
import subprocess
from pathlib import Path

import pytest

from nearsong.cli.operation.option_names import all_commands
from release import man_page

ROOT = Path(__file__).parents[2]
NO_DATE = "missing date"
"""A page with a date would have other bytes with each build."""


def test_the_page_is_that_of_the_commands():
    assert man_page.PAGE.read_text(encoding="utf-8") == man_page.man_page(), "run `python release/man_page.py`"


def test_it_names_every_command_and_every_option():
    page = man_page.PAGE.read_text(encoding="utf-8").replace("\\-", "-")
    for path, command in all_commands(man_page.typer.main.get_command(man_page.app)):
        assert not path or f'.SS "{" ".join(path)}"' in page
        for option in command.params:
            assert all(name in page for name in option.opts if name.startswith("-"))


@pytest.mark.parametrize(
    "command",
    [["mandoc", "-T", "lint", "-W", "warning"], ["groff", "-man", "-ww", "-z", "-T", "utf8"]],
    ids=["mandoc", "groff"],
)
def test_nothing_is_wrong_with_it(command):
    if shutil.which(command[0]) is None:
        pytest.skip(f"{command[0]} is not installed")
    done = subprocess.run([*command, str(man_page.PAGE)], capture_output=True, text=True)
    assert [line for line in (done.stdout + done.stderr).splitlines() if NO_DATE not in line] == []
