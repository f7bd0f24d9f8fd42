"""CUBIC and Reno fill a short path alike, and on a long one CUBIC is back to full speed sooner
after a loss.
"""

from dataclasses import dataclass, replace

from experiments.spec import (
    CONGESTION_CONTROLS,
    Condition,
    ExperimentSpec,
    Flow,
    Headline,
    LinkParameters,
    congestion_control,
    parameter,
    word,
    words,
)
from experiments.study import parameters as shared
from experiments.study.kernels import LINUX_2_6, under
from topologies.errors import UsageError
from topologies.shapes import star
from topologies.spec import Channel
from topologies.units import Count, Duration, Rate, Share

PROFILE = LINUX_2_6
QUICK, FULL = {"duration": "20s"}, {"duration": "60s"}
_SHORT = Duration.parse("1ms")
"""Delay up to which a path counts as short: Reno recovers before CUBIC has grown."""
_PAIRS = (("cubic", "reno"), ("cubic_period", "reno_period"))


@dataclass(frozen=True)
class CubicVsRenoParameters(shared.DrawnPhases, LinkParameters):
    bw: Rate = parameter("100mbit", Rate, "Rate of each link, each way.")
    delay: Duration = parameter("0ms", Duration, "Delay of what the router sends to the receiver.")
    loss: Share = parameter(
        "0%", Share, "Packets lost at random on the way to the receiver; no ACK is lost."
    )
    duration: Duration = parameter("60s", Duration, "How long the sender sends.")
    cc: str = word(
        "cubic+reno", "Congestion controls to compare, joined by +.", CONGESTION_CONTROLS
    )
    sack: str = word("on", "Selective acknowledgement: on, off, or off+on.")
    streams: Count = parameter("1", Count, "Connections at once.")
    late: str = word(shared.NONE, shared.MEANING)
    beside: str = word(shared.NONE, "Congestion control of a flow from top at the same time; none.")
    period: str = word("today", shared.settings_for("for Linux 2.6"))

    def __post_init__(self) -> None:
        for algorithm in self.algorithms:
            congestion_control(algorithm)
        if not set(words(self.sack)) <= {"on", "off"}:
            raise UsageError(f"SACK cannot be '{self.sack[:40]}'.", "Write on, off, or off+on.")
        shared.require_count(self.streams, 1000, f"{self.streams} streams")

    @property
    def algorithms(self) -> list[str]:
        return words(self.cc)


def experiment(parameters: CubicVsRenoParameters) -> ExperimentSpec:
    """Send from right to left; a flow from top, if asked for, meets the others at the router."""
    second, streams = Duration.parse("1s"), parameters.streams
    flow = Flow("flow", "right", "left", parameters.duration, interval=second)
    other = replace(
        flow,
        name="beside",
        sender="top",
        port=flow.port + streams.base,
        congestion_control=parameters.beside,
        ecn="accurate" if parameters.beside == "dctcp" else "",  # left would refuse the classic one
    )
    conditions = [
        _condition(cc, sack) for cc in parameters.algorithms for sack in words(parameters.sack)
    ]
    measured = under(PROFILE, parameters.period, conditions)
    return shared.spec_of(
        __name__,
        star(parameters.channel(), Channel(parameters.bw, queue=parameters.queue)),
        (
            *shared.late_flows(flow, parameters.late, streams),
            *([other] if parameters.beside != shared.NONE else []),
        ),
        measured,
        _headline(parameters, {condition.name for condition in measured}),
        phases=parameters,
    )


def _headline(parameters: CubicVsRenoParameters, conditions: set[str]) -> Headline | None:
    """Claim equal rates on a short path and CUBIC ahead on a long one, if both are measured."""
    pair = next((pair for pair in _PAIRS if set(pair) <= conditions), None)
    if pair is None:
        return None
    short = parameters.delay <= _SHORT
    path = f"a path of {parameters.bw}, {parameters.delay} and {parameters.loss} loss"
    alike, faster = f"Do CUBIC and Reno fill {path} alike?", f"Is CUBIC faster than Reno on {path}?"
    return shared.compared_claim(
        alike if short else faster,
        "metric.total_goodput_kbit_s",
        "the goodput",
        pair,
        direction="equal" if short else "larger",
    )


def _condition(algorithm: str, sack: str) -> Condition:
    condition = congestion_control(algorithm)
    if sack == "on":
        return condition
    off = tuple((f"net.ipv4.{name}", "0") for name in ("tcp_sack", "tcp_dsack"))
    return replace(
        condition,
        name=f"{algorithm}_sack_off",
        label=f"{algorithm}, SACK off",
        sysctls=condition.sysctls + off,
    )
