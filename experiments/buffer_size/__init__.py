"""A queue of a round trip's packets by the root of the number of flows keeps a link busy."""

from dataclasses import dataclass
from math import sqrt

from experiments.spec import FULL_FRAME, ExperimentSpec, congestion_control, parameter
from experiments.study.parameters import DrawnPhases, law_claim, pair_flows, require_count, spec_of
from topologies.shapes import dumbbell
from topologies.spec import Channel
from topologies.units import Count, Duration, Packets, Rate, Share

METRIC = "goodput@15s..40s"
_SEGMENT = 1448  # bytes
_FARTHEST = Duration.parse("40ms")
BUSY = 0.98  # share of the link's rate of payload from which it counts as busy
TARGETS = tuple(
    {"settings": {"flows": flows, "part": part}, "where": f"{flows} flows, {part} of the law"}
    for flows, part in (("4", "100%"), ("16", "100%"), ("36", "100%"))
)


@dataclass(frozen=True)
class BufferSizeParameters(DrawnPhases):
    spread: Duration = parameter("5s", Duration, "Time within which all flows start.")
    bw: Rate = parameter("20mbit", Rate, "Rate of the bottleneck.")
    delay: Duration = parameter("20ms", Duration, "Delay of the bottleneck, each way.")
    flows: Count = parameter("16", Count, "Flows; their round trips differ by up to 40 ms.")
    part: Share = parameter("100%", Share, "Queue, in percent of that of the law.")
    duration: Duration = parameter("40s", Duration, "How long the senders send.")

    def __post_init__(self) -> None:
        require_count(self.flows, 100, f"{self.flows} flows")

    @property
    def further(self) -> list[Duration]:
        """Delays towards the receivers behind the bottleneck: from 0 to 40 ms."""
        steps = max(1, self.flows.base - 1)
        return [Duration(_FARTHEST.base * at // steps) for at in range(self.flows.base)]

    @property
    def queue(self) -> Packets:
        """The law's queue, times `part`: packets of the mean round trip by the root of flows."""
        further = sum(delay.seconds for delay in self.further) / self.flows.base
        packets = (2 * self.delay.seconds + further) * self.bw.base / (8 * FULL_FRAME)
        return Packets(max(1, round(self.part.fraction * packets / sqrt(self.flows.base))))


def experiment(parameters: BufferSizeParameters) -> ExperimentSpec:
    channel = Channel(parameters.bw, parameters.delay, queue=parameters.queue)
    payload = parameters.bw.base / 1e3 * _SEGMENT / FULL_FRAME
    number = parameters.flows.base
    return spec_of(
        __name__,
        dumbbell(number, channel, parameters.further),
        pair_flows(number, parameters.duration),
        (congestion_control("reno"),),
        law_claim(__file__, METRIC, "reno", payload),
        phases=parameters,
    )
