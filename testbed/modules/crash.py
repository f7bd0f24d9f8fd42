"""What a module, or a kernel of one's own, did to its guest: the kernel's last message with lines.

The kernel prints `function+0xoffset/0xsize [module]`. The function's place is in the module's
symbol table, and addr2line(1) finds the line in its debugging information. Both are the work of the
module's author, who is not trusted, so both are read in the sandbox of the build. Functions of the
kernel itself have lines if the kernel is the user's own (testbed.lab.kernel.kernel_lines).
"""

from __future__ import annotations

import json
import os
import re
import shutil
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from testbed.guest.job_entry import EVENTS
from testbed.host.scratch import scratch
from testbed.jobs.following import CONSOLE, LIMIT, NO_RESULT
from testbed.lab.kernel.kernel_choice import LAB_KERNEL, KernelChoice
from testbed.lab.kernel.kernel_lines import (
    ADDRESS_TO_LINE,
    LINES,
    KernelPlace,
    lines_recipe,
    written_in,
)
from testbed.modules.module_build import LIMITS, BuiltModule
from testbed.recipes import cache
from testbed.recipes.building import BuildReport, Workshop
from topologies import untrusted
from topologies.errors import CommandError, TcplabError

_PANIC = re.compile(r"Kernel panic - not syncing: (.*)")
_MEANINGS = {  # how the lab kernel's panics begin (arch/um/kernel/trap.c), and what they mean
    "Segfault with no mm": "memory was used that is not there",
    "Kernel mode fault": "memory was used that is not there",
    "Kernel tried to access user memory": "memory was used that is not there",
    "Kernel mode signal 8": "a division by 0",
    "Kernel mode signal 4": "an instruction that does not exist",
    "BUG": "BUG() was reached",
}
_FRAME = re.compile(
    r"(RIP: \d+:|\[<[0-9a-f]+>\] (?:\? )?)([A-Za-z_][\w.]*)\+0x([0-9a-f]+)/0x[0-9a-f]+(?:"
    r" \[(\w+)\])?"
)
_MEMORY_GONE = re.compile(
    r"page allocation failure|invoked oom-killer|Out of memory|Unable to allocate memory"
)
_TRACE, _MEMORY_TOLD = "Call Trace:", "Mem-Info:"
"""How a backtrace begins, and what the kernel prints behind that of a refused allocation."""
_ALLOCATING = (
    "warn_alloc",
    "dump_header",
    "oom_kill",
    "out_of_memory",
    "__alloc_",
    "new_slab",
    "___slab_",
    "__slab_",
    "__kmalloc",
    "kmem_cache_",
    "kmalloc_",
)
"""How functions begin that ask for memory for another."""
_TCP_ENTRY = "tcp_v4_rcv"  # where a packet enters TCP; the calls before it are always the same
# Wall seconds without a tick of the guest's clock, which usually ticks several times a second.
_STANDSTILL = 3.0
_FRAMES = 12
_WARNING_ENDS = "---[ end trace"  # a warning before a crash has a backtrace of its own
_MESSENGERS = {  # functions that tell of a crash, or of the signal that the host sent for it
    "panic",
    "vpanic",
    "dump_stack",
    "dump_stack_lvl",
    "show_stack",
    "_printk",
    "relay_signal",
    "relay_signal.cold",
    "segv",
    "segv_handler",
    "sig_handler",
    "sig_handler_common",
    "hard_handler",
}
_USER_MODE = ("um_", "time_travel_", "__time_travel_")
"""How functions begin that are the work of being a program: clock and interrupts."""
# include/asm-generic/bug.h; such a crash leaves no frame
_BUG = re.compile(r"BUG: failure at (\S+):(\d+)/(\w+)\(\)")
_LOG_BYTES = 2**20
_LONGEST_LINE = 300  # characters


@dataclass(frozen=True)
class StackFrame:
    """A function of the backtrace. `module` is empty for the kernel's own functions.

    `exact`: the address is that of the fault, not a return address.
    """

    function: str
    offset: int
    module: str
    exact: bool


