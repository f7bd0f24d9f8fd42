"""Fields of the link, by names such as link.discipline and link.target, for every study.

The link is the slowest channel on the way of each flow, there and back. Traces have the format of
Mahimahi's mm-link: a line is a time (ms) at which 1500 bytes of IP may leave, the last one the
length. The link gets a rate for each 100 ms; without an opportunity one packet ends the outage. A
line of a file of delays is a time and the delay from then on, such as 2s 80ms.
"""

import dataclasses
import typing
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from operator import attrgetter
from pathlib import Path
from typing import Any

from experiments.spec import ExperimentSpec, LinkChange
from topologies.data import from_data
from topologies.disciplines import discipline, disciplines
from topologies.disciplines.base import Discipline
from topologies.errors import UsageError, close_to
from topologies.spec import SLOWEST, Channel, Port
from topologies.units import TIMES, Duration, Rate

PACKAGED = ("slow_sine", "on_off")
"""Traces that come with tcplab; tests/unit/test_traces.py has their formulas."""
BIN = 100  # ms
_FRAME = 8 * 1514  # bits of an opportunity on Ethernet
_MOST_BINS = 10_000
_LONGEST_STAMP = 12  # digits
_MOST_BYTES = 20_000_000


@dataclass(frozen=True)
class LinkTrace:
    """The times of all opportunities, in milliseconds, in their order."""

    stamps: tuple[int, ...]

    @property
    def mean(self) -> Rate:
        """The rate in the long run."""
        return _rate(len(self.stamps), self.stamps[-1])

    def opportunities(self, until: int) -> int:
        """Count those up to a time, with the repetitions of the trace."""
        repeated, rest = divmod(until, self.stamps[-1])
        return repeated * len(self.stamps) + bisect_right(self.stamps, rest)

    def rates(self, bins: int) -> list[Rate]:
        """Return the rate of each bin; in an outage one that lets a packet end with it."""
        counted = [0, *(self.opportunities(BIN * number) for number in range(1, bins + 1))]
        rates, outage = [], 0
        for before, after in reversed(list(pairwise(counted))):
            outage = 0 if after > before else outage + 1
            rates.append(_rate(max(1, after - before), BIN * max(1, outage)))
        return rates[::-1]


