"""One link and one to four TCP flows over it, with all settings: the experiment of the live
page.
"""

import dataclasses
from dataclasses import dataclass
from typing import Any

from experiments.spec import (
    Condition,
    ExperimentSpec,
    Flow,
    LinkChange,
    LinkParameters,
    Proof,
    parameter,
    sack,
    word,
)
from experiments.study.parameters import require_choice, spec_of
from topologies.disciplines import discipline, disciplines
from topologies.errors import UsageError
from topologies.shapes import two_hosts
from topologies.spec import Channel
from topologies.units import Duration, Packets, Quantity, Rate, Share

MOST_FLOWS = 4
SAMPLING = Duration.parse("20ms")
FIRST_PORT = 5001
_CHANGEABLE: dict[str, tuple[str, type[Quantity]]] = {
    "bw": ("bandwidth", Rate),
    "delay": ("delay", Duration),
    "loss": ("loss", Share),
    "jitter": ("jitter", Duration),
}


@dataclass(frozen=True)
class PlaygroundParameters(LinkParameters):
    bw: Rate = parameter("10mbit", Rate, "Rate of the link, each way.")
    delay: Duration = parameter("20ms", Duration, "Delay of the link, each way.")
    loss: Share = parameter("0%", Share, "Packets that the link loses at random, each way.")
    queue: Packets = parameter("33", Packets, "Packets that can wait for the link, each way.")
    duration: Duration = parameter("10s", Duration, "How long the first sender sends.")
    discipline: str = word(
        "fifo", "What decides which waiting packet is next, or dropped.", tuple(disciplines())
    )
    flows: str = word(
        "cubic", "Congestion controls of one to four flows, with their starts: cubic+bbr@2s."
    )
    sack: str = word("on", "Whether hosts offer selective acknowledgement: on or off.")
    ecn: str = word("off", "Whether hosts negotiate explicit congestion notification: on, off.")

    change: str = word("", "How the link changes, and when: '5s bw=2mbit delay=100ms loss=1%'.")

    def __post_init__(self) -> None:
        discipline(self.discipline)
        require_choice("sack", self.sack, ("on", "off"))
        require_choice("ecn", self.ecn, ("on", "off"))

    def channel(self) -> Channel:
        return Channel(self.bw, self.delay, self.loss, self.jitter, self.queue, self.discipline)


def experiment(parameters: PlaygroundParameters) -> ExperimentSpec:
    """Send all flows from h1 to h2; they end together."""
    return spec_of(
        __name__,
        two_hosts(parameters.channel()),
        flows_from(parameters.flows, parameters.duration),
        (_condition(parameters),),
        captures=("h1-eth0", "h2-eth0"),
        sampling=SAMPLING,
        told_later=True,
        changes=changes_from(parameters.change, parameters.channel(), parameters.duration),
    )


def changes_from(text: str, channel: Channel, duration: Duration) -> tuple[LinkChange, ...]:
    """Return changes of both ways: 5s bw=2mbit changes the rate after 5 s. Raises UsageError."""
    when, *settings = text.split() or [""]
    if not when:
        return ()
    at, changed = Duration.parse(when), dict[str, Any]()
    if at >= duration or not settings:
        problem = f"'{text[:60]}' changes no link within {duration}."
        raise UsageError(problem, "Write '5s bw=2mbit loss=1%'.")
    for setting in settings:
        name, _, value = setting.partition("=")
        if name not in _CHANGEABLE:
            problem = f"'{setting[:40]}' is no change of a link."
            raise UsageError(problem, f"There are {', '.join(_CHANGEABLE)}.")
        field, kind = _CHANGEABLE[name]
        changed[field] = kind.parse(value)
    new = dataclasses.replace(channel, **changed)
    return tuple(LinkChange(at, port, new) for port in ("s1-eth1", "s1-eth2"))


def flows_from(text: str, duration: Duration) -> tuple[Flow, ...]:
    """Return the flows of a text: in cubic+bbr@2s the second starts at 2 s. Raises UsageError."""
    parts = text.split("+")
    if len(parts) > MOST_FLOWS:
        problem = f"{len(parts)} flows are more than the {MOST_FLOWS} that are told apart."
        raise UsageError(problem, "Name fewer, joined by +.")
    flows = []
    for number, part in enumerate(parts, 1):
        algorithm, _, late = part.strip().partition("@")
        start = Duration.parse(late) if late else Duration(0)
        if not algorithm:
            raise UsageError(f"Flow {number} has no congestion control.", "Write cubic+bbr@2s.")
        if start.seconds > duration.seconds - 1:
            problem = f"Flow {number} starts after {start}, and all end after {duration}."
            raise UsageError(problem, "Let it start a second before the end or earlier.")
        flow = Flow(f"flow{number}", "h1", "h2", duration - start, port=FIRST_PORT + number - 1)
        flows.append(dataclasses.replace(flow, start=start, congestion_control=algorithm))
    return tuple(flows)


def _condition(parameters: PlaygroundParameters) -> Condition:
    settings = sack(on=parameters.sack == "on")
    ecn = ("net.ipv4.tcp_ecn", "1" if parameters.ecn == "on" else "0")
    proof = Proof("sack_permitted", parameters.sack)
    return Condition("as_set", "As set", (*settings.sysctls, ecn), (proof,))
