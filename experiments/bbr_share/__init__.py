"""One BBR flow keeps half of a link with a deep queue, however many loss-based flows it meets.

BBR version 1 meets CUBIC or Reno flows in a FIFO queue of several bandwidth-delay products.
README.md has the law, its source, and what was found.
"""

from dataclasses import dataclass

from experiments.spec import (
    CONGESTION_CONTROLS,
    FULL_FRAME,
    Condition,
    ExperimentSpec,
    Flow,
    Headline,
    Subject,
    claim_of,
    parameter,
    word,
)
from experiments.study.parameters import DrawnPhases, require_choice, require_count
from topologies.shapes import dumbbell
from topologies.spec import Channel
from topologies.units import Count, Duration, Packets, Rate

METRIC = "(goodput[bbr] / goodput)@30s.."
_LEAST_PROBE, _PROBE_PERIOD = 0.2, 10.0  # s: bbr_probe_rtt_mode_ms, bbr_min_rtt_win_sec
TARGETS = tuple(
    {"settings": {"buffer": buffer, "rivals": rivals}}
    for buffer, rivals in (("2", "1"), ("8", "1"), ("8", "4"), ("8", "16"))
)


@dataclass(frozen=True)
class BbrShareParameters(DrawnPhases):
    bw: Rate = parameter("10mbit", Rate, "Rate of the bottleneck, each way.")
    delay: Duration = parameter("20ms", Duration, "Delay of the bottleneck, each way.")
    buffer: Count = parameter("8", Count, "Bandwidth-delay products that the queue holds.")
    rivals: Count = parameter("1", Count, "Loss-based flows that the BBR flow meets.")
    algorithm: str = word("cubic", "Congestion control of these.", CONGESTION_CONTROLS)
    duration: Duration = parameter("90s", Duration, "How long the senders send.")

    def __post_init__(self) -> None:
        require_count(self.rivals, 100, f"{self.rivals} rivals")
        require_count(self.buffer, 1000, f"{self.buffer} bandwidth-delay products")
        require_choice("algorithm", self.algorithm, CONGESTION_CONTROLS)

    @property
    def queue(self) -> Packets:
        """Packets of the bottleneck's queue."""
        product = self.bw.base * 2 * self.delay.seconds / (8 * FULL_FRAME)
        return Packets(max(1, round(self.buffer.base * product)))

    @property
    def share(self) -> float:
        """The law's share of the BBR flow, of which it sends too little for PROBE_RTT."""
        full_trip = 2 * self.delay.seconds * (self.buffer.base + 1)
        sending = 1 - (full_trip + _LEAST_PROBE) / _PROBE_PERIOD
        return max(0.01, min(1.0, 0.5 + 0.5 / self.buffer.base) * sending)


def experiment(parameters: BbrShareParameters) -> ExperimentSpec:
    """Send all flows together, each between hosts of its own."""
    channel = Channel(parameters.bw, parameters.delay, queue=parameters.queue)
    rivals = range(2, parameters.rivals.base + 2)
    flows = (
        _flow(parameters, 1, "bbr", "bbr"),
        *(_flow(parameters, pair, f"rival{pair - 1}", parameters.algorithm) for pair in rivals),
    )
    spec = ExperimentSpec(
        name="bbr_share",
        claim=claim_of(__doc__),
        topology=dumbbell(len(flows), channel),
        flows=flows,
        conditions=(Condition("together", f"BBR next to {parameters.algorithm}"),),
        headline=Headline(
            question="Does one BBR flow have the share that its limit of data in flight gives?",
            metric=METRIC,
            what="the share of the BBR flow",
            subject=Subject("together"),
            direction="within",
            low=0.75,
            high=1.25,
            expected=parameters.share,
            expectation="what the limit of data in flight gives",
            repetitions=8,
        ),
    )
    return parameters.with_phases(spec)


def _flow(parameters: BbrShareParameters, pair: int, name: str, algorithm: str) -> Flow:
    ends = f"h{pair}", f"r{pair}"
    return Flow(name, *ends, parameters.duration, congestion_control=algorithm)
