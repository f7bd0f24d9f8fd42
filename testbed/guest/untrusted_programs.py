"""Programs of strangers in a host of the guest: they reach other hosts by datagrams only.

Each has a root and a user. The root is the image with a folder of files: without the job, its
results, processes and devices. The user has no capabilities, so links and captures stay as they
are. Kernels before 6.1 have no overlays; there, programs are as trusted as the job.
"""

from __future__ import annotations

import os
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path

from testbed.guest.network import LiveNetwork
from testbed.guest.programs import run

_FILES = "programs"
_NULL = os.makedev(1, 3)
_WRITE_ONLY = 0o222
"""What cannot be read cannot be mapped either: the file's time is that of its last write(2)."""


@dataclass(frozen=True)
class Stranger:
    """A user with a root below `place`."""

    user: int
    place: Path

    @property
    def is_confined(self) -> bool:
        return "overlay" in Path("/proc/filesystems").read_text()

    def settle(self, live: LiveNetwork, host: str, protocol: str) -> None:
        """Make the root, once. With "udp" the host refuses TCP to the user. Raises CommandError."""
        if self.place.exists():
            return
        for name in ("upper", "work", "root"):
            (self.place / name).mkdir(parents=True)
        if self.is_confined:
            layers = f"lowerdir=/,upperdir={self.place}/upper,workdir={self.place}/work"
            run(["mount", "-t", "overlay", "-o", layers, "overlay", str(self.place / "root")])
            os.mknod(self.place / "root/dev/null", 0o20666, _NULL)
            (self.place / "root/dev/null").chmod(0o666)
            if protocol == "udp":
                whom = f"uidrange {self.user}-{self.user} ipproto tcp"
                live.batch(host, ["ip"], [f"rule add {whom} prohibit"])
        (self.place / "root" / _FILES).mkdir()

    def give(self, name: str, content: bytes) -> str:
        """Write a file that the program can read, and return its path for the program."""
        self.file(name).write_bytes(content)
        return self._path(name)

    def take(self, name: str) -> str:
        """Make an empty file that the program can write, and return its path for the program."""
        self.file(name).unlink(missing_ok=True)
        self.file(name).touch()
        self.file(name).chmod(_WRITE_ONLY)
        return self._path(name)

    def file(self, name: str) -> Path:
        """Return the path of a file for the job."""
        return self.place / "root" / _FILES / name

    def _path(self, name: str) -> str:
        return f"/{_FILES}/{name}" if self.is_confined else str(self.file(name))

    def command(self, words: list[str]) -> list[str]:
        """Return the command that runs `words` as this user, in namespaces without others."""
        if not self.is_confined:
            return words
        alone = ["unshare", "--ipc", "--uts", f"--root={self.place}/root", "--wd=/tmp"]
        user = [f"--reuid={self.user}", f"--regid={self.user}", "--clear-groups", "--no-new-privs"]
        return [*alone, "setpriv", *user, *words]

    def end(self) -> None:
        """Kill all that the user runs, with what outlived its program."""
        kill = f"import os; os.setuid({self.user}); os.kill(-1, {int(signal.SIGKILL)})"
        if self.is_confined:
            subprocess.run(["/usr/bin/python3", "-BSc", kill], capture_output=True, check=False)
