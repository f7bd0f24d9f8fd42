"""The entry of code that runs in the guest, or natively in network namespaces of its own.

A job is a module with a function `perform(data, job)`; it travels with its data in one Python
archive, and needs the standard library and Mininet only.

Over /dev/orders a guest exchanges messages with the program outside. To wait for one blocks the
guest's whole kernel on the host, so it takes no virtual and no processor time (orders.patch).

From /dev/start_line on, packets depend on spec, seed and kernel only: virtual time is one fixed
instant, and the kernel's random numbers begin again from the seed (start-line.patch). In real time
there is no such device.
"""

import ctypes
import gc
import importlib
import json
import os
import shutil
import time
import traceback
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any
from zipimport import zipimporter

from testbed.guest.programs import Stop, in_background
from testbed.guest.switches import start_open_vswitch, stop_open_vswitch
from topologies.disciplines import OFFERED
from topologies.notation import json_value

ORDERS = Path("/dev/orders")
LONGEST = 16 << 20  # bytes of a message at most, in either direction
WAITING: dict[str, Any] = {"waiting": True}  # what a guest says before it waits for its first order


class OrderLine:
    """The guest's end: `next` says something and returns the order that follows."""

    def __init__(self) -> None:
        self._device = os.open(ORDERS, os.O_RDWR | os.O_CLOEXEC)

    def next(self, message: Any) -> Any:
        """Send a message, and return the next order. Raises OSError for one that is too long."""
        os.write(self._device, json.dumps(message).encode())
        return json_value(os.read(self._device, LONGEST))


START_LINE = Path("/dev/start_line")
FAR, NEAR = 65_536_000_000, 16_384_000_000
"""Nanoseconds since the boot: links are made at a multiple of the first, flows begin at the next
one of the second. A jiffy is 1 ms, so the kernel's wheel of timers is always in the same place."""
_NETWORK, _LINKS, _FLOWS = range(3)


