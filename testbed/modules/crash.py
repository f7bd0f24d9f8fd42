"""What a module, or a kernel of one's own, did to its guest, from the kernel's last words."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from testbed.guest.job_entry import EVENTS
from testbed.host.scratch import scratch
from testbed.jobs.following import CONSOLE, LIMIT, NO_RESULT, Progress
from testbed.lab.kernel.choice import LAB_KERNEL, KernelChoice
from testbed.lab.kernel.version import kernel_version
from testbed.lab.ready import Lab, lab
from testbed.modules.backtrace import PANIC, accounting_kernel, backtrace, memory_holders
from testbed.modules.module_build import BuiltModule
from testbed.recipes.building import BuildReport
from topologies.foundation import untrusted
from topologies.foundation.errors import TcplabError

_MEANINGS = {  # how the lab kernel's panics begin (arch/um/kernel/trap.c), and what they mean
    "Segfault with no mm": "memory was used that is not there",
    "Kernel mode fault": "memory was used that is not there",
    "Kernel tried to access user memory": "memory was used that is not there",
    "Kernel mode signal 8": "a division by 0",
    "Kernel mode signal 4": "an instruction that does not exist",
    "BUG": "BUG() was reached",
}
_MEMORY_GONE = re.compile(
    r"page allocation failure|invoked oom-killer|Out of memory|Unable to allocate memory"
)
_TRACE, _MEMORY_TOLD = "Call Trace:", "Mem-Info:"
"""How a backtrace begins, and what the kernel prints behind that of a refused allocation."""
_ALLOCATING = (
    *("warn_alloc", "dump_header", "oom_kill", "out_of_memory", "__alloc_", "new_slab"),
    *("___slab_", "__slab_", "__kmalloc", "kmem_cache_", "kmalloc_"),
)
"""How functions begin that ask for memory for another."""
# Wall seconds without a tick of the guest's clock, which usually ticks several times a second.
_STANDSTILL = 3.0
_LOG_BYTES = 2**20
_LONGEST_LINE = 300  # characters


def says_too_little(error: TcplabError, out: Path, kernel: KernelChoice) -> bool:
    """Check if a quiet user's kernel crashed or ran out of memory and did not print where."""
    if not kernel.digest:
        return False
    console = _console(out)
    if _MEMORY_GONE.search(console):
        return _TRACE not in console or bool(kernel_version(kernel.series).accounting_patch)
    return LIMIT not in error.problem and bool(PANIC.search(console)) and "RIP: " not in console


class _AccountingBuild(BuildReport):
    """A build reported as a phase of the run that waits for it."""

    def __init__(self, progress: Progress) -> None:
        self.progress = progress

    def step(self, text: str, share: float | None = None) -> None:
        done = f" ({share:.0%})" if share else ""
        self.progress(f"Finding who holds the memory: {text}{done}", 0.0)


def telling_lab(out: Path, ready: Lab, progress: Progress) -> Lab:
    """Return where to hear it again: if memory is used up, on a kernel that says who holds it.

    That is built now, which takes minutes. If it cannot be, or there is none, `ready`.
    """

    if not _MEMORY_GONE.search(_console(out)):
        return ready
    with suppress(TcplabError):
        if accounting := accounting_kernel(ready.choice):
            return lab(_AccountingBuild(progress), kernel=accounting)
    return ready


def hear_again(out: Path, run: Callable[[Path], object]) -> None:
    """Let `run` crash once more, loudly, in a folder of its own, and keep what is printed."""
    with scratch() as place:
        with suppress(TcplabError):
            run(place)
        words = _console(place)
    if PANIC.search(words) or _MEMORY_GONE.search(words):
        (out / CONSOLE).write_text(words)


def explained(
    error: TcplabError, out: Path, modules: Sequence[BuiltModule], kernel: KernelChoice = LAB_KERNEL
) -> TcplabError:
    """Return a run's error, blaming modules and the user's kernel by console and clock."""
    if not modules and not kernel.digest:
        return error
    console = _console(out)
    blamed = [f"{module.module.name}.c" for module in modules]
    names = " or ".join(blamed + ([kernel.name] if kernel.digest else []))
    if gone := _MEMORY_GONE.search(console):
        if holders := memory_holders(console):
            rows = (f"  {held.size}: {held.function} at {held.place}\n" for held in holders)
            return _used_up(names, f"Most is held by:\n{''.join(rows)}")
        excerpt = console[gone.start() :].partition(_MEMORY_TOLD)[0]
        return _used_up(names, backtrace(excerpt, modules, kernel, _ALLOCATING))
    if LIMIT in error.problem:
        if not _stood_still(out, panicked=bool(PANIC.search(console))):
            return error
        problem = f"{error.problem.split(':')[0]}, and its clock had stood still: {names} spins."
        remedy = (
            "Look for a loop that does not end, or a pointer that leads nowhere. Only its guest was"
            " stopped."
        )
        return TcplabError(_joined(problem, backtrace(console, modules, kernel)), remedy)
    if panic := PANIC.search(console):
        problem = (
            "The guest's kernel crashed:"
            f" {_meant(panic[1].strip())}.\n{backtrace(console, modules, kernel)}"
        )
        return TcplabError(
            problem,
            f"Correct {names}; only its guest has ended. The kernel's words are in {CONSOLE}.",
        )
    if error.problem.startswith(NO_RESULT):
        remedy = (
            f"It may have written where it should not: correct {names}. Only its guest has ended."
        )
        return TcplabError(f"The guest died with {names} loaded. {error.problem}", remedy)
    return error


def _joined(*parts: str) -> str:
    return "\n".join(filter(None, parts))


def _meant(words: str) -> str:
    meaning = next((meaning for sign, meaning in _MEANINGS.items() if words.startswith(sign)), "")
    return f"{meaning} ({words})" if meaning else words


def _console(out: Path) -> str:
    """Return the end of the kernel's output; a module may have printed lines of any length."""
    text = untrusted.tail(out, CONSOLE, _LOG_BYTES) if untrusted.is_file(out, CONSOLE) else ""
    return "\n".join(line[:_LONGEST_LINE] for line in text.splitlines())


def _used_up(names: str, blamed: str) -> TcplabError:
    """Return the error of a run without free memory: its holders, or the first that was refused."""
    problem = f"The guest's memory is used up: {names} may keep what it allocates."
    remedy = "Free what is allocated for each packet or call. Only its guest has ended."
    return TcplabError(_joined(problem, blamed), remedy)


def _stood_still(out: Path, panicked: bool) -> bool:
    """Check if virtual time stood still in the end: the job writes an event in each second.

    The end is when the kernel panicked because it was told to (GuestProcesses.stop_kernel), or now.
    """
    try:
        end = _changed(out, CONSOLE) if panicked else time.time()
        return end - _changed(out, EVENTS) > _STANDSTILL
    except (FileNotFoundError, untrusted.StrangeFile):
        return False


def _changed(out: Path, name: str) -> float:
    with untrusted.opened(out, name) as file:
        return os.fstat(file.fileno()).st_mtime
