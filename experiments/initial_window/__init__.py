"""A larger initial window saves a short flow the round trips that slow start would need for it."""

from dataclasses import dataclass

from experiments.spec import Condition, ExperimentSpec, Flow, LinkParameters, parameter
from experiments.study.parameters import law_claim, spec_of
from topologies.errors import UsageError
from topologies.shapes import two_hosts
from topologies.units import Count, Duration, Packets, Rate, Share

WINDOWS = (1, 3, 10, 32)
METRIC = "exchange_p50_ms"
TOLERANCE = 0.1
_SEGMENT = 1448  # bytes
_SETTINGS = (
    ("net.ipv4.tcp_congestion_control", "reno"),
    ("net.ipv4.tcp_rmem", "4096 2097152 6291456"),
)
CONDITIONS = tuple(
    Condition(f"from_{number}", f"from {number}", _SETTINGS, (), Packets(number))
    for number in WINDOWS
)


@dataclass(frozen=True)
class InitialWindowParameters(LinkParameters):
    bw: Rate = parameter("100mbit", Rate, "Rate of the link, each way.")
    delay: Duration = parameter("50ms", Duration, "Delay of the link, each way.")
    loss: Share = parameter("0%", Share, "Packets that the link loses at random, each way.")
    duration: Duration = parameter("60s", Duration, "How long flows come, one in 3 s.")
    segments: Count = parameter("100", Count, "Segments of a flow, from 2 to 1000.")

    def __post_init__(self) -> None:
        if not 2 <= self.segments.base <= 1000:
            raise UsageError(f"{self.segments} segments are not possible.", "Choose 2 to 1000.")

    def completion_ms(self, window: int) -> float:
        """Return the law's time: a round trip for the handshake, then n of slow start.

        >>> [InitialWindowParameters().completion_ms(window) for window in WINDOWS]
        [800.0, 700.0, 500.0, 400.0]
        """
        windows = -(-self.segments.base // window)  # these are fewer than 2^n
        return (1 + windows.bit_length()) * 2e3 * self.delay.seconds


TARGETS = tuple(
    {
        "settings": {"segments": str(size)},
        "where": f"segments {size}, from {window}",
        "condition": f"from_{window}",
        "published": time,
        "allowed": (time, time * (1 + TOLERANCE)),
    }
    for size in (10, 30, 100)
    for window in WINDOWS
    for time in [InitialWindowParameters(segments=Count(size)).completion_ms(window)]
)


def experiment(parameters: InitialWindowParameters) -> ExperimentSpec:
    """Send flows of one size, each on a new connection. Its first segment is the request's head."""
    size = _SEGMENT * (parameters.segments.base - 1)
    traffic = f"requests size={size}B answer=1B every=3s"
    return spec_of(
        __name__,
        two_hosts(parameters.channel()),
        (Flow("short", "h1", "h2", parameters.duration, traffic=traffic),),
        CONDITIONS,
        law_claim(__file__, METRIC, "from_10", parameters.completion_ms(10)),
    )
