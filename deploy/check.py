"""The files of this folder -> what of them works on this machine, without an engine for containers.

`make deploy-check` runs it. The instructions of the Containerfile are carried out in a bare Debian root (debootstrap,
chroot in namespaces of its own; needs root), in place of its base image: Debian's Python 3.11 under the names that
the image has. Then its command runs as its user, and its health check has to succeed. In the same root systemd is
started as the first process, and the unit has to scan, train and answer within its restrictions. pipx installs the
wheel into a temporary folder. A check whose program is missing is skipped, with the reason.
"""

import argparse
import contextlib
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from under_systemd import try_unit

FOLDER = Path(__file__).resolve().parent
SOURCE = FOLDER.parent
PACKAGES = "python3,python3-venv,ca-certificates,systemd,systemd-sysv"
SECRETS = {"NEARSONG_TOKEN": "0123456789abcdef" * 4, "POSTGRES_PASSWORD": "secret", "MUSIC": "/srv/music"}
PROFILES = ("--profile", "cluster", "--profile", "experiment")
MAX_EXPOSURE = 2.0
"""Of 10, by `systemd-analyze security`."""

START_SECONDS = 300
OF_THIS_MACHINE = ("/etc/resolv.conf", "/etc/pip.conf", "/etc/ssl/certs/ca-certificates.crt")
"""How this machine reaches the network and the package index, perhaps by a proxy with a certificate of its own."""


class SkippedError(Exception):
    """A check cannot run here."""


def needed(program: str) -> str:
    """Return where a program is: beside this Python, or on the path."""
    found = shutil.which(program, path=os.pathsep.join([str(Path(sys.executable).parent), *os.get_exec_path()]))
    if found is None:
        raise SkippedError(f"{program} is not installed")
    return found


def check_lint() -> str:
    """Let hadolint read the Containerfile."""
    run(needed("hadolint"), str(FOLDER / "Containerfile"))
    return "hadolint finds nothing"


def check_compose() -> str:
    """Let a program for compose files read the compose file; none of them needs an engine for that."""
    for program in (["docker", "compose"], ["docker-compose"], ["podman-compose"]):
        if shutil.which(program[0]) and not subprocess.run([*program, "version"], capture_output=True).returncode:
            run(*program, "-f", str(FOLDER / "compose.yaml"), *PROFILES, "config", env=SECRETS)
            return f"{' '.join(program)} takes it"
    raise SkippedError("neither docker compose nor podman-compose runs here")


def check_unit() -> str:
    """Let systemd read the unit, and say how much a service of it may do."""
    program = needed("systemd-analyze")
    with tempfile.TemporaryDirectory() as folder:
        text = (FOLDER / "nearsong.service").read_text()
        unit = Path(folder) / "nearsong.service"
        unit.write_text(re.sub(r"^ExecStart=\S+", "ExecStart=/bin/true", text, flags=re.MULTILINE))
        run(program, "verify", "--man=no", str(unit))
    report = run(program, "security", "--offline=true", "--no-pager", str(FOLDER / "nearsong.service"))
    exposure = float(re.search(r"exposure level for nearsong\.service: ([\d.]+)", report)[1])
    if exposure > MAX_EXPOSURE:
        raise SystemExit(f"systemd-analyze security: exposure {exposure}, more than {MAX_EXPOSURE}")
    return f"systemd takes it; exposure {exposure} of 10"


def check_image(root: Path, mounts: list[str]) -> str:
    """Carry out the Containerfile in a bare root, and run what it runs."""
    if os.geteuid() != 0:
        raise SkippedError("a root of its own needs administrator rights")
    needed("unshare")
    if not (root / "usr/bin/python3").exists():
        run(needed("debootstrap"), "--variant=minbase", f"--include={PACKAGES}", "bookworm", str(root))
    python = root / "usr/local/bin/python3"
    if not python.exists():
        python.symlink_to("/usr/bin/python3")
    image = Image(root, mounts)
    for instruction, words in instructions((FOLDER / "Containerfile").read_text()):
        image.follow(instruction, words)
    return image.try_out()


def check_service(root: Path) -> str:
    """Run the unit under a systemd of the bare root, which has nearsong from the check of the image."""
    if not (root / "usr/local/lib/nearsong/bin/nearsong").exists():
        raise SkippedError("the check of the image did not install nearsong")
    if not (root / "lib/systemd/systemd").exists():
        raise SkippedError(f"{root} was made without systemd; remove it, and it is made anew")
    return try_unit(root, SECRETS["NEARSONG_TOKEN"])


def check_pipx() -> str:
    """Install the wheel with a pipx of its own, as docs/start.md has it, and run what it installed."""
    with tempfile.TemporaryDirectory(prefix="nearsong-pipx-") as name:
        folder = Path(name)
        run(sys.executable, "-m", "build", "--no-isolation", "--wheel", "--outdir", name, str(SOURCE))
        (wheel,) = folder.glob("nearsong-*.whl")
        run(sys.executable, "-m", "venv", str(folder / "own"))
        python = str(folder / "own" / "bin" / "python")
        asked = subprocess.run([python, "-m", "pip", "install", "-q", "pipx"], capture_output=True, text=True)
        if asked.returncode:
            raise SkippedError("pip cannot install pipx here")
        places = {"PIPX_HOME": "home", "PIPX_BIN_DIR": "bin", "PIPX_MAN_DIR": "man", "XDG_DATA_HOME": "data"}
        env = {variable: str(folder / place) for variable, place in places.items()}
        options = f"--pip-args=--no-compile -c {SOURCE / 'constraints.txt'}"
        run(python, "-m", "pipx", "install", options, str(wheel), env=env)
        program = str(folder / "bin" / "nearsong")
        version = run(program, "--version", env=env).strip()
        if not (folder / "man" / "man1" / "nearsong.1").exists():
            raise SystemExit("pipx installs no man page")
        run(program, "demo", "--artists", "4", "--folder", str(folder / "demo"), env=env)
        return f"pipx installs {version} with its man page, and its demo runs"


