"""A user's own congestion controls: what a module's source says of itself, and loading it.

It becomes a program only in the sealed build (testbed.modules), and part of a kernel only here.
"""

import ctypes
import hashlib
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from testbed.guest.job_entry import JobContext
from testbed.guest.namespaces import allow_algorithms, allowed_algorithms, available_algorithms
from testbed.guest.programs import run, wait_for, waited_for
from topologies.errors import CommandError, TcplabError, UsageError

LONGEST = 256 * 1024
"""Characters of a source; the kernel's own largest congestion control has 40 000."""

_NAME = re.compile(r"[a-z][a-z0-9_]{0,30}")
_ALGORITHM = re.compile(r"[a-z][a-z0-9_]{0,14}")  # TCP_CA_NAME_MAX is 16 with the 0 at its end
_REGISTERED = re.compile(r'\.\s*name\s*=\s*"([^"\n]*)"')
# What C is not: strings stay, comments go.
_COMMENT = re.compile(r'("(?:\\.|[^"\\\n])*")|//[^\n]*|/\*.*?\*/', re.DOTALL)
_UNUSED = 60.0  # seconds until the last connection has let go of its congestion control
DRIVER, TUNNEL = "tun.ko", Path("/dev/net/tun")
_FINIT_MODULE = 313  # of x86-64; glibc has no function for it
_libc = ctypes.CDLL(None, use_errno=True)
_LOUDNESS = Path("/proc/sys/kernel/printk")


@dataclass(frozen=True)
class KernelModule:
    """A congestion control as C source. Raises UsageError for an impossible name or source.

    `name` is the file's without .c: what it registers, or that with tcp_ in front.
    """

    name: str
    source: str

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            remedy = "Name the file NAME.c or tcp_NAME.c: a letter, then letters, digits and _."
            raise UsageError(f"A module cannot have the name {self.name[:40]!r}.", remedy)
        if len(self.source) > LONGEST or "\0" in self.source:
            problem = f"{self.name}.c is no C source of at most {LONGEST // 1024} KiB."
            raise UsageError(problem, "Hand in one file.")
        if self.name.removeprefix("tcp_") != self.algorithm.removeprefix("tcp_"):
            names = f"{self.algorithm}.c or tcp_{self.algorithm}.c"
            problem = f"{self.name}.c registers the congestion control '{self.algorithm}'."
            raise UsageError(problem, f"Name the file {names}, or change .name in it.")

    @cached_property
    def algorithm(self) -> str:
        """The congestion control that it registers: the .name of its struct tcp_congestion_ops."""
        code = _COMMENT.sub(lambda match: match[1] or " ", self.source)
        names = sorted(set(_REGISTERED.findall(code)))
        if len(names) != 1 or not _ALGORITHM.fullmatch(names[0]):
            registered = f"the names {', '.join(names)[:60]}" if names else "no name"
            remedy = 'It needs one .name = "..." of at most 15 small letters, digits and _.'
            raise UsageError(f"{self.name}.c gives its congestion control {registered}.", remedy)
        return str(names[0])

    @property
    def digest(self) -> str:
        """SHA-256 of the source."""
        return hashlib.sha256(self.source.encode()).hexdigest()


def module_from(file: Path) -> KernelModule:
    """Return the module in a .c file. Raises UsageError if there is none."""
    try:
        size = file.stat().st_size
        source = file.read_text() if file.is_file() and size <= 4 * LONGEST else ""
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise UsageError(f"{file} cannot be read: {why}.", "Name a C file.") from None
    if file.suffix != ".c" or not source:
        problem = f"{file} is no C source of at most {LONGEST // 1024} KiB."
        raise UsageError(problem, "Name a file NAME.c.")
    return KernelModule(file.stem, source)


@contextmanager
def loaded(modules: Sequence[KernelModule], job: JobContext) -> Iterator[list[dict[str, Any]]]:
    """Load the modules, yield a row for each, and unload them when the block has ended well.

    They must be unused then. Natively they are loaded before the job starts
    (testbed.native.changes). Raises TcplabError.
    """
    if not job.virtual:
        yield [_row(module, job) for module in modules]
        return
    if modules:
        # A guest prints everything: what the kernel says of a crash is the student's answer.
        _LOUDNESS.write_text("7")
    rows = []
    for module in modules:
        file = job.work / f"{module.name}.ko"
        file.write_bytes(job.attached(file.name))
        job.enter(f"loading {module.name}")
        insert(module.name, file)
        file.unlink()
        rows.append(_row(module, job))
        allow_algorithms([*allowed_algorithms(), module.algorithm])  # every host may choose it
    yield rows
    for module in reversed(modules):  # after a failure they stay: the whole guest ends
        remove(module.name)


def _row(module: KernelModule, job: JobContext) -> dict[str, Any]:
    """Return what /proc/modules and TCP say of a module."""
    if module.algorithm not in (names := available_algorithms()):
        problem = f"{module.name} is loaded, but TCP knows no '{module.algorithm}'"
        remedy = "Its init function must return tcp_register_congestion_control(&...)."
        raise TcplabError(f"{problem}: there are {', '.join(names)}.", remedy)
    digest = hashlib.sha256(job.attached(f"{module.name}.ko")).hexdigest()
    row = {"module": module.name, "algorithm": module.algorithm, "digest": digest}
    return row | {"found": _line_of(module.name)}


def insert(name: str, file: Path) -> None:
    """Load a module. Raises TcplabError if the kernel refuses it."""
    with file.open("rb") as module:
        if _libc.syscall(_FINIT_MODULE, module.fileno(), b"", 0) == 0:
            return
    remedy = "The kernel's reason is in console.log of the run's folder, or in dmesg."
    raise TcplabError(f"The kernel did not take {name}: {os.strerror(ctypes.get_errno())}.", remedy)


def load_tunnel(job: JobContext) -> None:
    """Load the driver of TUN and TAP, unless the kernel has it built in. Raises TcplabError."""
    if TUNNEL.exists():
        return
    driver = job.work / DRIVER
    driver.write_bytes(job.attached(DRIVER))
    if not driver.stat().st_size:
        raise TcplabError("This kernel has no tunnel (CONFIG_TUN).", "Choose another kernel.")
    insert("tun", driver)
    wait_for("the tunnel's device", TUNNEL.exists, 10.0)


def _line_of(name: str) -> str:
    """Return the module's line of /proc/modules (proc_modules(5)), empty if it is not loaded."""
    lines = Path("/proc/modules").read_text().splitlines()
    return next((line for line in lines if line.split()[0] == name), "")


def remove(name: str, patience: float = _UNUSED) -> None:
    """Unload a module once it is unused, or after `patience` seconds. Raises TcplabError."""
    waited_for(lambda: _line_of(name).split()[2:3] == ["0"], patience, 0.1)
    try:
        run(["rmmod", name])
    except CommandError as error:
        problem = f"{name} does not leave the kernel: {error.problem.splitlines()[-1]}"
        remedy = "Its exit function must unregister what its init function registered."
        raise TcplabError(problem, remedy) from error
