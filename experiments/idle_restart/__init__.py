"""After a pause a connection begins again from its initial window, unless it keeps the old one."""

from dataclasses import dataclass

from experiments.spec import Condition, ExperimentSpec, Flow, LinkParameters, parameter
from experiments.study.parameters import law_claim, spec_of
from topologies.errors import UsageError
from topologies.shapes import two_hosts
from topologies.units import Count, Duration, Rate, Share

METRIC = "exchange_p50_ms"
TOLERANCE = 0.1
_SEGMENT = 1448  # bytes
_INITIAL = 10  # segments, RFC 6928
_RENO = ("net.ipv4.tcp_congestion_control", "reno")
_LARGE = ("net.ipv4.tcp_rmem", "4096 2097152 6291456")
_AFTER_IDLE = "net.ipv4.tcp_slow_start_after_idle"
CONDITIONS = (
    Condition("restart", "restarting", (_RENO, _LARGE, (_AFTER_IDLE, "1"))),
    Condition("keep", "keeping its window", (_RENO, _LARGE, (_AFTER_IDLE, "0"))),
)


@dataclass(frozen=True)
class IdleRestartParameters(LinkParameters):
    bw: Rate = parameter("500mbit", Rate, "Rate of the link, each way.")
    delay: Duration = parameter("50ms", Duration, "Delay of the link, each way.")
    loss: Share = parameter("0%", Share, "Packets that the link loses at random, each way.")
    duration: Duration = parameter("60s", Duration, "How long the connection is used.")
    pause: Duration = parameter("3s", Duration, "Pause between two messages.")
    segments: Count = parameter("100", Count, "Segments of a message, from 11 to 150.")

    def __post_init__(self) -> None:
        if not _INITIAL < self.segments.base <= 150:
            raise UsageError(f"{self.segments} segments are not possible.", "Choose 11 to 150.")

    @property
    def restarted_ms(self) -> float:
        """Milliseconds of a message from the initial window on: the round trips of slow start.

        >>> [IdleRestartParameters(segments=Count(n)).restarted_ms for n in (30, 70, 100)]
        [200.0, 300.0, 400.0]
        """
        windows = -(-self.segments.base // _INITIAL)  # these are fewer than 2^n
        return windows.bit_length() * 2e3 * self.delay.seconds


TARGETS = tuple(
    {
        "settings": {"segments": str(size)},
        "where": f"segments {size}, {condition.label}",
        "condition": condition.name,
        "published": time,
        "allowed": (time, time * (1 + TOLERANCE)),
    }
    for size in (30, 70, 100)
    for parameters in [IdleRestartParameters(segments=Count(size))]
    for condition, time in zip(
        CONDITIONS, (parameters.restarted_ms, 2e3 * parameters.delay.seconds), strict=True
    )
)


def experiment(parameters: IdleRestartParameters) -> ExperimentSpec:
    """Send messages on one connection, each after a pause; the answer is a byte."""
    size = _SEGMENT * (parameters.segments.base - 1)  # the first segment is the head
    traffic = f"users size={size}B answer=1B think={parameters.pause}"
    return spec_of(
        __name__,
        two_hosts(parameters.channel()),
        (Flow("messages", "h1", "h2", parameters.duration, traffic=traffic),),
        CONDITIONS,
        law_claim(__file__, METRIC, "restart", parameters.restarted_ms),
    )