def _rate(packets: int, milliseconds: int) -> Rate:
    """Return the rate in whole bytes a second, as the kernel has it."""
    return max(SLOWEST, Rate(1000 * _FRAME * packets // milliseconds // 8 * 8))


def read_trace(name: str) -> LinkTrace:
    """Read a packaged trace or a file. Raises UsageError."""
    file = Path(__file__).with_name(f"{name}.txt") if name in PACKAGED else Path(name)
    shown = name[-80:]
    remedy = f"Name a file of Mahimahi, or {' or '.join(PACKAGED)}."
    lines = _lines_of(file, f"Trace {shown}", remedy)
    stamps: list[int] = []
    for number, line in enumerate(lines, 1):
        stamps.append(_stamp(line.strip(), stamps[-1] if stamps else 0, f"{shown}:{number}"))
    if not stamps or not stamps[-1]:
        problem = f"Trace {shown} has no time above 0."
        raise UsageError(problem, "Its last line is its length: 1000.")
    return LinkTrace(tuple(stamps))


def _stamp(text: str, before: int, where: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) <= _LONGEST_STAMP):
        problem = f"{where}: '{text[:20]}' is no time in whole milliseconds."
        raise UsageError(problem, "Write one time a line, such as 20.")
    if int(text) < before:
        raise UsageError(f"{where}: {text} comes after {before}.", "Sort the times.")
    return int(text)


def _lines_of(file: Path, name: str, remedy: str) -> list[str]:
    """Return the lines of a user's file. Raises UsageError for a missing or a huge one."""
    try:
        with file.open("rb") as opened:
            text = opened.read(_MOST_BYTES + 1)
    except OSError as error:
        raise UsageError(f"{name}: {error.strerror}.", remedy) from None
    if len(text) > _MOST_BYTES:
        raise UsageError(f"{name}: over {_MOST_BYTES:,} bytes.", "Shorten it.")
    return text.decode(errors="replace").splitlines()


def read_delays(file: Path | str) -> tuple[tuple[Duration, Duration], ...]:
    """Return times, which increase, and delays. Text behind # is a comment. Raises UsageError."""
    shown = str(file)[-80:]
    lines = _lines_of(Path(file), f"Delays {shown}", "Name a file.")
    words = ((line.partition("#")[0].split(), number) for number, line in enumerate(lines, 1))
    rows = tuple(_row(each, f"{shown}:{number}") for each, number in words if each)
    for (before, _), (time, _) in pairwise(rows):
        if time <= before:
            raise UsageError(f"{shown}: {time} comes after {before}.", "Sort the times.")
    if not rows:
        raise UsageError(f"Delays {shown} have no line.", "Write one such as 0s 40ms.")
    return rows


def _row(words: list[str], where: str) -> tuple[Duration, Duration]:
    if len(words) != 2:
        problem = f"{where}: '{' '.join(words)[:40]}' is no time and delay."
        raise UsageError(problem, "Write one line such as 2s 80ms.")
    try:
        return Duration.parse(words[0]), Duration.parse(words[1])
    except UsageError as error:
        raise UsageError(f"{where}: {error.problem}", error.remedy) from None


def with_trace(spec: ExperimentSpec, name: str, back: bool = False) -> ExperimentSpec:
    """Return the spec whose slowest links towards receivers, or `back`, follow a trace's rates."""
    trace = read_trace(name)
    end = max(flow.end for flow in spec.flows)
    bins = -(-end.base // (BIN * TIMES["ms"]))
    if bins > _MOST_BINS:
        problem = f"A trace for {end} changes the link too often."
        raise UsageError(problem, f"Let all flows end within {_at(_MOST_BINS)}.")
    traced = _slowest_ports(spec, back)
    rates = [*trace.rates(bins), trace.mean]
    pairs = pairwise((None, *rates))
    starts = [number for number, (before, rate) in enumerate(pairs) if rate != before]
    changes = (
        LinkChange(_at(number), name, replace(channel, bandwidth=rates[number]))
        for name, channel in traced.items()
        for number in starts
    )

    def mean(port: Port, channel: Channel) -> Channel:
        return replace(channel, bandwidth=trace.mean) if port.name in traced else channel

    topology = spec.topology.with_channels(mean)
    return replace(spec, topology=topology, changes=(*spec.changes, *changes))


def _at(number: int) -> Duration:
    return Duration(number * BIN * TIMES["ms"])


def with_delays(spec: ExperimentSpec, name: str) -> ExperimentSpec:
    """Return the spec whose slowest links, both ways, have delays of a file. Raises UsageError."""
    ports = _slowest_ports(spec, False) | _slowest_ports(spec, True)
    changes = (
        LinkChange(time, port, replace(ports[port], delay=delay))
        for port in sorted(ports)
        for time, delay in read_delays(name)
    )
    return replace(spec, changes=(*spec.changes, *changes))


def _slowest_ports(spec: ExperimentSpec, back: bool) -> dict[str, Channel]:
    """Return the ports that follow a file. Raises UsageError for one that changes already."""
    found = {}
    for flow in spec.flows:
        way = (flow.receiver, flow.sender) if back else (flow.sender, flow.receiver)
        slowest = spec.topology.bottleneck(*way)
        path = spec.topology.path(*way)
        found[next(port.name for port in path if port.channel == slowest)] = slowest
    if fixed := found.keys() & {change.port for change in spec.changes}:
        problem = f"{min(fixed)} changes already, and is to follow a file."
        raise UsageError(problem, "Leave out one of both.")
    return dict(sorted(found.items()))


PREFIX = "link."
_DIGITS = 6  # digits of a share that tc prints
DISCIPLINE = "link.discipline"
_HINTS = typing.get_type_hints(Channel)
_RATES = f"a trace of Mahimahi, or {' or '.join(PACKAGED)}."
_FILES: dict[str, tuple[str, Callable[[ExperimentSpec, str], ExperimentSpec]]] = {
    "trace": (f"Rates over time: {_RATES}", with_trace),
    "back_trace": (f"Rates over time of the way back: {_RATES}", partial(with_trace, back=True)),
    "delay_file": ("Delays over time, both ways: a file with lines such as 2s 80ms.", with_delays),
}
_FIELDS = {field.name for field in dataclasses.fields(Channel)} - {"settings"} | {*_FILES}


def meant(name: str) -> tuple[type, str]:
    """Return the type of a field of the link, and a sentence about it. Raises UsageError."""
    field = name.removeprefix(PREFIX)
    if field in _FILES:
        return str, _FILES[field][0]
    if field in _FIELDS:
        return _HINTS[field], f"Field of the link: {field}."
    named = [(one, each) for one in disciplines().values() for each in one.parameters]
    found = [each for one, each in named if each.name == _own(field, one)]
    if not found:
        names = [*sorted(_FIELDS), *sorted({each.name for _, each in named})]
        problem = f"The link has no field '{field[:60]}'."
        raise UsageError(problem, f"{close_to(field, names)}Its fields are {', '.join(names)}.")
    kinds = {each.kind for each in found}
    return (kinds.pop() if len(kinds) == 1 else str), found[0].meaning


def _own(field: str, managed: Discipline) -> str:
    """Return the name of a parameter of the discipline, which may be in front: cake.bandwidth."""
    return field.removeprefix(f"{managed.name}.")


def with_link(spec: ExperimentSpec, chosen: Mapping[str, str], lenient: bool) -> ExperimentSpec:
    """Return the spec with these fields of its link. Raises UsageError unless `lenient`."""
    fields = {name.removeprefix(PREFIX): value for name, value in chosen.items()}
    files = {name: fields.pop(name) for name in _FILES if name in fields}
    for name, field in (("trace", "bandwidth"), ("delay_file", "delay")):
        if files.get(name) and field in fields:
            raise UsageError(f"A link has a {name} and a {field}.", "Leave out one of both.")
    own = {name: from_data(_HINTS[name], fields[name]) for name in fields if name in _FIELDS}
    given = {name: value for name, value in fields.items() if name not in _FIELDS}
    changed = partial(_changed, own=own, given=given, lenient=lenient)
    shaped = {channel: changed(channel) for channel in bottlenecks(spec)}
    made = _mapped(spec, lambda _, channel: shaped.get(channel, channel), changed)
    for name, file in files.items():
        made = _FILES[name][1](made, file) if file else made
    return made


def _changed(
    channel: Channel, own: Mapping[str, Any], given: Mapping[str, str], lenient: bool
) -> Channel:
    managed = discipline(own.get("discipline", channel.discipline))
    names = {each.name for each in managed.parameters}
    kept = dict(channel.settings) if managed.name == channel.discipline else {}
    own_given = {_own(name, managed): value for name, value in given.items()}
    wanted = {name: value for name, value in own_given.items() if name in names or not lenient}
    for name in wanted:
        _require_parameter(managed, name)
    return replace(channel, **own, settings=tuple((kept | wanted).items()))


def refuse_what_tc_rounds(spec: ExperimentSpec) -> None:
    """Raise UsageError for a share of losses whose digits could not be read back."""
    for channel in (port.channel for port in spec.topology.ports if port.channel):
        model = channel.bursts
        for share in (channel.loss, *((model.p, model.r, model.bad, model.good) if model else ())):
            if len(str(share).rstrip("%").replace(".", "").strip("0")) > _DIGITS:
                problem = f"A loss of {share} has more digits than tc shows."
                raise UsageError(problem, f"Write at most {_DIGITS} digits, such as 0.252525%.")


def held(spec: ExperimentSpec) -> tuple[ExperimentSpec, tuple[str, ...]]:
    """Return the spec with links as the kernel holds them, and a sentence for each that differs."""
    ends = [port.channel for port in spec.topology.ports if port.channel]
    ends += [change.channel for change in spec.changes]
    sentences = dict.fromkeys(_rounding(end, end.held) for end in ends if end.held != end)
    if sentences:
        spec = _mapped(spec, lambda _, channel: channel.held, attrgetter("held"))
    return spec, tuple(sentences)


def _mapped(
    spec: ExperimentSpec,
    of_links: Callable[[Port, Channel], Channel],
    of_changes: Callable[[Channel], Channel],
) -> ExperimentSpec:
    changes = tuple(replace(each, channel=of_changes(each.channel)) for each in spec.changes)
    return replace(spec, topology=spec.topology.with_channels(of_links), changes=changes)


def _rounding(asked: Channel, held: Channel) -> str:
    pairs = [("rate", str(asked.bandwidth), str(held.bandwidth))]
    pairs += [(name, text, dict(held.settings)[name]) for name, text in asked.settings]
    differing = [f"a {name} of {one} is {other}" for name, one, other in pairs if one != other]
    return f"The kernel's steps are coarser: {' and '.join(differing)}."


def bottlenecks(spec: ExperimentSpec) -> set[Channel]:
    """Return the slowest channel on the way of each flow, there and back."""
    ends = [(flow.sender, flow.receiver) for flow in spec.flows]
    ways = [way for pair in ends for way in (pair, pair[::-1])]
    return {spec.topology.bottleneck(*way) for way in ways}


def lacks_any(spec: ExperimentSpec, chosen: Iterable[str]) -> bool:
    """Return whether the link's discipline lacks one of these fields."""
    given = {name.removeprefix(PREFIX) for name in chosen} - _FIELDS
    return any(
        _own(field, discipline(each.discipline)) not in dict(each.settings)
        for each in bottlenecks(spec)
        for field in given
    )


def refuse_parameters_of_none(spec: ExperimentSpec, levels: Mapping[str, Sequence[str]]) -> None:
    """Raise UsageError for a parameter that no discipline of a sweep, by its `levels`, has."""
    named = levels.get(DISCIPLINE) or {channel.discipline for channel in bottlenecks(spec)}
    managed = [discipline(each) for each in named]
    fields = {name.removeprefix(PREFIX) for name in levels if name.startswith(PREFIX)} - _FIELDS
    for field in sorted(fields):
        names = {each.name: [one.name for one in each.parameters] for each in managed}
        if not any(_own(field, each) in names[each.name] for each in managed):
            _require_parameter(managed[0], _own(field, managed[0]))


def _require_parameter(managed: Discipline, name: str) -> None:
    """Raise UsageError for a parameter that the discipline lacks."""
    if not managed.parameters:
        remedy = "Set a discipline with parameters too, such as --set link.discipline=fq_codel."
        raise UsageError(f"{managed.name} has no parameter '{name[:40]}'.", remedy)
    managed.parameter(name)
