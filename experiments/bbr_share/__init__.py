"""One BBR flow keeps half of a link with a deep queue, however many loss-based flows it meets."""

from dataclasses import dataclass, replace

from experiments.spec import (
    CONGESTION_CONTROLS,
    FULL_FRAME,
    Condition,
    ExperimentSpec,
    Flow,
    parameter,
    word,
)
from experiments.study import parameters as shared
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
class BbrShareParameters(shared.DrawnPhases):
    bw: Rate = parameter("10mbit", Rate, "Rate of the bottleneck, each way.")
    delay: Duration = parameter("20ms", Duration, "Delay of the bottleneck, each way.")
    buffer: Count = parameter("8", Count, "Bandwidth-delay products that the queue holds.")
    rivals: Count = parameter("1", Count, "Loss-based flows that the BBR flow meets.")
    algorithm: str = word("cubic", "Congestion control of these.", CONGESTION_CONTROLS)
    duration: Duration = parameter("90s", Duration, "How long the senders send.")

    def __post_init__(self) -> None:
        shared.require_count(self.rivals, 100, f"{self.rivals} rivals")
        shared.require_count(self.buffer, 1000, f"{self.buffer} bandwidth-delay products")
        shared.require_choice("algorithm", self.algorithm, CONGESTION_CONTROLS)

    @property
    def queue(self) -> Packets:
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
    bbr = Flow("bbr", "h1", "r1", parameters.duration, congestion_control="bbr")
    pairs = shared.pair_flows(parameters.rivals.base, parameters.duration, "rival", first=2)
    rivals = (
        replace(flow, name=f"rival{number}", congestion_control=parameters.algorithm)
        for number, flow in enumerate(pairs, 1)
    )
    return shared.spec_of(
        __name__,
        dumbbell(1 + len(pairs), channel),
        (bbr, *rivals),
        (Condition("together", f"BBR next to {parameters.algorithm}"),),
        shared.law_claim(__file__, METRIC, "together", parameters.share),
        phases=parameters,
    )
