"""The fixture `network` of tests, whose files stay if a test fails, and the story of a failure."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, nullcontext
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from analysis import fmt
from analysis.analyze.facts import CALLED
from analysis.flows.events import events
from analysis.flows.reader import read
from experiments.programs.links import channel
from experiments.programs.network import Host, Network, Step, running_already
from experiments.programs.program import SECOND, Program
from experiments.programs.start import (
    AGAIN,
    Aloud,
    NetworkOptions,
    differences,
    options_and_link,
    started,
)
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
    for step, after in zip_longest(network.steps, network.steps[1:]):
        if not _goes_on(step, after):
            yield _at(step.now_ns, _order(step))
    for program in network.programs.values():
        yield from _outputs(program)
    for host in network.hosts:
        yield from _sent_again(host)
    if network.over:
        yield network.over
    if network.unrepeatable:
        yield f"Not repeatable: {network.unrepeatable}."
    yield from (f"{sentence}." for sentence in (*network.waits, *network.notes))
    for reason in network.doubts:
        yield f"May not repeat: {reason}."


def _at(nanoseconds: int, text: str) -> str:
    return f"{nanoseconds / SECOND:12.6f}  {text}"


def _goes_on(step: Step, after: Step | None) -> bool:
    if after is None or not step.do == after.do == "wait":
        return False
    return bool(step.arguments["program"] == after.arguments["program"])


def _order(step: Step) -> str:
    words = (
        f"{name}={_word(name, value)}"
        for name, value in step.arguments.items()
        if name not in _QUIET and value is not None
    )
    return " ".join([step.do, *words])


def _word(name: str, value: object) -> str:
    if name in _TIMES and isinstance(value, int):
        return str(Duration(value))
    if isinstance(value, dict):
        return ",".join(_member(name, each) for name, each in value.items())
    if isinstance(value, list):
        return shlex.join(map(str, value))
    return str(value)


def _member(name: str, value: object) -> str:
    if isinstance(value, list):
        value = "+".join(map(str, value))
    return f"{name}:{value}" if value else name


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
    ends = {row["connection"]: row for row in reading.connection_table.as_rows()}
    found = [row for row in events(reading).as_rows() if row["event"] in CALLED | _BARE]
    if found:
        yield f"-- {host.name}: sent again, the last of {len(found)} segments:"
    for row in found[-_LINES:]:
        of = ends[row["connection"]]
        way = [fmt.end(of[f"host_{end}"], of[f"port_{end}"]) for end in "ab"]
        sender, receiver = way if row["forward"] else way[::-1]
        event = row["event"]
        what = _BARE.get(event) or f"{row['payload']} bytes {CALLED[event]}"
        text = f"packet {row['number']}: {what}, {sender} to {receiver}"
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
        self, usual: Mapping[str, Any], kept: Path, seed: int, aloud: Aloud = nullcontext
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
        options, link = options_and_link(settings)
        network = self.build(two_hosts(channel(**link)), **options)
        return network.h1, network.h2

    def build(self, topology: TopologySpec, **options: Unpack[OptionWords]) -> Network:
        if self.network:
            raise running_already()
        chosen = NetworkOptions(**{**self._usual, **options})
        self.network = self._running.enter_context(
            started(topology, self.seed, self._place, chosen, self._aloud)
        )
        return self.network

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or self.network is None:
            raise AttributeError(f"There is no {name}: call two_hosts() or build() first.")
        return getattr(self.network, name)

    def again(self) -> None:
        self._running.close()
        self._place, self.network = self._scratch / AGAIN, None

    def differences(self, first: Network) -> list[str]:
        self._running.close()
        if self.network is None:
            return ["A network was started once only."]
        return differences(first, self.network)

    def _outputs(self) -> dict[str, str]:
        programs = self.network.programs.values() if self.network else ()
        return {
            f"{number}. {program.host}: {' '.join(program.argv)}": program.stdout + program.stderr
            for number, program in enumerate(programs, 1)
        }

    def _keep(self) -> None:
        shutil.copytree(self._scratch, self._kept, dirs_exist_ok=True)
        (self._kept / SEED).write_text(f"{self.seed}\n")
        for name, text in self._outputs().items():
            (self._kept / f"program-{name.partition('.')[0]}.log").write_text(f"{name}\n{text}")

    @property
    def story(self) -> str:
        return story(self.network) if self.network else "No network was started."

    @property
    def properties(self) -> list[tuple[str, object]]:
        if not self.network:
            return [("tcplab_seed", self.seed)]
        return [("tcplab_seed", self.seed), ("virtual_seconds", round(self.network.now, 6))]
