"""What happened in a network, for the message of a failed test."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from itertools import zip_longest

from experiments.programs.network import Network, Step
from experiments.programs.program import SECOND

_LINES = 12  # of each program's output
_QUIET = ("environment", "input", "user", "group")


def story(network: Network) -> str:
    """Return the orders with their virtual times, and what each program printed last."""
    return "\n".join(_lines(network))


def _lines(network: Network) -> Iterator[str]:
    yield f"seed {network.seed}, virtual time {network.now:.6f} s, files in {network.out}"
    for step, after in zip_longest(network.steps, network.steps[1:]):
        if _goes_on(step, after):
            continue
        yield f"{step.now_ns / SECOND:12.6f}  {_order(step)}"
    for program in network.programs.values():
        end = "runs" if program.status is None else f"status {program.status} at {program.ended} s"
        yield f"-- {program.host}: {shlex.join(program.argv)}: {end}"
        for name, text in (("stdout", program.stdout), ("stderr", program.stderr)):
            yield from (f"   {name}| {line}" for line in text.splitlines()[-_LINES:])
    if network.over:
        yield network.over
    if network.unrepeatable:
        yield f"Not repeatable: {network.unrepeatable}."


def _goes_on(step: Step, after: Step | None) -> bool:
    """Return whether the next order goes on with the same wait."""
    if after is None or not step.do == after.do == "wait":
        return False
    return bool(step.arguments["program"] == after.arguments["program"])


def _order(step: Step) -> str:
    words = (
        f"{name}={shlex.join(value) if name == 'argv' else value}"
        for name, value in step.arguments.items()
        if name not in _QUIET and value is not None
    )
    return " ".join([step.do, *words])
