"""`tcplab shell`: commands typed into hosts, in real time by Mininet or as `tcplab exec` does."""

import functools
import signal
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import click

from experiments.cli.options import link_options, options
from experiments.programs.network import Network
from experiments.programs.program import SECOND
from experiments.programs.start import NetworkOptions, started
from experiments.programs.words import LinkWords
from experiments.run.request import choose
from experiments.run.session import ready_lab
from experiments.spec import DEFAULT_KERNEL, LinkParameters, parameter
from experiments.study.kernels import refuse_virtual_time_only
from testbed.guest.typed_shell import Start, interact
from testbed.host.scratch import scratch
from testbed.host.supervise import Limits, Progress, Usage
from testbed.lab.kernel.choice import chosen
from testbed.native.run import run_natively
from testbed.virtual.run import run_in_guest
from topologies.errors import TcplabError, UsageError
from topologies.plugins import additional
from topologies.shapes import chain, dumbbell, parking_lot, star, two_hosts
from topologies.spec import Channel, TopologySpec
from topologies.units import Duration, Rate, Share

HELP = Path(__file__).with_name("shell.txt").read_text(encoding="utf-8")
_SLICE = SECOND  # of virtual time between two looks at what was printed


class TypedCommands:
    """The commands of HELP, and what they print."""

    def __init__(self, network: Network, show: Callable[[str], None]) -> None:
        self._network, self._show = network, show

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
        actions: dict[str, Callable[[str], object]] = {
            "": lambda _: None,
            "help": lambda _: self._show(HELP),
            "sleep": self._network.sleep,
            "link": self._change,
            "down": lambda time: self._network.link.down(for_=time or None),
            "unplug": lambda host: self._network.host(host).unplug(),
            "plug": lambda host: self._network.host(host).plug(),
            "programs": lambda _: self._list(),
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
        values = cast(LinkWords, {name: value for name, _, value in pairs})
        self._network.link.change(**values)

    def _list(self) -> None:
        for program in self._network.programs.values():
            self._show(f"{program.host} {program.argv[-1]}: {program.state}\n")

    def _print(self) -> None:
        for program in self._network.programs.values():
            for _, text in program.unseen():
                self._show(text)


@contextmanager
def _interrupts() -> Iterator[list[int]]:
    """Collect the presses of Ctrl-C meanwhile."""
    pressed: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _frame: pressed.append(number))
    try:
        yield pressed
    finally:
        signal.signal(signal.SIGINT, before)


SHAPES: dict[str, Callable[[int, Channel], TopologySpec]] = {
    "two_hosts": lambda _size, channel: two_hosts(channel),
    "dumbbell": dumbbell,
    "chain": chain,
    "star": lambda _size, channel: star(channel),
    "parking_lot": parking_lot,
}


@dataclass(frozen=True)
class ShellLink(LinkParameters):
    """A link without loss, unless it is asked for."""

    bw: Rate = parameter("10mbit", Rate, "Rate of the link, each way.")
    delay: Duration = parameter(
        "20ms", Duration, "Delay of the link, each way; the round trip takes twice as long."
    )
    loss: Share = parameter("0%", Share, "Packets that the link loses at random, each way.")


GROUP = "tcplab.topologies"  # entry points of installed packages: functions as in SHAPES, by name


def _shape(name: str) -> Callable[[int, Channel], TopologySpec]:
    if name in SHAPES:
        return SHAPES[name]
    plugin = additional(GROUP, SHAPES)[name]
    shape = plugin.load()
    if not callable(shape):
        raise plugin.broken(f"{plugin.entry.value} is not a function of a size and a channel")
    made: Callable[[int, Channel], TopologySpec] = shape
    return made


@click.command("shell")
@click.argument(
    "topology", required=False, type=click.Choice([*SHAPES, *additional(GROUP, SHAPES)])
)
def shell(
    topology: str | None, size: int, testbed: str, kernel: str | None = None, **link: Any
) -> None:
    """Build TOPOLOGY and open Mininet's command line in it, in real time.

    It captures and keeps no files. It prints how to use it when the network is ready.

    Without TOPOLOGY, h1 and h2 run programs of this computer in this folder, in virtual time.
    """
    channel = ShellLink(**link).channel()
    if topology is None:
        options = NetworkOptions(kernel=kernel or DEFAULT_KERNEL)
        with started(two_hosts(channel), 1, None, options) as network:
            if sys.stdin.isatty():
                click.echo(HELP, err=True)
            show = functools.partial(print, end="", flush=True)
            TypedCommands(network, show).obey_all(typed_lines())
        return
    made = _shape(topology)(size, channel)
    limits = Limits(wall_seconds=float("inf"))
    start: Start = functools.partial(run_natively, limits=limits)
    if kernel and testbed == "native":
        raise UsageError("Natively all hosts run this computer's kernel.", "Leave --kernel out.")
    if kernel or choose(testbed)[0] == "virtual":
        name = str(chosen(kernel)) if kernel else DEFAULT_KERNEL
        refuse_virtual_time_only(name)
        lab = ready_lab([name])

        def start(module: str, data: Any, out: Path, progress: Progress) -> Usage:
            return run_in_guest(lab, module, data, 1, out, progress, limits, real_time=True)

    with scratch() as folder:
        interact(made, start, folder)


def typed_lines() -> Iterator[str]:
    """Yield lines until Ctrl-D; a script's come from standard input."""
    prompt = "tcplab> " if sys.stdin.isatty() else ""
    while True:
        try:
            yield input(prompt)
        except EOFError:
            return
        except KeyboardInterrupt:
            print(file=sys.stderr)


shell.params += link_options(ShellLink)
options("shell")(shell)
