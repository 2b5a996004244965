"""Completion in real shells, by the script that ``nearsong --show-completion`` prints."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

# the words after `nearsong` so far, with the last one unfinished -> what must be offered, and what must not
CASES = [
    (["sca"], {"scan"}, {"serve"}),
    (["serve", "--po"], {"--port"}, {"--host"}),
    (["listens", ""], {"import"}, {"scan"}),
]

ASK = {
    "bash": """
eval "$(nearsong --show-completion)"
COMP_WORDS=(nearsong {words}); COMP_CWORD={n_words}
_nearsong_completion nearsong
printf '%s\\n' "${{COMPREPLY[@]}}"
""",
    # zsh completes in an editor only: what the script would evaluate is printed instead
    "zsh": """
nearsong --show-completion | grep -q '^compdef _nearsong_completion nearsong$' || exit 3
words=(nearsong {words}); CURRENT={current}
_arguments() {{ : }}
env _TYPER_COMPLETE_ARGS="${{words[1,$CURRENT]}}" _NEARSONG_COMPLETE=complete_zsh nearsong
""",
    "fish": """
nearsong --show-completion | source
complete --do-complete "nearsong {line}"
""",
}


@pytest.fixture
def environment(tmp_path):
    """An environment in which `nearsong` is this one, and the home folder is empty."""
    program = tmp_path / "bin" / "nearsong"
    program.parent.mkdir()
    program.write_text(f"#!{sys.executable}\nfrom nearsong.cli import main\nmain()\n")
    program.chmod(0o755)
    path = f"{program.parent}{os.pathsep}{os.environ['PATH']}"
    return os.environ | {"PATH": path, "HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path / ".config")}


def run(shell: str, script: str, environment: dict[str, str], folder: Path) -> str:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    (folder / "script").write_text(script)
    command = [shell, str(folder / "script")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, cwd=folder)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("shell", ASK)
@pytest.mark.parametrize(("typed", "offered", "others"), CASES, ids=["command", "option", "below"])
def test_it_offers_commands_and_options(environment, tmp_path, shell, typed, offered, others):
    words = " ".join(word or "''" for word in typed)
    script = ASK[shell].format(words=words, n_words=len(typed), current=len(typed) + 1, line=" ".join(typed))
    shown = run(shell, script, environment, tmp_path)
    found = set(re.findall(r'(?:^|")([\w-]+)(?=["\t:]|$)', shown, re.MULTILINE))
    assert offered <= found, shown
    assert not others & found


@pytest.mark.parametrize(
    ("shell", "file"),
    [
        ("bash", ".bash_completions/nearsong.sh"),
        ("zsh", ".zfunc/_nearsong"),
        ("fish", ".config/fish/completions/nearsong.fish"),
    ],
)
def test_it_installs_itself_for_the_shell_that_runs_it(environment, tmp_path, shell, file):
    run(shell, "nearsong --install-completion\ntrue\n", environment, tmp_path)
    assert "_NEARSONG_COMPLETE=complete_" in (tmp_path / file).read_text()


def test_a_broken_config_file_does_not_stop_it(environment, tmp_path):
    (tmp_path / "broken.toml").write_text("[")
    script = (
        ASK["bash"].format(words="sca", n_words=1).replace("COMP_WORDS", "NEARSONG_CONFIG=broken.toml; COMP_WORDS")
    )
    assert run("bash", f"export NEARSONG_CONFIG=\n{script}", environment, tmp_path) == "scan\n"
