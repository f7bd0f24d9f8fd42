"""Our side of an interactive network (testbed.guest.typed_shell): the user's terminal."""

from __future__ import annotations

import os
import shutil
import sys
import termios
import threading
import tty
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from testbed.guest.programs import Stop, in_background
from testbed.guest.typed_shell import INTERVAL, Mailbox
from testbed.host.processes import is_ready
from testbed.host.supervise import Limits, Progress, Usage
from topologies.data import to_data
from topologies.errors import UsageError
from topologies.spec import TopologySpec

MODULE = "testbed.guest.typed_shell"
ESCAPE = b"\x1d"  # Ctrl-], as telnet(1) has it
Start = Callable[[str, Any, Path, Progress, Limits], Usage]
"""Runs a module with data into a folder, on either testbed."""


class TerminalClosed(Exception):
    """The user has pressed Ctrl-]."""


def interact(topology: TopologySpec, start: Start, out: Path) -> None:
    """Let the user type into the topology until they end it. `out` is an empty folder.

    Raises UsageError if standard input and output are no terminal, TcplabError if the network
    cannot be built.
    """
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError(
            "A shell needs a terminal to type in.", "For what runs by itself, write an experiment."
        )
    columns, rows = shutil.get_terminal_size()
    ended = threading.Event()

    def progress(phase: str, _elapsed: float) -> None:
        if phase != "ready":
            _say(phase)
        if ended.is_set():
            raise TerminalClosed

    data = {"topology": to_data(topology), "size": [rows, columns]}
    with (
        in_background("terminal", lambda stop: _relay(Mailbox(out), stop, ended)),
        suppress(TerminalClosed),
    ):
        start(MODULE, data, out, progress, Limits(wall_seconds=float("inf")))


_phases: list[str] = []


def _say(phase: str) -> None:
    """Print each new phase on standard error."""
    if _phases[-1:] != [phase]:
        _phases.append(phase)
        more = " (Open vSwitch needs a kernel that is 11 s old)" if phase == "starting" else ""
        print(f"{phase}{more} ...", file=sys.stderr, flush=True)


def _relay(mailbox: Mailbox, stop: Stop, ended: threading.Event) -> None:
    """Pass every key on once the network prints; before, Ctrl-C stops the start."""
    while not (text := mailbox.printed()):
        if stop.wait(INTERVAL):
            return
    with _raw():
        while True:
            over = stop.wait(0)
            os.write(1, text)
            if not ended.is_set() and is_ready(0, INTERVAL):
                _hand_in(mailbox, ended)
            text = mailbox.printed()
            if over and not text:
                return


def _hand_in(mailbox: Mailbox, ended: threading.Event) -> None:
    keys = os.read(0, 4096)
    if not keys or ESCAPE in keys:  # or the terminal is gone
        ended.set()
    else:
        mailbox.type(keys)


@contextmanager
def _raw() -> Iterator[None]:
    """Pass keys on as they are pressed, also Ctrl-C, which belongs to the terminal inside."""
    before = termios.tcgetattr(0)
    tty.setraw(0)
    try:
        yield
    finally:
        termios.tcsetattr(0, termios.TCSADRAIN, before)