def instructions(text: str) -> list[tuple[str, str]]:
    """Return the instructions of a Containerfile, with continued lines joined."""
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    joined = re.sub(r"\\\n\s*", "", "\n".join(lines))
    return [tuple(line.split(maxsplit=1)) for line in joined.splitlines() if line.strip()]


class Image:
    """A bare root that becomes what an image would be; both stages share it."""

    def __init__(self, root: Path, mounts: list[str]) -> None:
        self.root, self.mounts = root, mounts
        self.folder, self.user = "/", "0:0"
        self.environment = {"PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"}
        self.build_environment = {name: value for name, value in os.environ.items() if name.startswith("PIP_")}
        self.health: list[str] = []
        self.command: list[str] = []

    def follow(self, instruction: str, words: str) -> None:
        """Carry out one instruction."""
        if instruction == "WORKDIR":
            self.folder = words
            self._below(words).mkdir(parents=True, exist_ok=True)
        elif instruction == "COPY" and not words.startswith("--from"):
            *sources, target = words.split()
            for source in sources:
                self._copy(SOURCE / source, self._below(str(Path(self.folder) / target)))
        elif instruction == "RUN":
            if "useradd" in words and "nearsong" in (self.root / "etc/passwd").read_text():
                return  # of an earlier check in the same root
            print(f"  RUN {words[:90]}", flush=True)
            self._run(["sh", "-c", words], self.build_environment)
        elif instruction == "ENV":
            self.environment |= dict(word.split("=", 1) for word in shlex.split(words))
        elif instruction == "USER":
            self.user = words
        elif instruction == "HEALTHCHECK":
            self.health = json.loads(words.partition("CMD")[2])
        elif instruction in ("ENTRYPOINT", "CMD"):
            self.command += json.loads(words)
        elif instruction not in ("FROM", "COPY", "VOLUME", "EXPOSE"):
            raise SystemExit(f"the check does not know the instruction {instruction}")

    def try_out(self) -> str:
        """Run the command as its user until the health check succeeds."""
        self.environment["NEARSONG_TOKEN"] = SECRETS["NEARSONG_TOKEN"]
        if not subprocess.run(self._words(self.health, {}), capture_output=True).returncode:
            raise SystemExit("something else answers the health check; stop what serves at this port")
        with subprocess.Popen(self._words(self.command, {}), start_new_session=True) as process:
            try:
                deadline = time.monotonic() + START_SECONDS
                while subprocess.run(self._words(self.health, {}), capture_output=True).returncode:
                    if process.poll() is not None or time.monotonic() > deadline:
                        raise SystemExit("the command of the Containerfile does not serve")
                    time.sleep(1)
            finally:
                stop(process)
        dask = ["dask", "worker", "--version"]
        subprocess.run(self._words(dask, {}), check=True, capture_output=True)
        return f"`{' '.join(self.command)}` serves as user {self.user}, and its health check succeeds"

    def _copy(self, source: Path, target: Path) -> None:
        if source.is_dir():
            shutil.rmtree(target, ignore_errors=True)
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            target.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, target)

    def _below(self, path: str) -> Path:
        return self.root / path.lstrip("/")

    def _run(self, command: list[str], more: dict[str, str]) -> None:
        subprocess.run(self._words(command, more), check=True)

    def _words(self, command: list[str], more: dict[str, str]) -> list[str]:
        """Return a command in namespaces of its own, below the root; the network is that of this machine."""
        user, group = self.user.split(":")
        given = shlex.join(f"{name}={value}" for name, value in (self.environment | more).items())
        inside = f"cd {self.folder} && exec env -i {given} {shlex.join(command)}"
        binds = "".join(
            f"mkdir -p {self.root}{one} && mount --rbind {one} {self.root}{one} && " for one in ["/dev", *self.mounts]
        )
        for file in filter(os.path.exists, OF_THIS_MACHINE):  # seen during the check, and not left in the root
            binds += f"touch {self.root}{file} && mount --bind $(realpath {file}) {self.root}{file} && "
        script = (
            f"{binds}mount -t proc proc {self.root}/proc && "
            f"exec chroot --userspec={user}:{group} {self.root} sh -c {shlex.quote(inside)}"
        )
        return ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", script]


def stop(process: subprocess.Popen) -> None:
    """End a service and what it started, as Ctrl-C would; one that has ended by itself is left."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGINT)
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)


def run(*command: str, env: dict[str, str] | None = None) -> str:
    """Run a program; what it says is shown if it fails."""
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **(env or {})})
    if done.returncode:
        raise SystemExit(f"{shlex.join(command)} failed:\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def main() -> None:
    """Run all checks."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--root", type=Path, default=SOURCE / "build" / "bare-root", help="where the bare root is made"
    )
    parser.add_argument("--mount", action="append", default=[], help="a folder that pip installs from; repeatable")
    parser.add_argument("--quick", action="store_true", help="without the bare root")
    arguments = parser.parse_args()
    checks = {"lint": check_lint, "compose": check_compose, "unit": check_unit}
    if not arguments.quick:
        root = arguments.root.absolute()
        checks |= {
            "pipx": check_pipx,
            "image": lambda: check_image(root, arguments.mount),
            "service": lambda: check_service(root),
        }
    for name, check in checks.items():
        try:
            print(f"{name}: {check()}", flush=True)
        except SkippedError as reason:
            print(f"{name}: skipped, {reason}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
