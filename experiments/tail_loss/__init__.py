"""Tail loss probes and RACK end short flows sooner that lose their last packets."""

from dataclasses import dataclass, replace

from experiments.spec import Condition, ExperimentSpec, Flow, LinkParameters, Subject, parameter
from experiments.study.parameters import law_claim, spec_of
from topologies.shapes import two_hosts
from topologies.units import Duration, Rate, Share, Size

METRIC = "exchange_p95_ms"
_WITHOUT = (("net.ipv4.tcp_early_retrans", "0"), ("net.ipv4.tcp_recovery", "0"))
CONDITIONS = (Condition("without", "neither", _WITHOUT), Condition("with", "TLP and RACK"))
_ROUND_TRIP, _LEAST_TIMEOUT = 40.0, 200.0  # ms
_PROBED, _WAITED = 5 * _ROUND_TRIP, 3 * _ROUND_TRIP + _LEAST_TIMEOUT
_TOLERANCE = 0.15  # as in law.toml
TARGETS = (
    {"where": "TLP and RACK", "published": _PROBED, "allowed": (None, _PROBED * (1 + _TOLERANCE))},
    {"where": "neither", "condition": "without", "published": _WAITED, "allowed": (_WAITED, None)},
)
"""The most with TLP and RACK, and the least with neither."""


@dataclass(frozen=True)
class TailLossParameters(LinkParameters):
    bw: Rate = parameter("20mbit", Rate, "Rate of the link, each way.")
    delay: Duration = parameter("20ms", Duration, "Delay of the link, each way.")
    loss: Share = parameter("3%", Share, "Packets lost at random towards the receiver.")
    duration: Duration = parameter("400s", Duration, "Longest time of all flows.")
    size: Size = parameter("14480B", Size, "Bytes of a flow: ten segments.")


def experiment(parameters: TailLossParameters) -> ExperimentSpec:
    """Ask again and again on one connection, so that no SYN is lost. Answers are not lost."""
    there = parameters.channel()
    back = replace(there, loss=Share(0))
    traffic = f"users size={parameters.size} think=exp:300ms requests=300"
    return spec_of(
        __name__,
        two_hosts(there, back),
        (Flow("short", "h1", "h2", parameters.duration, traffic=traffic),),
        CONDITIONS,
        law_claim(__file__, METRIC, "with", direction="smaller", against=Subject("without")),
    )
