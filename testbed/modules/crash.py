"""What a module, or a kernel of one's own, did to its guest, from the kernel's last words.

addr2line(1) finds source lines of functions in debugging information that an untrusted author made,
so it runs in the sandbox of the build.

The process that is first refused memory is usually a victim. So a user's kernel is built again with
memory accounting, repeats the run, and prints the source lines that hold most.
"""

import os
import re
import shutil
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from testbed.builds import BuildReport, Workshop
from testbed.guest.job_entry import EVENTS
from testbed.host.scratch import scratch
from testbed.host.supervise import CONSOLE, LIMIT, NO_RESULT, Progress
from testbed.lab.kernel import kernel_version
from testbed.lab.kernel.choice import LAB_KERNEL, KernelChoice, chosen
from testbed.lab.kernel.recipe import SYMBOLS
from testbed.lab.ready import Lab, kernel_part, lab
from testbed.lab.tools import sealed
from testbed.modules import LIMITS, BuiltModule
from topologies import untrusted
from topologies.errors import CommandError, TcplabError

PANIC = re.compile(r"Kernel panic - not syncing: (.*)")
_FRAME = re.compile(
    r"(RIP: \d+:|\[<[0-9a-f]+>\] (?:\? )?)([A-Za-z_][\w.]*)\+0x([0-9a-f]+)/0x[0-9a-f]+(?:"
    r" \[(\w+)\])?"
)
_TCP_ENTRY = "tcp_v4_rcv"  # where a packet enters TCP; the calls before it are always the same
_FRAMES = 12
_WARNING_ENDS = "---[ end trace"  # a warning before a crash has a backtrace of its own
_MESSENGERS = re.compile(
    r"v?panic|dump_stack(_lvl)?|show_stack|_printk|relay_signal(\.cold)?|segv(_handler)?"
    r"|(sig|hard)_handler(_common)?"
)
"""Functions that tell of a crash, or of the signal that the host sent for it."""
_ADDRESS_TO_LINE = ("addr2line", "--inlines", "-e", "program")
_USER_MODE = ("um_", "time_travel_", "__time_travel_")
"""How functions begin that are the work of being a program: clock and interrupts."""
# include/asm-generic/bug.h; such a crash leaves no frame
_BUG = re.compile(r"BUG: failure at (\S+):(\d+)/(\w+)\(\)")


@dataclass(frozen=True)
class StackFrame:
    """A function of the backtrace, of the kernel without `module`, `exact` if it is no caller."""

    function: str
    offset: int
    module: str
    exact: bool


def backtrace(
    console: str,
    modules: Sequence[BuiltModule],
    kernel: KernelChoice,
    without: tuple[str, ...] = (),
) -> str:
    """Return a line for each function, innermost first, but of those that begin with `without`."""
    frames = (frame for frame in frames_in(console) if not frame.function.startswith(without))
    built = {each.module.name: each for each in modules}
    bugs = _BUG.findall(console)
    lines = [f"  {function} at {file}:{number}\n" for file, number, function in bugs]
    for frame in islice(frames, _FRAMES):
        lines.append(f"  {frame.function}{_place(built.get(frame.module), kernel, frame)}\n")
    return "".join(lines)


def frames_in(console: str) -> list[StackFrame]:
    """Return the functions of the last crash, each once, from the fault to the entry into TCP."""
    panic = PANIC.search(console)
    end = panic.end() if panic else len(console)
    crash = console[:end].rpartition(_WARNING_ENDS)[2] + console[end:]
    distinct: dict[tuple[str, str], StackFrame] = {}
    for how, function, offset, module in _FRAME.findall(crash):
        frame = StackFrame(function, int(offset, 16), module, how.startswith("RIP"))
        is_telling = not _MESSENGERS.fullmatch(function) and not function.startswith(_USER_MODE)
        if (frame.offset or frame.exact) and is_telling:
            distinct.setdefault((function, module), frame)
    frames = sorted(distinct.values(), key=lambda frame: not frame.exact)
    # What stands before the first function of a module are the handlers of the crash itself.
    first = next((index for index, frame in enumerate(frames) if frame.module or frame.exact), 0)
    names = [frame.function for frame in frames]
    return frames[first : names.index(_TCP_ENTRY) if _TCP_ENTRY in names[first:] else None]


