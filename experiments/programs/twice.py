"""Programs that run twice with the same seed, and the first packets and lines that differ."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
from itertools import takewhile, zip_longest
from pathlib import Path
from typing import Any

from experiments.harness.running.verify import Difference
from experiments.harness.running.verify import differences as captures_that_differ
from experiments.programs.network import Network
from experiments.programs.program import Program
from experiments.programs.start import network
from testbed.host.scratch import scratch
from topologies.foundation.errors import UsageError
from topologies.topology_spec import TopologySpec

AGAIN = "again"
"""The folder of the second run's captures, in that of the first."""
_SHOWN, _BEFORE = 80, 20  # characters of a line, and of these before the first that differs


def twice(
    work: Callable[[Network], object],
    topology: TopologySpec | None = None,
    *,
    out: Path | str | None = None,
    **settings: Any,
) -> list[str]:
    """Do `work` in two networks with the same seed, and return the differences as sentences.

    The list is empty if captures, output and exit statuses are equal. The second captures are in
    the folder `again` of `out`. Other settings are those of `tcplab.network`. Raises TcplabError.
    """
    require_virtual(settings.get("cpu"))
    with ExitStack() as stack:
        place = Path(out) if out else stack.enter_context(scratch())
        return compared(work, lambda folder: network(topology, out=folder, **settings), place)


def require_virtual(cpu: object) -> None:
    """Raise UsageError for a network in which computing takes this computer's time."""
    if cpu == "host":
        raise UsageError(
            'With cpu="host" computing takes this computer\'s time, so no run repeats another.',
            "Leave it out to run twice.",
        )


def compared(
    work: Callable[[Network], object],
    start: Callable[[Path], AbstractContextManager[Network]],
    out: Path,
) -> list[str]:
    """Do `work` in two networks that `start` provides, and return the differences."""
    ended = []
    for place in (out, out / AGAIN):
        with start(place) as running:
            work(running)
        ended.append(running)
    return differences(*ended)


def differences(first: Network, second: Network) -> list[str]:
    """Return the first packet of each capture and the first line of each output that differ.

    Both networks have ended. The earliest packet comes first.
    """
    names = sorted(file.name for file in first.out.glob("*.pcap"))
    rows = captures_that_differ(str(first.out), str(second.out), names)
    captures = sorted((Difference(**row) for row in rows), key=lambda each: each.seconds)
    pairs = zip_longest(first.programs.values(), second.programs.values())
    printed = [f"{text}." for one, other in pairs for text in _of_program(one, other)]
    return [f"{capture.sentence}." for capture in captures] + printed


def _of_program(one: Program | None, other: Program | None) -> Iterator[str]:
    program = one or other
    assert program is not None
    name = f"{program.number + 1}. {program.host}: {shlex.join(program.argv)}"
    if one is None or other is None:
        yield f"{name}: it was started once only"
        return
    for stream in one.printed:
        before, now = bytes(one.printed[stream]), bytes(other.printed[stream])
        if before != now:
            yield f"{name}: {_first_line(stream, before, now)}"
    if one.status != other.status:
        yield f"{name}: the exit status was {one.status} and is {other.status}"


def _first_line(stream: str, before: bytes, now: bytes) -> str:
    one, other = (text.decode(errors="surrogateescape") for text in (before, now))
    pairs = enumerate(zip_longest(one.split("\n"), other.split("\n")), 1)
    number, lines = next((number, lines) for number, lines in pairs if lines[0] != lines[1])
    characters = zip(*(line or "" for line in lines), strict=False)
    alike = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], characters))
    begin = max(0, alike - _BEFORE)
    was, now_is = ("absent" if line is None else repr(line[begin:][:_SHOWN]) for line in lines)
    return f"line {number} of {stream} was {was} and is {now_is}"
