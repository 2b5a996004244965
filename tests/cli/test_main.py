"""The command line's entry point: version, help, unknown commands."""

import subprocess
import sys

import nearsong


def run_nearsong(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "nearsong", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=300)


def test_version_is_the_package_version():
    assert run_nearsong("--version").stdout.strip() == f"nearsong {nearsong.__version__}"


def test_help_lists_the_commands():
    answer = run_nearsong("--help")
    assert answer.returncode == 0
    for command in (
        "scan",
        "listens",
        "train",
        "similar",
        "playlist",
        "map",
        "status",
        "models",
        "demo",
        "experiment",
    ):
        assert f" {command} " in answer.stdout


def test_help_does_not_import_numerical_libraries():
    code = (
        "import sys; sys.argv = ['nearsong', '--help']\n"
        "from nearsong.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "print([m for m in ('numpy', 'numba', 'sqlalchemy', 'sklearn', 'matplotlib') if m in sys.modules])"
    )
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert printed.strip().splitlines()[-1] == "[]"


def test_an_unknown_command_is_refused_with_exit_code_2():
    assert run_nearsong("sing").returncode == 2
