"""Root folders of other Linuxes, and commands in them as an ordinary user."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from testbed.builds import BuildReport, Workshop
from testbed.builds.debian import Apt, LockedPackage, PackageLock, contents, extract, mirror
from testbed.lab.tools import sealed
from topologies.errors import CommandError

USER = 65534
"""The user and group outside: nobody. Inside it is 1000, as everywhere."""
HOME = "home/student"
_PATHS = "/usr/local/bin:/usr/bin:/bin"
_KEYS_OF_UBUNTU = LockedPackage(
    "ubuntu-keyring",
    "2023.11.28.1",
    "36de43b15853ccae0028e9a767613770c704833f82586f28eb262f0311adb8a8",
    "pool/main/u/ubuntu-keyring/ubuntu-keyring_2023.11.28.1_all.deb",
)
_NETWORK = ("/etc/resolv.conf", "/etc/ssl/certs")


@dataclass(frozen=True)
class ForeignRoot:
    """A root folder with a home in it that the user owns."""

    folder: Path

    @property
    def home(self) -> Path:
        return self.folder / HOME

    def prepare(self) -> ForeignRoot:
        """Make the home, and the folders that are mounted on."""
        for name in ("proc", "dev", "tmp", HOME, "etc/ssl/certs"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        (self.folder / "etc/resolv.conf").touch()
        self.folder.chmod(0o755)
        os.chown(self.home, USER, USER)
        return self

    def called(self, *command: str, network: bool = False, **environment: str) -> str:
        """What a command prints there, errors included. Raises CommandError."""
        options = ["--unshare-user", "--uid", "1000", "--gid", "1000", "--die-with-parent"]
        options += ["--unshare-pid", "--bind", str(self.folder), "/", "--proc", "/proc"]
        options += ["--dev", "/dev", "--tmpfs", "/tmp", "--chdir", f"/{HOME}", "--clearenv"]
        options += [] if network else ["--unshare-net"]
        options += [word for file in _NETWORK for word in ("--ro-bind-try", file, file)]
        values = {"HOME": f"/{HOME}", "PATH": _PATHS, **(_of_pip() if network else {})}
        for name, value in {**values, **environment}.items():
            options += ["--setenv", name, value]
        done = subprocess.run(
            ["bwrap", *options, "--", *command],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            text=True,
            check=False,
            user=USER,
            group=USER,
            extra_groups=[],
        )
        if done.returncode:
            raise CommandError(" ".join(command), done.returncode, done.stdout)
        return done.stdout


def _of_pip() -> dict[str, str]:
    """How pip reaches its index from here."""
    names = [name for name in os.environ if name.startswith("PIP_") or name.endswith("_proxy")]
    return {name: os.environ[name] for name in names if name != "PIP_FIND_LINKS"}


def debian(suite: str, folder: Path) -> ForeignRoot:
    """A small Debian with its Python, made by mmdebstrap. Raises CommandError.

    A mirror may serve an old state of sid, which says that it is no longer valid.
    """
    options = ['--aptopt=Acquire::Check-Valid-Until "false"']
    return _bootstrapped([*options, suite, str(folder), mirror("bookworm")], folder)


def ubuntu(suite: str, address: str, folder: Path, work: Path) -> ForeignRoot:
    """A small Ubuntu with its Python, from the mirror at `address`. Raises CommandError."""
    keyring = _keyring_of_ubuntu(address, work)
    options = [f"--keyring={keyring}", "--components=main,universe"]
    return _bootstrapped([*options, suite, str(folder), address], folder)


def _bootstrapped(arguments: Sequence[str], folder: Path) -> ForeignRoot:
    command = ["mmdebstrap", "--quiet", "--mode=root", "--variant=apt", "--include=python3-venv"]
    command += arguments
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise CommandError(" ".join(command), done.returncode, done.stderr)
    return ForeignRoot(folder).prepare()


def _keyring_of_ubuntu(address: str, work: Path) -> Path:
    """The keys of Ubuntu's archive, which no package of Debian has, by their SHA-256."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TCPLAB_MIRROR", address)
        lock = PackageLock("2024-04-25", (_KEYS_OF_UBUNTU,))
        ((_, packed),) = contents(lock, "noble", BuildReport())
    extract(packed, work / "keys")
    return work / "keys/usr/share/keyrings/ubuntu-archive-keyring.gpg"


def busybox(folder: Path, work: Path) -> ForeignRoot:
    """One static program with its names, and nothing else: no C library, no Python."""
    work.mkdir()
    workshop = sealed(Workshop(work, work.parent / "busybox.log", BuildReport()), "dpkg-deb")
    apt = Apt(workshop, "bookworm")
    apt.update()
    deb = apt.download("busybox-static").name
    workshop.run("Unpacking busybox", ["dpkg-deb", "--extract", deb, "unpacked"])
    (folder / "bin").mkdir(parents=True)
    shutil.copy(work / "unpacked/bin/busybox", folder / "bin")
    for name in ("sh", "readlink", "tar", "gzip", "chmod", "rm"):
        (folder / "bin" / name).symlink_to("busybox")
    return ForeignRoot(folder).prepare()
