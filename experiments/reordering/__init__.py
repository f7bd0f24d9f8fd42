"""Delay that varies reorders packets, and TCP takes reordering for loss until its threshold is
raised.
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
from experiments.study.kernels import LINUX_2_6, under
from experiments.study.parameters import bounded_claim, settings_for, spec_of
from topologies.errors import UsageError
from topologies.shapes import star
from topologies.spec import Channel
from topologies.units import Count, Duration, Rate, Share

PROFILE = LINUX_2_6
GRID = {"threshold": ("3", "10", "30", "100", "300", "1000", "100000", "2147483647")}
QUICK, FULL = {"duration": "20s"}, {"duration": "60s"}
_HIGHEST, _DEFAULT_HIGHEST = 2**31 - 1, 300
_RAISED = Count(100)  # from this threshold on the claim is that TCP waits
_SOME = 0.1  # percent of segments from which on TCP counts as retransmitting


@dataclass(frozen=True)
class ReorderingParameters(LinkParameters):
    bw: Rate = parameter("100mbit", Rate, "Rate of each link, each way.")
    delay: Duration = parameter(
        "100ms", Duration, "Delay of what the router sends to the receiver."
    )
    loss: Share = parameter("0%", Share, "Packets lost at random on the way to the receiver.")
    jitter: Duration = parameter("75ms", Duration, "How far that delay varies up and down.")
    duration: Duration = parameter("60s", Duration, "How long the sender sends.")
    cc: str = word(
        "cubic+reno", "Congestion controls to compare, joined by +.", CONGESTION_CONTROLS
    )
    threshold: Count = parameter(
        "3", Count, "tcp_reordering: by how many packets one may be late at first."
    )
    period: str = word("today", settings_for("for Linux 2.6"))

    def __post_init__(self) -> None:
        for algorithm in words(self.cc):
            congestion_control(algorithm)
        if not 1 <= self.threshold.base <= _HIGHEST:
            problem = f"A threshold of {self.threshold} is not possible."
            raise UsageError(problem, f"Choose from 1 to {_HIGHEST}.")


def experiment(parameters: ReorderingParameters) -> ExperimentSpec:
    """Send from right to left; only the router's port towards left has a varying delay."""
    others = Channel(parameters.bw, queue=parameters.queue)
    flow = Flow("flow1", "right", "left", parameters.duration, interval=Duration.parse("1s"))
    conditions = [_condition(algorithm, parameters.threshold) for algorithm in words(parameters.cc)]
    measured = under(PROFILE, parameters.period, conditions)
    return spec_of(
        __name__,
        star(parameters.channel(), others),
        (flow,),
        measured,
        _headline(parameters, measured[0].name),
        captures=("right-eth0", "left-eth0"),
    )


def _headline(parameters: ReorderingParameters, condition: str) -> Headline | None:
    """Claim retransmissions of late packets, none with a high threshold, if delay varies."""
    if not parameters.jitter.base or parameters.loss.base:
        return None
    raised = parameters.threshold >= _RAISED
    return bounded_claim(
        f"Does a threshold of {parameters.threshold} keep TCP from retransmitting late packets?"
        if raised
        else f"Does TCP retransmit late packets when the delay varies by {parameters.jitter}?",
        "metric.resent_percent",
        "the share of segments retransmitted",
        condition,
        **{"high" if raised else "low": _SOME},
    )


def _condition(algorithm: str, threshold: Count) -> Condition:
    raised = (("net.ipv4.tcp_max_reordering", str(threshold)),)
    highest = raised if threshold.base > _DEFAULT_HIGHEST else ()
    condition = congestion_control(algorithm)
    return replace(
        condition,
        sysctls=(*condition.sysctls, *highest, ("net.ipv4.tcp_reordering", str(threshold))),
    )
