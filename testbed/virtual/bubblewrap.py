"""The sandbox of namespaces, which bubblewrap makes (bwrap(1)).

One folder of the host is all that is seen, and everything dies with the namespaces' first process.
"""

from __future__ import annotations

from typing import ClassVar

from testbed.lab.bubblewrap.bubblewrap_recipe import bubblewrap_command
from testbed.virtual.sandbox import OUT, VARIABLES, Sandbox, own_folders

_USER = 1000


class Bubblewrap(Sandbox):
    """Namespaces: an ordinary user gets a user namespace; for root, `confine` changes user."""

    name: ClassVar[str] = "bubblewrap"

    def command(self) -> list[str]:
        """The command line of bubblewrap and of `confine` in it."""
        return [
            *bubblewrap_command(),
            *self._namespaces(),
            *self._files(),
            *self._variables(),
            "--",
            "/confine",
            *self._limits(),
        ]

    def _namespaces(self) -> list[str]:
        return [
            "--die-with-parent",
            "--new-session",
            "--info-fd",
            str(self.report),
            "--unshare-net",
            "--unshare-pid",
            "--unshare-ipc",
            "--unshare-uts",
            "--hostname",
            "lab",
            *(self._privileges() if self.user else self._identity()),
        ]

    def _privileges(self) -> list[str]:
        """Root's, for changing user."""
        return ["--cap-drop", "ALL", "--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"]

    def _identity(self) -> list[str]:
        return ["--unshare-user", "--uid", str(_USER), "--gid", str(_USER)]

    def _files(self) -> list[str]:
        """Read-only but for the run's folder and the guest's memory.

        There is no /proc, through which processes reach each other: the kernel reads only the type
        of the processor. /dev has one device: /dev/zero is memory that no limit counts, and each
        /dev/ptmx takes one of the host's terminals.
        """
        return [
            "--ro-bind",
            "/proc/cpuinfo",
            "/proc/cpuinfo",
            "--dir",
            "/dev",
            "--dev-bind",
            "/dev/null",
            "/dev/null",
            *self._own_folders(),
            "--dir",
            "/lab/dev",
            "--dir",
            "/lab/image",
            *self._bound_files(),
            "--perms",
            "0444",
            "--ro-bind-data",
            str(self.job),
            "/lab/job.pyz",
            "--bind",
            str(self.out.resolve()),
            OUT,
            "--remount-ro",
            "/",
        ]

    def _own_folders(self) -> list[str]:
        sizes = own_folders(self.limits).items()
        option = ("--perms", "1777", "--size")
        return [word for folder, size in sizes for word in (*option, str(size), "--tmpfs", folder)]

    def _bound_files(self) -> list[str]:
        files = {"/confine": self.lab.confine, **self._lab_files()}
        return [word for place, file in files.items() for word in ("--ro-bind", str(file), place)]

    def _variables(self) -> list[str]:
        words = [word for name, value in VARIABLES.items() for word in ("--setenv", name, value)]
        return ["--clearenv", *words, "--chdir", "/"]
