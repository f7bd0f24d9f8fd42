"""Parameters that several studies share, and checks of their values.

Connections that start late end with the others. A SYN that is lost, or that a server with a short
backlog refuses, is sent again after a time-out: after 3, 9 and 21 s if the first lasts 3 s (RFC
2988, section 2; TCP_TIMEOUT_INIT in include/net/tcp.h of Linux before 3.1).
"""

import itertools
import re
import sys
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from experiments.spec import (
    Condition,
    Draw,
    ExperimentSpec,
    Flow,
    Headline,
    LinkParameters,
    Subject,
    claim_of,
    parameter,
    words,
)
from topologies.errors import UsageError
from topologies.notation import toml_file
from topologies.shapes import two_hosts
from topologies.spec import TopologySpec
from topologies.units import Count, Duration, Share

NONE = "none"
MEANING = "Connections that begin late and end with the others, such as 16x3s, or 9x9s+13x6s; none."
_GROUP = re.compile(r"(\d{1,4})x(.+)")


@dataclass(frozen=True)
class DrawnPhases:
    """Parameters of flows that share a bottleneck: when they start and how steadily hosts work.

    Without draws, such flows lock into phases, and every seed repeats the same trajectory (Floyd
    and Jacobson, On traffic phase effects in packet-switched gateways, 1992).
    """

    spread: Duration = parameter(
        "1s",
        Duration,
        "Several flows start at times drawn by the seed, within this time: a round trip or more.",
    )
    processing: Share = parameter(
        "90%",
        Share,
        "With several flows, up to this share of a packet's time on the link is added to the delay"
        " of each packet, drawn by the seed.",
    )

    def with_phases(self, spec: ExperimentSpec) -> ExperimentSpec:
        """Return the spec with draws, if several flows share its network."""
        if len(spec.flows) < 2:
            return spec
        topology = spec.topology.with_channels(
            lambda _, channel: replace(channel, processing=self.processing)
        )
        starts = (Draw("flows.*.start", str(self.spread)),) if self.spread.base else ()
        return replace(spec, topology=topology, draws=starts)


def late_starts(text: str, streams: int, duration: Duration) -> tuple[Duration, ...]:
    """Return the start of each connection: those in `text`, others 0. Raises UsageError."""
    starts = list(itertools.chain.from_iterable(map(_group, words(text) if text != NONE else ())))
    if len(starts) > streams:
        problem = f"{len(starts)} of {streams} connections cannot be late."
        raise UsageError(problem, "Name at most all of them.")
    if late := [start for start in starts if start.seconds > duration.seconds - 1]:
        problem = f"A connection that begins after {max(late)} has no time left of {duration}."
        raise UsageError(problem, "Let it begin a second before the end or earlier.")
    return (*starts, *[Duration(0)] * (streams - len(starts)))


def _group(text: str) -> list[Duration]:
    match = _GROUP.fullmatch(text)
    if match is None:
        raise UsageError(f"'{text[:40]}' names no late connections.", "Write it like 16x3s.")
    return [Duration.parse(match[2])] * int(match[1])


def late_flows(flow: Flow, late: str, streams: Count) -> tuple[Flow, ...]:
    """Return `streams` copies of `flow`, numbered by name and port, the first ones late."""
    return tuple(
        replace(
            flow,
            name=f"{flow.name}{number}",
            port=flow.port + number - 1,
            duration=flow.duration - start,
            start=start,
        )
        for number, start in enumerate(late_starts(late, streams.base, flow.duration), 1)
    )


def spec_of(
    module: str,
    topology: TopologySpec,
    flows: Iterable[Flow],
    conditions: tuple[Condition, ...],
    headline: Headline | None = None,
    phases: DrawnPhases | None = None,
    **more: Any,
) -> ExperimentSpec:
    """Return the spec of a study with the name and claim of its module; `more` are other fields."""
    name, claim = module.rpartition(".")[2], claim_of(sys.modules[module].__doc__)
    spec = ExperimentSpec(name, claim, topology, tuple(flows), conditions, headline=headline)
    spec = replace(spec, **more)
    return phases.with_phases(spec) if phases else spec


def lone_flow(
    module: str, parameters: LinkParameters, conditions: tuple[Condition, ...], **more: Any
) -> ExperimentSpec:
    """Return a study of one flow over one link between two hosts."""
    flow = Flow("flow1", "h1", "h2", parameters.duration)
    return spec_of(module, two_hosts(parameters.channel()), (flow,), conditions, **more)


def pair_flows(
    number: int, duration: Duration, name: str = "flow", first: int = 1, **more: Any
) -> tuple[Flow, ...]:
    """Return flows between the hosts h and r of `number` pairs, counted from `first`."""
    pairs = range(first, first + number)
    return tuple(Flow(f"{name}{n}", f"h{n}", f"r{n}", duration, **more) for n in pairs)


def pair_captures(number: int) -> tuple[str, ...]:
    return tuple(f"{side}{n}-eth0" for side in "hr" for n in range(1, number + 1))


def compared_claim(
    question: str, metric: str, what: str, pair: tuple[str, str], **others: Any
) -> Headline:
    """Return the claim that a metric is larger under the first of two conditions."""
    first, second = map(Subject, pair)
    facts = {"direction": "larger", "repetitions": 6, **others}
    return Headline(question, metric, what, first, against=second, **facts)


def bounded_claim(question: str, metric: str, what: str, condition: str, **ends: Any) -> Headline:
    """Return the claim that a metric is within `low` and `high` under a condition."""
    facts = {"direction": "within", "repetitions": 6, **ends}
    return Headline(question, metric, what, Subject(condition), **facts)


def law_claim(
    file: str, metric: str, condition: str, expected: float = 1.0, **others: Any
) -> Headline:
    """Return the claim that a law makes: law.toml next to `file`, its table `claim`, `others`."""
    law = toml_file(Path(file).with_name("law.toml"))
    facts = {"direction": "within", "repetitions": 6, "question": law["question"]}
    facts |= {"what": law["what"], **law.get("claim", {}), **others}
    return Headline(metric=metric, subject=Subject(condition), expected=expected, **facts)


def settings_for(kernels: str) -> str:
    """Return the meaning of the parameter `period` of a study that was measured on `kernels`."""
    return f"The kernel's settings: today, period ({kernels}), or today+period."


def require_choice(name: str, value: str, choices: Collection[str]) -> None:
    """Raise UsageError if the value of a parameter is not one of the choices."""
    if value not in choices:
        raise UsageError(f"{name} cannot be '{value[:40]}'.", f"Choose from {', '.join(choices)}.")


def require_count(count: Count, most: int, subject: str) -> None:
    """Raise UsageError if the count is not from 1 to `most`."""
    if not 1 <= count.base <= most:
        raise UsageError(f"{subject} are not possible.", f"Choose from 1 to {most}.")
