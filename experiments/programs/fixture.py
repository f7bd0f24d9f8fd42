"""The fixture `network` of tests, whose files stay if a test fails, and the story of a failure."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, nullcontext
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from analysis import fmt
from analysis.analyze.facts import CALLED
from analysis.flows.events import events
from analysis.flows.reader import read
from experiments.programs import start
from experiments.programs.links import channel
from experiments.programs.network import Host, Network, running_already
from experiments.programs.program import SECOND, Program
from experiments.programs.words import NetworkWords, OptionWords
from testbed.host.scratch import scratch
from topologies.errors import TcplabError
from topologies.shapes import two_hosts
from topologies.spec import TopologySpec
from topologies.units import Duration

_LINES = 12  # of each program's output, and of each host's retransmissions
_QUIET = ("environment", "input", "user", "group")
_TIMES = ("timeout", "at", "lasts")
_BARE = {"syn": "SYN", "fin": "FIN"}


def story(network: Network) -> str:
    return "\n".join(_lines(network))


def _lines(network: Network) -> Iterator[str]:
    yield f"seed {network.seed}, virtual time {network.now:.6f} s, files in {network.out}"
    # A wait is several orders, of which the last tells when it was over.
    for _, orders in groupby(
        network.steps, lambda step: step.arguments["program"] if step.do == "wait" else id(step)
    ):
        *_, step = orders
        words = (
            f"{name}={_word(name, value)}"
            for name, value in step.arguments.items()
            if name not in _QUIET and value is not None
        )
        yield _at(step.now_ns, " ".join([step.do, *words]))
    for program in network.programs.values():
        yield from _outputs(program)
    for host in network.hosts:
        yield from _sent_again(host)
    if network.over:
        yield network.over
    if network.unrepeatable:
        yield f"Not repeatable: {network.unrepeatable}."
    yield from (f"{sentence}." for sentence in (*network.waits, *network.notes))
    yield from (f"May not repeat: {reason}." for reason in network.doubts)


def _at(nanoseconds: int, text: str) -> str:
    return f"{nanoseconds / SECOND:12.6f}  {text}"


def _word(name: str, value: object) -> str:
    if name in _TIMES and isinstance(value, int):
        return str(Duration(value))
    if isinstance(value, dict):
        members = {
            key: "+".join(map(str, each)) if isinstance(each, list) else each
            for key, each in value.items()
        }
        return ",".join(f"{key}:{each}" if each else key for key, each in members.items())
    return shlex.join(map(str, value)) if isinstance(value, list) else str(value)


def _outputs(program: Program) -> Iterator[str]:
    yield f"-- {program.host}: {shlex.join(program.argv)}: {program.state}"
    for name, text in (("stdout", program.stdout), ("stderr", program.stderr)):
        yield from (f"   {name}| {line}" for line in text.splitlines()[-_LINES:])


def _sent_again(host: Host) -> Iterator[str]:
    try:
        reading = read(host.network.capture_file(host), packets=True)
    except (TcplabError, OSError) as error:
        yield f"-- {host.name}: no capture ({error})"
        return
    connections = {row["connection"]: row for row in reading.connection_table.as_rows()}
    found = [row for row in events(reading).as_rows() if row["event"] in CALLED | _BARE]
    if found:
        yield f"-- {host.name}: sent again, the last of {len(found)} segments:"
    for row in found[-_LINES:]:
        of, event = connections[row["connection"]], row["event"]
        ends = [fmt.end(of[f"host_{end}"], of[f"port_{end}"]) for end in "ab"]
        way = " to ".join(ends if row["forward"] else ends[::-1])
        what = _BARE.get(event) or f"{row['payload']} bytes {CALLED[event]}"
        text = f"packet {row['number']}: {what}, {way}"
        yield _at(row["time"] - host.network.begun_ns, text)


SEED = "seed"  # the file with the seed of a failed test


if TYPE_CHECKING:
    _AsNetwork = Network
else:
    _AsNetwork = object


class NetworkFixture(_AsNetwork):
    """A network that is not started yet, and then stands for the one that is.

    Files stay in .tcplab/TEST if the test fails. `aloud` is a context for what a user waits for.
    """

    def __init__(
        self, usual: Mapping[str, Any], kept: Path, seed: int, aloud: start.Aloud = nullcontext
    ) -> None:
        self.network: Network | None = None
        self.seed, self.has_failed = seed, False
        self._usual, self._kept, self._aloud = usual, kept, aloud
        self._stack, self._running = ExitStack(), ExitStack()
        self._place = self._scratch = Path()

    def __enter__(self) -> NetworkFixture:
        shutil.rmtree(self._kept, ignore_errors=True)
        self._scratch = self._stack.enter_context(scratch())
        self._place = self._scratch / "run"
        return self

    def __exit__(self, *_error: object) -> None:
        with self._stack:
            self._running.close()
            if self.has_failed:
                self._keep()

    def two_hosts(self, **settings: Unpack[NetworkWords]) -> tuple[Host, Host]:
        options, link = start.options_and_link(settings)
        network = self.build(two_hosts(channel(**link)), **options)
        return network.h1, network.h2

    def build(self, topology: TopologySpec, **options: Unpack[OptionWords]) -> Network:
        if self.network:
            raise running_already()
        chosen = start.NetworkOptions(**{**self._usual, **options})
        self.network = self._running.enter_context(
            start.started(topology, self.seed, self._place, chosen, self._aloud)
        )
        return self.network

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or self.network is None:
            raise AttributeError(f"There is no {name}: call two_hosts() or build() first.")
        return getattr(self.network, name)

    def again(self) -> None:
        self._running.close()
        self._place, self.network = self._scratch / start.AGAIN, None

    def differences(self, first: Network) -> list[str]:
        self._running.close()
        if self.network is None:
            return ["A network was started once only."]
        return start.differences(first, self.network)

    def _keep(self) -> None:
        shutil.copytree(self._scratch, self._kept, dirs_exist_ok=True)
        (self._kept / SEED).write_text(f"{self.seed}\n")
        programs = self.network.programs.values() if self.network else ()
        for number, program in enumerate(programs, 1):
            name = f"{number}. {program.host}: {' '.join(program.argv)}"
            text = f"{name}\n{program.stdout}{program.stderr}"
            (self._kept / f"program-{number}.log").write_text(text)

    @property
    def story(self) -> str:
        return story(self.network) if self.network else "No network was started."

    @property
    def properties(self) -> list[tuple[str, object]]:
        more = [("virtual_seconds", round(self.network.now, 6))] if self.network else []
        return [("tcplab_seed", self.seed), *more]