@dataclass(frozen=True)
class StartLine:
    """The lines of a job, each with random numbers of its own.

    Flows begin at `clock`, in nanoseconds since 1970, so ports, sequence numbers and time stamps of
    two conditions are equal. A native job has no `device`.
    """

    seed: int = 0
    clock: int = 0
    device: Path | None = None

    def network(self) -> None:
        """Cross the line before hosts are made, whose random numbers no seed changes."""
        self._cross(0, _NETWORK, 0)

    def links(self) -> None:
        """Cross the line before links are shaped, at which queues draw their secrets."""
        self._cross(self.seed, _LINKS, FAR)

    def flows(self) -> None:
        """Cross the line when all is ready for the first packet."""
        if self._cross(self.seed, _FLOWS, NEAR):
            time.clock_settime_ns(time.CLOCK_REALTIME, self.clock)

    def _cross(self, seed: int, label: int, period: int) -> bool:
        """Begin again, at once or at the next multiple of `period`; return whether it did."""
        if self.device is None or not self.device.exists():
            return False
        device = os.open(self.device, os.O_RDWR | os.O_CLOEXEC)
        try:
            instant = (int(os.read(device, 32)) // period + 1) * period if period else 0
            os.write(device, f"{seed} {label} {instant}".encode())
        finally:
            os.close(device)
        return True


RESULT, EVENTS, LOG = "result.json", "events.jsonl", "job.log"
ATTACHED = "attached/"  # folder of the archive with the files that a job brings along
ORDER = "order.json"
"""The attached file with the order of a guest whose kernel takes none later. An order is an object:
`data` is what to do, `seed` that of its start line, and the `last` one ends the guest."""
BEGUN, SAMPLE = "begun ", "sample "
"""What a guest that was started ahead prints: before the time when its flows begin (seconds since
1970); before each sample of a sender's sockets."""
_APPENDED = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_SYNC | os.O_CLOEXEC
_PATIENT = Path("/usr/lib/tcplab/patient.so")
_PIECE = 1 << 20  # bytes
_TICK = 1.0  # seconds between two events that tell the time of the job's clock
_PR_SET_TIMERSLACK = 29  # include/uapi/linux/prctl.h


@dataclass
class JobContext:
    """The context of a job: the folder `work` for results, and its progress.

    `preload` makes tcpdump and iperf cheap in virtual time (patient.c). Without `open_vswitch`
    switches are bridges. A job that was started `ahead` gets its orders later.
    """

    work: Path
    delivery: Path
    virtual: bool
    preload: Path | None = None
    open_vswitch: bool = True
    ahead: bool = False
    archive: Path = Path()
    line: StartLine = field(default_factory=StartLine)
    phase: str = "starting"
    _measured: float = 0.0
    _flows_began: float | None = None
    _ticker: ExitStack = field(default_factory=ExitStack)

    @property
    def patience(self) -> dict[str, str]:
        """The environment of programs that are to make fewer calls of their kernel."""
        return {"LD_PRELOAD": str(self.preload)} if self.preload else {}

    def tick(self) -> ExitStack:
        """Tell the progress bar the time, second by second, until what it returns is closed."""

        def work(stop: Stop) -> None:
            while not stop.wait(_TICK):
                self.tell()

        self._ticker.enter_context(in_background("progress", work))
        return self._ticker

    def start_links(self) -> None:
        """Cross the line before links are shaped; the switches know all ways by now."""
        if self.virtual and self.open_vswitch:
            stop_open_vswitch()
        self.line.links()

    def start_flows(self) -> None:
        """Cross the line before the first flow, at which the job's seconds begin too."""
        self._ticker.close()
        self.line.flows()
        self._flows_began = time.monotonic()
        self.tick()

    def end_flows(self) -> None:
        """Stop counting: what follows prepares the next line."""
        self._measured, self._flows_began = self.elapsed, None

    @property
    def elapsed(self) -> float:
        """Seconds in which flows went on, without those that pass until a start line."""
        since = 0.0 if self._flows_began is None else time.monotonic() - self._flows_began
        return round(self._measured + since, 9)

    def enter(self, phase: str) -> None:
        """Report the current phase; it is shown next to the progress bar."""
        self.phase = phase
        self.tell()

    def tell(self) -> None:
        """Append an event for the progress bar; the host sees it on return."""
        event = {"phase": self.phase, "elapsed": round(self.elapsed, 3)}
        os.write(self._events, json.dumps(event).encode() + b"\n")

    @cached_property
    def _events(self) -> int:
        """A descriptor that is open until the job ends: there is an event each second."""
        return os.open(self.delivery / EVENTS, _APPENDED)

    def orders(self, data: Any) -> Iterator[Any]:
        """Yield what to do: `data`, or one order after the other if the guest was started ahead."""
        if not self.ahead:
            yield data
            return
        if not ORDERS.exists():
            yield self._take(json_value(self.attached(ORDER)))
            return
        orders, message = OrderLine(), WAITING
        while order := orders.next(message):
            yield self._take(order)
            if order["last"]:
                return
            os.close(self._events)  # the program outside takes the file away
            del self._events
            gc.collect()
            message = self.ended({"ok": True})

    def _take(self, order: dict[str, Any]) -> Any:
        self.line = replace(self.line, seed=order["seed"])
        self._measured, self._flows_began = 0.0, None
        return order["data"]

    def ended(self, result: dict[str, Any]) -> dict[str, Any]:
        """Leave how the job, or an order of it, ended; return that."""
        whole = result | {"elapsed": self.elapsed}
        (self.delivery / RESULT).write_text(json.dumps(whole))
        return whole

    def attached(self, name: str) -> bytes:
        """Return a file that came with the job. Raises KeyError if there is none of that name."""
        return _from(self.archive, ATTACHED + name)

    def deliver(self, name: str) -> None:
        """Hand out `work/name` in one step, so that it is kept whole whatever happens later."""
        source, partial = self.work / name, self.delivery / f"{name}.partial"
        if self.work == self.delivery or not source.exists():
            return
        if source.is_dir():
            shutil.copytree(source, partial, copy_function=copy_out)
            shutil.rmtree(source)
        else:
            copy_out(source, partial)
        partial.rename(self.delivery / name)


def copy_out(source: str | Path, target: str | Path) -> None:
    """Copy a file to the host, without keeping its pages in memory (posix_fadvise(2))."""
    with open(source, "rb") as read, open(target, "wb") as written:
        while piece := read.read(_PIECE):
            written.write(piece)
            written.flush()
            os.fdatasync(written.fileno())
            os.posix_fadvise(written.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def main(arguments: list[str]) -> int:
    """Run the job in an archive's job.json: `job.pyz DELIVERY WORK virtual|native`."""
    gc.disable()  # it would run between packets
    # Programs inherit it: a sleep that may end 50 us late ends with the timer of somebody else, and
    # poll(2) a thousandth late (fs/select.c).
    ctypes.CDLL(None).prctl(_PR_SET_TIMERSLACK, 1, 0, 0, 0)
    archive, delivery, work = map(Path, arguments[:3])
    clock = arguments[3]
    work.mkdir(parents=True, exist_ok=True)
    preload = _PATIENT if clock == "virtual" and _PATIENT.exists() else None
    job = JobContext(work, delivery, clock == "virtual", preload, archive=archive)
    result = _attempt(job)
    job.ended(result)
    return 0 if result["ok"] else 1


def _attempt(job: JobContext) -> dict[str, Any]:
    try:
        order = json_value(_from(job.archive, "job.json"))
        job.open_vswitch = order.get("open_vswitch", True)
        job.ahead = order.get("ahead", False)
        if job.virtual:
            job.line = StartLine(order.get("seed", 0), order.get("clock", 0), START_LINE)
        OFFERED.update(order.get("disciplines", {}))
        with job.tick():
            if job.open_vswitch:
                start_open_vswitch()
            importlib.import_module(order["module"]).perform(order["data"], job)
        return {"ok": True}
    except Exception as error:
        # The process ends here; the host shows the message and keeps the traceback.
        traceback.print_exc()
        problem = getattr(error, "problem", f"{type(error).__name__}: {error}")
        remedy = getattr(error, "remedy", "See job.log in the run's folder.")
        return {"ok": False, "problem": problem, "remedy": remedy}


def _from(archive: Path, member: str) -> bytes:
    """Return a file of the archive. Raises KeyError if there is none of that name."""
    try:
        return zipimporter(str(archive)).get_data(f"{archive}/{member}")
    except OSError:
        raise KeyError(f"{archive} has no {member}") from None
