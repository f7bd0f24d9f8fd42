"""A sender with pacing loses its first packets at a larger window than one that sends in bursts."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import log
from typing import Any

from experiments.spec import FULL_FRAME, Condition, ExperimentSpec, Flow, LinkParameters, parameter
from experiments.study.parameters import law_claim, spec_of
from topologies.errors import UsageError
from topologies.shapes import separate_pairs
from topologies.spec import Channel, TopologySpec
from topologies.units import Duration, Packets, Rate, Share

INITIAL_WINDOW = 10  # segments
PACING = 2.0  # windows in a round trip: tcp_pacing_ss_ratio is 200 %
TOLERANCE = 0.15
METRIC = "(max cwnd[paced] / 2)@..1s"
_ROUND_TRIPS = 10
"""Slow start is over by then, and the window of congestion avoidance is still smaller."""
_SETTINGS = (
    ("net.ipv4.tcp_congestion_control", "reno"),
    ("net.ipv4.tcp_rmem", "4096 2097152 6291456"),
)
_OF_A_HOST = Rate.parse("100mbit")


@dataclass(frozen=True)
class PacingParameters(LinkParameters):
    bw: Rate = parameter("10mbit", Rate, "Rate of both links, each way.")
    delay: Duration = parameter("50ms", Duration, "Delay of both links, each way.")
    loss: Share = parameter("0%", Share, "Packets that the links lose at random, each way.")
    queue: Packets = parameter("25", Packets, "Packets that can wait for a link, each way.")
    duration: Duration = parameter("3s", Duration, "How long the senders send.")

    def __post_init__(self) -> None:
        if not 2 <= self.queue.base <= self.product:
            raise UsageError(
                f"A queue of {self.queue} packets is not possible.",
                f"Choose 2 to {self.product:.0f}: the law is for less than the packets on the way.",
            )

    @property
    def product(self) -> float:
        """Packets that are on the way at the links' rate: the bandwidth-delay product."""
        return self.bw.base * 2 * self.delay.seconds / (8 * FULL_FRAME)

    @property
    def burst_window(self) -> float:
        """Segments of the window at the first loss, if ACKs clock the packets.

        >>> [PacingParameters(queue=Packets(number)).burst_window for number in (15, 25, 35)]
        [35, 65, 75]
        """
        window = INITIAL_WINDOW
        while window <= self.queue.base:
            window *= 2
        return window + self.queue.base

    @property
    def paced_window(self) -> float:
        """Segments of the window at the first loss, if packets are paced.

        >>> [round(PacingParameters(queue=Packets(number)).paced_window) for number in (15, 25, 35)]
        [71, 103, 111]
        """
        first = INITIAL_WINDOW
        while first < self.product:
            if self._queued(first, 2 * first) >= self.queue.base:
                return self._overflow(first)
            first *= 2
        return first + self.queue.base

    def _queued(self, first: float, window: float) -> float:
        """Return the packets that wait when the round that begins with `first` is at `window`."""
        begin = max(first, self.product / PACING)
        if window <= begin:
            return 0.0
        return PACING * (window - begin) - self.product * log(window / begin)

    def _overflow(self, first: float) -> float:
        """Return the window between `first` and its double at which the queue is full."""
        low, high = float(first), 2.0 * first
        while high - low > 0.01:
            middle = (low + high) / 2
            is_full = self._queued(first, middle) >= self.queue.base
            low, high = (low, middle) if is_full else (middle, high)
        return high

    def metric(self, flow: str) -> str:
        """Return half the window when TCP hears of its first loss: that of the packet's start."""
        seconds = _ROUND_TRIPS * 2 * self.delay.seconds
        return f"(max cwnd[{flow}] / 2)@..{seconds:g}s"

    def network(self) -> TopologySpec:
        """Return two equal pairs of hosts; the second sender has fq with pacing."""
        channel = replace(self.channel(), processing=Share.parse("90%"))
        made = separate_pairs([channel] * 2, [channel] * 2)
        fifo = Channel(_OF_A_HOST)
        paced = replace(fifo, discipline="fq", settings=(("pacing", "on"),))
        first, second, *others = made.links
        links = (replace(first, rightward=fifo), replace(second, rightward=paced), *others)
        return replace(made, links=links, shaping_hosts=("h1", "h2"))


def _targets() -> Iterator[dict[str, Any]]:
    for queue in (15, 25, 35):
        parameters = PacingParameters(queue=Packets(queue))
        windows = {"paced": parameters.paced_window, "burst": parameters.burst_window}
        for flow, window in windows.items():
            yield {
                "settings": {"queue": str(queue)},
                "where": f"queue {queue}, {flow}",
                "metric": parameters.metric(flow),
                "published": float(f"{window:.4g}"),
                "allowed": (window * (1 - TOLERANCE), window * (1 + TOLERANCE)),
            }


TARGETS = tuple(_targets())


def experiment(parameters: PacingParameters) -> ExperimentSpec:
    """Fill both paths; the 5 ms between samples are four segments of the link."""
    return spec_of(
        __name__,
        parameters.network(),
        (
            Flow("burst", "h1", "r1", parameters.duration),
            Flow("paced", "h2", "r2", parameters.duration),
        ),
        (Condition("slow_start", "slow start", _SETTINGS),),
        law_claim(__file__, parameters.metric("paced"), "slow_start", parameters.paced_window),
        captures=("h1-eth0", "h2-eth0", "r1-eth0", "r2-eth0"),
        sampling=Duration.parse("5ms"),
    )
