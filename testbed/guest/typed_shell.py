"""Mininet's command line on a pseudo-terminal in the guest, relayed to the user's terminal.

The lab kernel has no such console, so bytes travel through the run's folder: each keystroke is a
numbered file, output is appended to one file.
"""

import fcntl
import os
import select
import shutil
import struct
import sys
import termios
import threading
import tty
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from testbed.guest.job_entry import JobContext
from testbed.guest.network import network
from testbed.guest.programs import Stop, in_background
from topologies.data import from_data, to_data
from topologies.errors import UsageError
from topologies.spec import TopologySpec

TYPED, PRINTED = "typed", "terminal.out"
INTERVAL = 0.01
"""Seconds between two looks into the mailbox: half of the time until a key is answered."""


@dataclass
class Mailbox:
    """Either side's view of the folder `place`; each counts the files for itself."""

    place: Path
    number: int = 0
    read: int = 0

    def type(self, keys: bytes) -> None:
        """Outside: deliver keys."""
        (self.place / TYPED).mkdir(exist_ok=True)
        partial = self.place / TYPED / "partial"
        partial.write_bytes(keys)
        partial.rename(self.place / TYPED / str(self.number))
        self.number += 1

    def typed(self) -> bytes:
        """Inside: return the keys of the next file; empty if there is none yet."""
        file = self.place / TYPED / str(self.number)
        try:
            keys = file.read_bytes()
        except FileNotFoundError:
            return b""
        self.number += 1
        return keys

    def print(self, text: bytes) -> None:
        """Inside: deliver what was printed; it is on the other side's disk on return."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_SYNC
        with open(os.open(self.place / PRINTED, flags, 0o644), "wb", buffering=0) as file:
            file.write(text)

    def printed(self) -> bytes:
        """Outside: what is new."""
        text = b""
        with suppress(FileNotFoundError), (self.place / PRINTED).open("rb") as file:
            file.seek(self.read)
            text = file.read()
        self.read += len(text)
        return text


_HELP = """\
{diagram}

{first} ping -c 3 {second}        a command on {first}; names of hosts become their addresses
{second} iperf -s &          a server in the background, then: {first} iperf -c {second} -i 1
{first} ss -tin             what the kernel knows of {first}'s connections
{first} tcpdump -n -i {first}-eth0    its packets, until Ctrl-C
{first} sysctl -w net.ipv4.tcp_sack=0    a setting of {first} alone
{shaper} tc -s qdisc show    delay lines, rates and queues with their counters
pingall, net, nodes, dump, help    Mininet's own commands; there are no windows (xterm)

Ctrl-C stops the command that runs. Ctrl-D or exit ends the network; Ctrl-] does so whatever runs.
"""


def perform(data: Any, job: JobContext) -> None:
    """Build the topology of `data` and run the command line in a terminal of this `size`."""
    topology: TopologySpec = from_data(TopologySpec, data["topology"])
    job.enter("building the network")
    # Late: hosts of Python without Mininet lack what it imports.
    from testbed.guest.mininet_commands import ShapedCLI, prepare_programs

    prepare_programs()
    with network(topology, disposable=True, shells=True, has_lines=job.virtual) as live:
        job.enter("ready")
        first, second, *_ = topology.named("host")
        shaper = next((port.node for port in topology.ports if port.channel), first)
        known = {"diagram": topology.diagram, "first": first, "second": second, "shaper": shaper}
        with _terminal(Mailbox(job.delivery), *data["size"]):
            print(_HELP.format(**known), flush=True)
            ShapedCLI(live)


@contextmanager
def _terminal(mailbox: Mailbox, rows: int, columns: int) -> Iterator[None]:
    """Provide a controlling terminal, so that Ctrl-C is a signal, relayed to the mailbox."""
    ours, theirs = os.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    os.setsid()
    fcntl.ioctl(theirs, termios.TIOCSCTTY, 0)
    saved = [os.dup(number) for number in range(3)]
    for number in range(3):
        os.dup2(theirs, number)

    def relay(stop: Stop) -> None:
        while True:
            if select.select([ours], [], [], INTERVAL)[0]:
                mailbox.print(os.read(ours, 1 << 16))
            elif stop.wait(0):
                return
            if keys := mailbox.typed():
                os.write(ours, keys)

    try:
        with in_background("terminal", relay):
            yield
    finally:
        for number, descriptor in enumerate(saved):
            os.dup2(descriptor, number)


MODULE = "testbed.guest.typed_shell"
ESCAPE = b"\x1d"  # Ctrl-], as telnet(1) has it
Start = Callable[[str, Any, Path, Callable[[str, float], None]], object]
"""Runs a module with data into a folder, with its progress, on either testbed."""


class TerminalClosed(Exception):
    """The user has pressed Ctrl-]."""


def interact(topology: TopologySpec, start: Start, out: Path) -> None:
    """Let the user type into the topology until they end it. Raises TcplabError."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        problem = "A shell needs a terminal to type in."
        raise UsageError(problem, "For what runs by itself, write an experiment.")
    columns, rows = shutil.get_terminal_size()
    ended, shown = threading.Event(), ["ready"]

    def progress(phase: str, _elapsed: float) -> None:
        if phase not in shown:
            shown.append(phase)
            more = " (Open vSwitch needs a kernel that is 11 s old)" if phase == "starting" else ""
            print(f"{phase}{more} ...", file=sys.stderr, flush=True)
        if ended.is_set():
            raise TerminalClosed

    data = {"topology": to_data(topology), "size": [rows, columns]}
    with (
        in_background("terminal", lambda stop: _relay(Mailbox(out), stop, ended)),
        suppress(TerminalClosed),
    ):
        start(MODULE, data, out, progress)


def _relay(mailbox: Mailbox, stop: Stop, ended: threading.Event) -> None:
    """Pass every key on once the network prints; before, Ctrl-C stops the start."""
    while not (text := mailbox.printed()):
        if stop.wait(INTERVAL):
            return
    before = termios.tcgetattr(0)
    tty.setraw(0)  # keys go on as they are pressed, also Ctrl-C: it belongs to the other terminal
    try:
        while True:
            over = stop.wait(0)
            os.write(1, text)
            if not ended.is_set() and select.select([0], [], [], INTERVAL)[0]:
                keys = os.read(0, 4096)
                if not keys or ESCAPE in keys:  # or the terminal is gone
                    ended.set()
                else:
                    mailbox.type(keys)
            text = mailbox.printed()
            if over and not text:
                return
    finally:
        termios.tcsetattr(0, termios.TCSADRAIN, before)
