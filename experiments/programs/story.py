"""What happened in a network, for the message of a failed test."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from itertools import zip_longest

from analysis.analyze import short_numbers
from analysis.analyze.facts import CALLED
from analysis.flows.events import events
from analysis.flows.reader import read
from experiments.programs.network import Host, Network, Step
from experiments.programs.program import SECOND, Program
from topologies.foundation.errors import TcplabError
from topologies.foundation.units import Duration

_LINES = 12  # of each program's output, and of each host's retransmissions
_QUIET = ("environment", "input", "user", "group")
_TIMES = ("timeout", "at", "lasts")
_BARE = {"syn": "SYN", "fin": "FIN"}


def story(network: Network) -> str:
    """Return the orders with their times, what each program printed last, and what hosts resent."""
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
    yield from (f"{wait}." for wait in network.waits)
    for reason in network.doubts:
        yield f"May not repeat: {reason}."


def _at(nanoseconds: int, text: str) -> str:
    return f"{nanoseconds / SECOND:12.6f}  {text}"


def _goes_on(step: Step, after: Step | None) -> bool:
    """Return whether the next order goes on with the same wait."""
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
        return ",".join(f"{key}:{each}" for key, each in value.items())
    if isinstance(value, list):
        return shlex.join(map(str, value))
    return str(value)


def _outputs(program: Program) -> Iterator[str]:
    end = "runs" if program.status is None else f"status {program.status} at {program.ended} s"
    yield f"-- {program.host}: {shlex.join(program.argv)}: {end}"
    for name, text in (("stdout", program.stdout), ("stderr", program.stderr)):
        yield from (f"   {name}| {line}" for line in text.splitlines()[-_LINES:])


def _sent_again(host: Host) -> Iterator[str]:
    """Yield the last segments that a host sent again, by its own capture."""
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
        way = [short_numbers.end(of[f"host_{end}"], of[f"port_{end}"]) for end in "ab"]
        sender, receiver = way if row["forward"] else way[::-1]
        event = row["event"]
        what = _BARE.get(event) or f"{row['payload']} bytes {CALLED[event]}"
        text = f"packet {row['number']}: {what}, {sender} to {receiver}"
        yield _at(row["time"] - host.network.begun_ns, text)
