"""The sandbox without namespaces: `confine` stays as the kernel's parent and answers its calls.

A call that names a file or a process waits until the supervisor has made it in the kernel's place
(testbed/lab/kernel/supervisor.c), so the kernel's paths are those of a namespace, and it reaches no
other file.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from testbed.virtual.sandbox import KERNEL_FOLDER, OUT, VARIABLES, Sandbox

_FOLDERS = ("lab/dev", "lab/image", "lab/out", "dev/shm", "proc", "tmp")
_FILES = (
    "confine",
    "lab/linux",
    "lab/init",
    "lab/image.squashfs",
    "lab/code.pyc",
    "lab/job.pyz",
    "proc/cpuinfo",
)
_DEVICES = ("/dev/null",)


class Supervised(Sandbox):
    """A guest whose parent answers for it. `scratch` holds the folders that lead nowhere else."""

    name: ClassVar[str] = "supervisor"
    end: ClassVar[signal.Signals] = signal.SIGTERM

    def command(self) -> list[str]:
        """The command line of `confine`; makes the folders that it names."""
        self._make_folders()
        return [
            str(self.lab.confine),
            "--report",
            str(self.report),
            *_options("--place", self._read()),
            *_options("--own", self._written()),
            *_options("--set", VARIABLES),
            *self._limits(),
        ]

    @property
    def beside(self) -> Path | None:
        return self.scratch / "tmp"

    def _read(self) -> dict[str, Path]:
        return {
            "/": self.scratch / "root",
            **self._lab_files(),
            "/lab/job.pyz": Path(f"/proc/self/fd/{self.job}"),
            "/proc/cpuinfo": Path("/proc/cpuinfo"),
        }

    def _written(self) -> dict[str, Path]:
        devices = {name: Path(name) for name in _DEVICES if os.access(name, os.R_OK | os.W_OK)}
        return {OUT: self.out.resolve(), KERNEL_FOLDER: self.scratch / "tmp", **devices}

    def _make_folders(self) -> None:
        """What the guest sees of folders in which it has nothing, and its kernel's own."""
        root, own = self.scratch / "root", self.scratch / "tmp"
        for name in _FOLDERS:
            (root / name).mkdir(parents=True)
        for name in _FILES:
            (root / name).touch()
        own.mkdir()
        if self.user:
            os.chown(own, *self.user)


def _options(option: str, values: Mapping[str, object]) -> list[str]:
    return [word for name, value in values.items() for word in (option, f"{name}={value}")]