def says_too_little(error: TcplabError, out: Path, kernel: KernelChoice) -> bool:
    """Whether a kernel of the user's own crashed, or had no memory left, and did not print where.

    It prints that only if it is loud, and a guest with a module is.
    """
    if not kernel.digest:
        return False
    console = _console(out)
    if _MEMORY_GONE.search(console):
        return _TRACE not in console
    return LIMIT not in error.problem and bool(_PANIC.search(console)) and "RIP: " not in console


def hear_again(out: Path, run: Callable[[Path], object]) -> None:
    """Let `run` crash once more, loudly, in a folder of its own, and keep what is printed."""
    with scratch() as place:
        with suppress(TcplabError):
            run(place)
        words = _console(place)
    if _PANIC.search(words) or _MEMORY_GONE.search(words):
        (out / CONSOLE).write_text(words)


def explained(
    error: TcplabError,
    out: Path,
    modules: Sequence[BuiltModule],
    kernel: KernelChoice = LAB_KERNEL,
) -> TcplabError:
    """The error of a run in a guest, with what console and clock tell of who may be to blame.

    That are the loaded modules, and the kernel if its source or a patch is the user's own.
    """
    if not modules and not kernel.digest:
        return error
    console = _console(out)
    blamed = [f"{module.module.name}.c" for module in modules]
    names = " or ".join(blamed + ([kernel.name] if kernel.digest else []))
    if gone := _MEMORY_GONE.search(console):
        excerpt = console[gone.start() :].partition(_MEMORY_TOLD)[0]
        return _used_up(names, _backtrace(excerpt, modules, kernel, _ALLOCATING))
    if LIMIT in error.problem:
        if not _stood_still(out, panicked=bool(_PANIC.search(console))):
            return error
        return _spinning(error, names, _backtrace(console, modules, kernel))
    if panic := _PANIC.search(console):
        problem = (
            "The guest's kernel crashed:"
            f" {_meant(panic[1].strip())}.\n{_backtrace(console, modules, kernel)}"
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


def _spinning(error: TcplabError, names: str, backtrace: str) -> TcplabError:
    """The error of a run that was stopped while time stood still, with where its kernel was."""
    problem = f"{error.problem.split(':')[0]}, and its clock had stood still: {names} spins."
    remedy = (
        "Look for a loop that does not end, or a pointer that leads nowhere. Only its guest was"
        " stopped."
    )
    return TcplabError("\n".join(filter(None, (problem, backtrace))), remedy)


def _meant(words: str) -> str:
    meaning = next((meaning for sign, meaning in _MEANINGS.items() if words.startswith(sign)), "")
    return f"{meaning} ({words})" if meaning else words


def _console(out: Path) -> str:
    """The end of what the guest's kernel printed; a module may have printed lines of any length."""
    text = untrusted.tail(out, CONSOLE, _LOG_BYTES) if untrusted.is_file(out, CONSOLE) else ""
    return "\n".join(line[:_LONGEST_LINE] for line in text.splitlines())


def _used_up(names: str, backtrace: str) -> TcplabError:
    """The error of a run that had no memory left, with who first was refused some."""
    problem = f"The guest's memory is used up: {names} may keep what it allocates."
    remedy = "Free what is allocated for each packet or call. Only its guest has ended."
    return TcplabError("\n".join(filter(None, (problem, backtrace))), remedy)


def _stood_still(out: Path, panicked: bool) -> bool:
    """Whether virtual time stood still in the end: the job writes an event in each second of it.

    The end is when the kernel panicked because it was told to (GuestProcesses.stop_kernel), or now.
    """
    try:
        end = _changed(out, CONSOLE) if panicked else time.time()
        return end - _changed(out, EVENTS) > _STANDSTILL
    except (FileNotFoundError, untrusted.StrangeFile):
        return False


def _changed(out: Path, name: str) -> float:
    """When the file was written to last, in seconds since 1970."""
    with untrusted.opened(out, name) as file:
        return os.fstat(file.fileno()).st_mtime


def _backtrace(
    console: str,
    modules: Sequence[BuiltModule],
    kernel: KernelChoice,
    without: tuple[str, ...] = (),
) -> str:
    """A line for each function, the innermost first, but of those that begin with `without`.

    With file and source line if it is of a module, or of a kernel of one's own.
    """
    told = (frame for frame in _frames(console) if not frame.function.startswith(without))
    frames = list(islice(told, _FRAMES))
    lines_of = _kernel_lines(kernel, [frame for frame in frames if not frame.module])
    built_modules = {built.module.name: built for built in modules}
    lines = [
        f"  {function} at {file}:{number}\n" for file, number, function in _BUG.findall(console)
    ]
    for frame in frames:
        own = built_modules.get(frame.module)
        place = _place(own, frame) if own else lines_of.get(frame, "")
        lines.append(f"  {frame.function}{place}\n")
    return "".join(lines)


def _frames(console: str) -> list[StackFrame]:
    """The functions of the last crash without repetitions, from the fault to the entry into TCP."""
    crash = (
        console[: _end(_PANIC, console)].rpartition(_WARNING_ENDS)[2]
        + console[_end(_PANIC, console) :]
    )
    distinct: dict[tuple[str, str], StackFrame] = {}
    for how, function, offset, module in _FRAME.findall(crash):
        frame = StackFrame(function, int(offset, 16), module, how.startswith("RIP"))
        if (frame.offset or frame.exact) and _tells(function):
            distinct.setdefault((function, module), frame)
    frames = sorted(distinct.values(), key=lambda frame: not frame.exact)
    # What stands before the first function of a module are the handlers of the crash itself.
    first = next((index for index, frame in enumerate(frames) if frame.module or frame.exact), 0)
    names = [frame.function for frame in frames]
    return frames[first : names.index(_TCP_ENTRY) if _TCP_ENTRY in names[first:] else None]


def _tells(function: str) -> bool:
    """Whether a function says something of who is to blame."""
    return function not in _MESSENGERS and not function.startswith(_USER_MODE)


def _kernel_lines(kernel: KernelChoice, frames: list[StackFrame]) -> dict[StackFrame, str]:
    """` at FILE:NUMBER: the line` for functions of a kernel of the user's own.

    Empty if its source is gone, or cannot be compiled any more.
    """
    if not kernel.digest or not frames:
        return {}
    places = [KernelPlace(frame.function, frame.offset, frame.exact) for frame in frames]
    try:
        entry = cache.ready(lines_recipe(kernel, places), BuildReport())
    except TcplabError:
        return {}
    lines = json.loads((entry.folder / LINES).read_text())
    return {frame: f" at {line}" for frame, line in zip(frames, lines, strict=True) if line}


def _end(sign: re.Pattern[str], text: str) -> int:
    match = sign.search(text)
    return match.end() if match else len(text)


def _place(built: BuiltModule, frame: StackFrame) -> str:
    """` at exp.c:12: <the line>`; empty if the debugging information lacks it."""
    with scratch() as folder:
        shutil.copyfile(built.with_lines, folder / "lines.ko")
        workshop = Workshop(folder, folder / "log", BuildReport())
        try:
            file, number = _line(workshop, frame)
        except (CommandError, ValueError):
            return ""
    source = built.module.source.splitlines()
    if file.rpartition("/")[2] != f"{built.module.name}.c" or not number.isdecimal():
        return f" at {file.rpartition('/tree/')[2]}:{number}" if number.isdecimal() else ""
    text = source[int(number) - 1].strip() if int(number) <= len(source) else ""
    return f" at {built.module.name}.c:{number}: {text}"


def _line(workshop: Workshop, frame: StackFrame) -> tuple[str, str]:
    """File and line of a place in the module.

    The address after a call may be the next line's: one byte back.
    """
    symbols = workshop.run(
        "Reading symbols", [*LIMITS, "nm", "--format=sysv", "lines.ko"], bare=True
    )
    rows = (
        [part.strip() for part in line.split("|")]
        for line in symbols.splitlines()
        if line.count("|") == 6
    )
    value, section = next(
        (row[1], row[6]) for row in rows if row[0] == frame.function and row[3] == "FUNC"
    )
    address = int(value, 16) + frame.offset - (not frame.exact)
    command = [*LIMITS, *ADDRESS_TO_LINE, "lines.ko", "-j", section, f"{address:#x}"]
    return written_in(workshop.run("Finding the line", command, bare=True))