def _place(built: BuiltModule | None, kernel: KernelChoice, frame: StackFrame) -> str:
    """Return ` at exp.c:12: <the line>` of a module, ` at net/ipv4/tcp.c:12` of a kernel, or ""."""
    if not built and (not kernel.digest or frame.module):
        return ""
    program = built.with_lines if built else kernel_part(kernel).place / SYMBOLS
    file, number = _line(program, frame)
    source = built.module.source.splitlines() if built else []
    if built and Path(file).name == f"{built.module.name}.c" and 0 < number <= len(source):
        return f" at {built.module.name}.c:{number}: {source[number - 1].strip()}"
    return f" at {file}:{number}" if number else ""


def _line(program: Path, frame: StackFrame) -> tuple[str, int]:
    """Return file and line of a place in a module or a kernel; line 0 if it is unknown."""
    with scratch() as folder:
        workshop = sealed(Workshop(folder, folder / "log", BuildReport()))
        try:
            shutil.copyfile(program, folder / "program")
            command = [*LIMITS, "nm", "--format=sysv", "program"]
            symbols = workshop.run("Reading symbols", command, bare=True)
            columns = ([part.strip() for part in line.split("|")] for line in symbols.splitlines())
            rows = (row for row in columns if len(row) == 7)
            row = next(row for row in rows if row[0] == frame.function and row[3] == "FUNC")
            # Addresses of a module count from its section.
            section = ["-j", row[6]] if frame.module else []
            address = int(row[1], 16) + frame.offset - (not frame.exact)
            command = [*LIMITS, *_ADDRESS_TO_LINE, *section, f"{address:#x}"]
            printed = workshop.run("Finding the line", command, bare=True)
        except (CommandError, OSError, StopIteration):
            return "", 0
    places = [line.split(" (")[0].rpartition(":")[::2] for line in printed.splitlines()]
    # Of what is inlined from a header, its use.
    file, number = next((place for place in places if place[0].endswith(".c")), places[0])
    name = file.rpartition("/tree/")[2].removeprefix("./")
    return name, int(number) if number.isdecimal() else 0


_MOST, _SMALLEST_SHARE = 3, 0.1
_ALLOCATOR = "mm/slub.c:"  # its pages are those of everybody who asked it for less than one
_UNITS = {"B": 0, "KiB": 1, "MiB": 2, "GiB": 3}
# mm/show_mem.c: size, calls, FILE:LINE, the module's name, the function
_HOLDER = re.compile(
    r"(?m)^\[[ \d.]+\] +([\d.]+) (B|KiB|MiB|GiB) +\d+ (\S+:\d+)(?: \[\w+\])? func:(\S+)$"
)


def accounting_kernel(kernel: KernelChoice) -> KernelChoice | None:
    """Return the same kernel, but one that says who holds its memory; None before Linux 6.10."""
    version = kernel_version(kernel.series)
    patched = f"{kernel.name}+{version.file(version.accounting)}"
    return chosen(patched) if version.accounting else None


def _memory_holders(console: str) -> str:
    """Return rows of the largest holders of used-up memory; empty if the kernel printed none."""
    rows, smallest = "", 0.0
    found = (each for each in _HOLDER.findall(console) if not each[2].startswith(_ALLOCATOR))
    for number, unit, place, function in islice(found, _MOST):
        size = float(number) * 1024 ** _UNITS[unit]
        smallest = smallest or _SMALLEST_SHARE * size
        if size >= smallest:
            rows += f"  {number} {unit}: {function} at {place}\n"
    return f"Most is held by:\n{rows}" if rows else ""


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


def lacks_backtrace(error: TcplabError, out: Path, kernel: KernelChoice) -> bool:
    """Check if a quiet user's kernel crashed or ran out of memory and did not print where."""
    if not kernel.digest:
        return False
    console = _console(out)
    if _MEMORY_GONE.search(console):
        return _TRACE not in console or bool(kernel_version(kernel.series).accounting)
    return LIMIT not in error.problem and bool(PANIC.search(console)) and "RIP: " not in console


