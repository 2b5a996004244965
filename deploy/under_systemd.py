"""A bare root that has nearsong -> its unit, under a systemd that is the first process of that root.

The root is a Debian with systemd in namespaces of its own, with no network but its loopback. `ask_service.py` is a
second unit there: it lets the service scan, train and answer, and sees what it may do.
"""

import shlex
import shutil
import subprocess
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
TIMEOUT_SECONDS = 1_800
CGROUP = "nearsong-check"
REPORT = "var/log/nearsong-check"
LEFT_FROM_EARLIER = ("srv/music", "var/lib/nearsong", "var/cache/nearsong", "var/log/journal", REPORT)
DEVICES = ("null", "zero", "full", "random", "urandom", "tty")

CHECK_UNIT = f"""[Unit]
Wants=nearsong.service
After=nearsong.service
SuccessAction=exit-force
FailureAction=exit-force
[Service]
Type=oneshot
TimeoutStartSec=infinity
ExecStart=/usr/local/lib/nearsong/bin/python /usr/local/lib/nearsong/ask_service.py
StandardOutput=append:/{REPORT}
StandardError=append:/{REPORT}
"""


def try_unit(root: Path, token: str) -> str:
    """Install the unit as its head says, start it, and return what it did; the root has nearsong and its user."""
    for name in LEFT_FROM_EARLIER:
        shutil.rmtree(root / name, ignore_errors=True)
        (root / name).unlink(missing_ok=True)
    (root / "srv/music").mkdir()
    units = root / "etc/systemd/system"
    shutil.copy(FOLDER / "nearsong.service", units)
    (units / f"{CGROUP}.service").write_text(CHECK_UNIT)
    shutil.copy(FOLDER / "ask_service.py", root / "usr/local/lib/nearsong")
    options = root / "etc/nearsong"
    options.mkdir(exist_ok=True)
    (options / "nearsong.toml").write_text(
        (FOLDER / "nearsong.toml").read_text().replace("# allow-folder", "allow-folder")
    )
    (options / "environment").write_text(f"NEARSONG_TOKEN={token}\n")
    (options / "environment").chmod(0o600)
    try:
        _boot(root)
    finally:
        _remove_cgroups(root)
    said = (root / REPORT).read_text() if (root / REPORT).exists() else "systemd did not start its units"
    if not said.rstrip().endswith("all done"):
        raise SystemExit(f"the unit does not work under systemd:\n{said}")
    return "; ".join(said.strip().splitlines()[:-1])


def _boot(root: Path) -> None:
    """Make systemd the first process of the root, until it ends by itself."""
    at = shlex.quote(str(root))
    devices = " ".join(DEVICES)
    outer = f"""set -e
mount --make-rprivate /
mount --bind {at} {at}
mount -t proc proc {at}/proc
mount -t sysfs sysfs {at}/sys
mount -t tmpfs tmpfs {at}/run
mount -t tmpfs tmpfs {at}/tmp
devices=$(mktemp -d) && mount -t tmpfs -o mode=755 tmpfs $devices
for name in {devices}; do touch $devices/$name; mount --bind /dev/$name $devices/$name; done
mkdir $devices/pts $devices/shm
mount -t devpts -o newinstance,ptmxmode=0666 devpts $devices/pts
mount -t tmpfs tmpfs $devices/shm
ln -s pts/ptmx $devices/ptmx
mount --move $devices {at}/dev
mount -t cgroup2 cgroup2 {at}/sys/fs/cgroup
mkdir -p {at}/sys/fs/cgroup/{CGROUP}
echo 0 > {at}/sys/fs/cgroup/{CGROUP}/cgroup.procs
umount {at}/sys/fs/cgroup
exec unshare --cgroup sh -c {shlex.quote(_inner(at))}
"""
    spaces = ("--mount", "--pid", "--fork", "--kill-child", "--ipc", "--uts", "--net")
    command = ["unshare", *spaces, "sh", "-c", outer]
    quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    subprocess.run(command, check=False, timeout=TIMEOUT_SECONDS, **quiet)


def _inner(at: str) -> str:
    """Return what makes the root that of the namespace: the kernel gives no users of its own below a chroot."""
    environment = "env -i container=check PATH=/usr/bin:/bin:/usr/sbin:/sbin"
    return (
        f"mount -t cgroup2 cgroup2 {at}/sys/fs/cgroup && "
        f"cd {at} && pivot_root . mnt && cd / && umount --lazy /mnt && "
        f"exec {environment} /lib/systemd/systemd --system --unit={CGROUP}.service"
    )


def _remove_cgroups(root: Path) -> None:
    """Remove the groups that systemd made; all their processes have ended with it."""
    at = shlex.quote(str(root / "mnt"))
    script = f"mount -t cgroup2 cgroup2 {at} && find {at}/{CGROUP} -depth -type d -exec rmdir {{}} +"
    subprocess.run(["unshare", "--mount", "sh", "-c", script], check=False, capture_output=True)
