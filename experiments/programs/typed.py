"""Commands that are typed into the hosts of a network in virtual time, for `tcplab shell`."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import FrameType

from experiments.programs.network import Network
from experiments.programs.program import SECOND, Program
from topologies.errors import TcplabError, UsageError

HELP = """\
h1 COMMAND            run a command in h1
h2 COMMAND &          start it, and go on at once
sleep 5s              let virtual time go on
link loss=10% ...     change the link: delay, loss, bandwidth, jitter, queue
down 4s               lose every packet for a time
unplug h1, plug h1    pull h1's cable, and plug it in again
programs              list the programs with their ends
help, exit            Ctrl-C interrupts the command that runs, Ctrl-D ends the network
"""
_SLICE = SECOND  # of virtual time between two looks at what was printed


class TypedCommands:
    """The commands of HELP, and what they print."""

    def __init__(self, network: Network, show: Callable[[str], None]) -> None:
        self._network, self._show = network, show
        self._shown: dict[tuple[int, str], int] = {}

    def obey_all(self, lines: Iterable[str]) -> None:
        """Carry out lines until one says to end; an error is shown, and the next line follows."""
        for line in lines:
            if line.strip() in ("exit", "quit"):
                return
            try:
                self.obey(line.strip())
            except TcplabError as error:
                self._show(f"{error}\n")
                if self._network.over:
                    return

    def obey(self, line: str) -> None:
        """Carry out one line. Raises UsageError for one that is no command."""
        word, _, rest = line.partition(" ")
        actions: dict[str, Callable[[str], None]] = {
            "": lambda _: None,
            "help": lambda _: self._show(HELP),
            "sleep": self._network.sleep,
            "link": self._change,
            "down": lambda time: self._network.link.down(for_=time or None),
            "unplug": lambda host: self._network.host(host).unplug(),
            "plug": lambda host: self._network.host(host).plug(),
            "programs": self._list,
        }
        if word in self._network.topology.named("host") and rest:
            self._run(word, rest.strip())
        elif word in actions:
            actions[word](rest.strip())
        else:
            raise UsageError(f"'{word[:40]}' is no command.", "Type help.")
        self._print()

    def _run(self, host: str, command: str) -> None:
        program = self._network.host(host).start(["sh", "-c", command.removesuffix("&")])
        if command.endswith("&"):
            return
        with _interrupts() as pressed:
            while program.status is None:
                self._network.order("wait", program=program.number, timeout=_SLICE)
                self._print()
                if pressed:
                    pressed.clear()
                    program.signal("SIGINT")
        if program.status:
            self._show(f"status {program.status}\n")

    def _change(self, text: str) -> None:
        pairs = [word.partition("=") for word in text.split()]
        self._network.link.change(**{name: value for name, _, value in pairs})

    def _list(self, _rest: str) -> None:
        for program in self._network.programs.values():
            self._show(f"{program.host} {program.argv[-1]}: {_end(program)}\n")

    def _print(self) -> None:
        """Show what programs have printed since the last time."""
        for number, program in self._network.programs.items():
            for stream in ("stdout", "stderr"):
                text = getattr(program, stream)
                self._show(text[self._shown.get((number, stream), 0) :])
                self._shown[number, stream] = len(text)


def _end(program: Program) -> str:
    return "runs" if program.status is None else f"status {program.status} at {program.ended} s"


@contextmanager
def _interrupts() -> Iterator[list[int]]:
    """Provide a list that Ctrl-C appends to, instead of its usual effect."""
    pressed: list[int] = []

    def press(number: int, _frame: FrameType | None) -> None:
        pressed.append(number)

    before = signal.signal(signal.SIGINT, press)
    try:
        yield pressed
    finally:
        signal.signal(signal.SIGINT, before)