def accounting_lab(out: Path, ready: Lab, progress: Progress) -> Lab:
    """Return the lab for another run: built now, if memory is used up, with accounting."""

    class PhaseOfTheRun(BuildReport):
        def step(self, text: str, share: float | None = None) -> None:
            done = f" ({share:.0%})" if share else ""
            progress(f"Finding who holds the memory: {text}{done}", 0.0)

    if _MEMORY_GONE.search(_console(out)):
        with suppress(TcplabError):
            if accounting := accounting_kernel(ready.choice):
                return lab(PhaseOfTheRun(), kernel=accounting)
    return ready


def rerun_verbose(out: Path, run: Callable[[Path], object]) -> None:
    """Let `run` crash once more, in a folder of its own, and keep what its kernel prints."""
    with scratch() as folder:
        with suppress(TcplabError):
            run(folder)
        console = _console(folder)
    if PANIC.search(console) or _MEMORY_GONE.search(console):
        (out / CONSOLE).write_text(console)


def explained(
    error: TcplabError, out: Path, modules: Sequence[BuiltModule], kernel: KernelChoice = LAB_KERNEL
) -> TcplabError:
    """Return a run's error, blaming modules and the user's kernel by console and clock."""
    if not modules and not kernel.digest:
        return error
    console = _console(out)
    own_kernel = [kernel.name] if kernel.digest else []
    names = " or ".join([*(f"{built.module.name}.c" for built in modules), *own_kernel])
    if gone := _MEMORY_GONE.search(console):
        problem = f"The guest's memory is used up: {names} may keep what it allocates."
        excerpt = console[gone.start() :].partition(_MEMORY_TOLD)[0]
        lines = _memory_holders(console) or backtrace(excerpt, modules, kernel, _ALLOCATING)
        remedy = "Free what is allocated for each packet or call. Only its guest has ended."
        return TcplabError(f"{problem}\n{lines}" if lines else problem, remedy)
    if LIMIT in error.problem:
        if not _stood_still(out, panicked=bool(PANIC.search(console))):
            return error
        problem = f"{error.problem.split(':')[0]}, and its clock had stood still: {names} spins."
        lines = backtrace(console, modules, kernel)
        remedy = "Look for a loop that does not end, or a pointer that leads nowhere."
        words = f"{problem}\n{lines}" if lines else problem
        return TcplabError(words, f"{remedy} Only its guest was stopped.")
    if panic := PANIC.search(console):
        crashed = f"The guest's kernel crashed: {_meant(panic[1].strip())}."
        remedy = f"Correct {names}; only its guest has ended. The kernel's words are in {CONSOLE}."
        return TcplabError(f"{crashed}\n{backtrace(console, modules, kernel)}", remedy)
    if error.problem.startswith(NO_RESULT):
        died = f"The guest died with {names} loaded. {error.problem}"
        remedy = f"It may have written where it should not: correct {names}."
        return TcplabError(died, f"{remedy} Only its guest has ended.")
    return error


def _meant(words: str) -> str:
    meant = (f"{each} ({words})" for sign, each in _MEANINGS.items() if words.startswith(sign))
    return next(meant, words)


def _console(out: Path) -> str:
    """Return the end of the kernel's output; a module may have printed lines of any length."""
    text = untrusted.tail_if_any(out, CONSOLE, _LOG_BYTES)
    return "\n".join(line[:_LONGEST_LINE] for line in text.splitlines())


def _stood_still(out: Path, panicked: bool) -> bool:
    """Check if virtual time stood still in the end: the job writes an event in each second.

    The end is the panic that GuestProcesses.stop_kernel caused, or now.
    """
    try:
        with untrusted.opened(out, EVENTS) as events, untrusted.opened(out, CONSOLE) as console:
            end = os.fstat(console.fileno()).st_mtime if panicked else time.time()
            return end - os.fstat(events.fileno()).st_mtime > _STANDSTILL
    except (FileNotFoundError, untrusted.StrangeFile):
        return False
