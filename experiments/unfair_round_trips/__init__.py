"""Of two flows the one with the shorter round trip has the larger share, by the law of its kind."""

from dataclasses import dataclass

from experiments.spec import ExperimentSpec, Flow, congestion_control, parameter, word
from experiments.study import parameters as shared
from topologies.shapes import dumbbell
from topologies.spec import Channel
from topologies.units import Count, Duration, Packets, Rate

LAWS: dict[str, tuple[float | None, float]] = {
    "reno": (1.0, 2.0),
    "cubic": (0.25, 1.0),
    "bbr": (None, 0.0),
}
"""Powers of the ratio of the round trips between which that of the rates is."""
METRIC = "(goodput[short] / goodput[long])@30s.."
TARGETS = tuple(
    {"settings": settings}
    for settings in ({"cc": "reno"}, {"cc": "cubic"}, {"cc": "bbr", "queue": "400"})
)
"""The end of each law; BBR needs a deep queue."""


@dataclass(frozen=True)
class UnfairRoundTripsParameters(shared.DrawnPhases):
    bw: Rate = parameter("10mbit", Rate, "Rate of the bottleneck, each way.")
    delay: Duration = parameter("20ms", Duration, "Delay of the bottleneck, each way.")
    queue: Packets = parameter("33", Packets, "Packets that can wait for the bottleneck.")
    ratio: Count = parameter("4", Count, "Round trip of the long flow, in those of the short one.")
    cc: str = word("reno", "Congestion control of both flows.", tuple(LAWS))
    duration: Duration = parameter("120s", Duration, "How long the senders send.")

    def __post_init__(self) -> None:
        shared.require_count(self.ratio, 20, f"{self.ratio} round trips")
        shared.require_choice("cc", self.cc, LAWS)

    @property
    def ends(self) -> tuple[float | None, float]:
        """Least and greatest ratio of the rates by the law."""
        low, high = LAWS[self.cc]
        return low and self.ratio.base**low, self.ratio.base**high


def experiment(parameters: UnfairRoundTripsParameters) -> ExperimentSpec:
    """Send with both flows; the longer path is that of the second receiver."""
    channel = Channel(parameters.bw, parameters.delay, queue=parameters.queue)
    low, high = parameters.ends
    longer = Duration(2 * parameters.delay.base * (parameters.ratio.base - 1))
    flows = (
        Flow("short", "h1", "r1", parameters.duration),
        Flow("long", "h2", "r2", parameters.duration),
    )
    return shared.spec_of(
        __name__,
        dumbbell(2, channel, (Duration(0), longer)),
        flows,
        (congestion_control(parameters.cc),),
        shared.law_claim(__file__, METRIC, parameters.cc, high, low=low and low / high),
        phases=parameters,
    )
