"""A packet 1 ms late on a path of 70 ms is sent again by a TCP that counts packets, not by one that
keeps time.
"""

from dataclasses import dataclass, replace

from experiments.spec import Condition, ExperimentSpec, Flow, Headline, Proof, parameter, word
from experiments.study.kernels import LINUX_2_6_32, under
from experiments.study.parameters import bounded_claim, require_choice, settings_for, spec_of
from topologies.shapes import two_hosts
from topologies.spec import Channel, HostReordering
from topologies.units import WHOLE, Duration, Packets, Rate, Share, Size

CASES = {
    "1": ("200us", "99%"),
    "2": ("700us", "99%"),
    "3": ("800us", "99%"),
    "4": ("200us", "75%"),
    "5": ("700us", "75%"),
    "6": ("800us", "75%"),
    "7": ("900us", "75%"),
    "8": ("1ms", "99%"),
    "9": ("1ms", "75%"),
}
"""netem's delay and reorder share of the published cases. `baseline` has no netem."""

GRID = {"case": tuple(CASES), "correlation": ("on", "off")}
PROFILE = LINUX_2_6_32
QUICK, FULL = {"duration": "10s"}, {"duration": "60s"}
_SOME = 0.01  # percent of segments from which on TCP counts as retransmitting
_SWITCHES = {
    "correlation": ("on", "off"),
    "netem": ("today", "old"),
    "sack": ("on", "off"),
    "tso": ("off", "on"),
}


@dataclass(frozen=True)
class WanReorderingParameters:
    case: str = word("8", f"The published case: baseline or {', '.join(CASES)}.")
    correlation: str = word(
        "on", "on: with the correlation of 100 % that was published; off: without."
    )
    netem: str = word(
        "today", "today, or old: as before Linux 3.6, where one packet waits ahead of every draw."
    )
    mtu: Size = parameter(
        "9000B", Size, "Bytes of a packet. The published windows are multiples of 8948 bytes."
    )
    netem_limit: Packets = parameter(
        "1000", Packets, "Packets that a host's netem holds; 1000 is its own default."
    )
    sack: str = word("on", "on or off: selective acknowledgement.")
    tso: str = word(
        "off", "on or off: segmentation offloads, so that netem sees packets of up to 64 KB."
    )
    bw: Rate = parameter("10gbit", Rate, "Rate of the path, each way.")
    delay: Duration = parameter("35ms", Duration, "Delay of the path, each way.")
    queue: Packets = parameter("100000", Packets, "Packets that can wait for the path, each way.")
    buffer: Size = parameter(
        "128MiB", Size, "Largest socket buffer, at both ends: README.md says why so much."
    )
    duration: Duration = parameter("60s", Duration, "How long the sender sends.")
    period: str = word("today", settings_for("before Linux 3.19"))

    def __post_init__(self) -> None:
        require_choice("case", self.case, ("baseline", *CASES))
        for name, choices in _SWITCHES.items():
            require_choice(name, getattr(self, name), choices)

    def reordering(self) -> tuple[HostReordering, ...]:
        """Return the reordering of both hosts; before Linux 3.6 `gap` was one more."""
        if self.case == "baseline":
            return ()
        delay, share = CASES[self.case]
        correlation = WHOLE if self.correlation == "on" else Share(0)
        gap = Packets(2 if self.netem == "old" else 1)
        draws = Duration.parse(delay), Share.parse(share), correlation
        first = HostReordering("h1", "h2", *draws, gap, self.netem_limit)
        return first, replace(first, host="h2", peer="h1")

    def sysctls(self) -> tuple[tuple[str, str], ...]:
        return (
            ("net.ipv4.tcp_sack", "1" if self.sack == "on" else "0"),
            # The kernel's own limits carry a tenth of 10 Gbit/s over 70 ms.
            ("net.ipv4.tcp_rmem", f"4096 131072 {self.buffer.base}"),
            ("net.ipv4.tcp_wmem", f"4096 16384 {self.buffer.base}"),
        )


def experiment(parameters: WanReorderingParameters) -> ExperimentSpec:
    """Send one flow from h1 to h2 through the netem of both hosts."""
    plain = two_hosts(Channel(parameters.bw, parameters.delay, queue=parameters.queue))
    topology = replace(
        plain,
        mtu=parameters.mtu,
        reordering=parameters.reordering(),
        segmentation="on" if parameters.tso == "on" else "off",
    )
    label = "baseline" if parameters.case == "baseline" else f"case {parameters.case}"
    proofs = (Proof("congestion_control", "cubic"),)
    conditions = under(
        PROFILE, parameters.period, [Condition("reordering", label, parameters.sysctls(), proofs)]
    )
    flow = Flow("flow1", "h1", "h2", parameters.duration)
    headline = _headline(parameters, [condition.name for condition in conditions])
    return spec_of(__name__, topology, (flow,), conditions, headline)


def _headline(parameters: WanReorderingParameters, conditions: list[str]) -> Headline | None:
    """Claim that a TCP with a timer retransmits no late packet, and one that counts does."""
    if parameters.case == "baseline":
        return None
    late = CASES[parameters.case][0]
    counts = conditions[0].endswith("_period")
    way = "counts packets" if counts else "keeps time"
    return bounded_claim(
        f"Does a TCP that {way} retransmit packets that are {late} late?",
        "metric.resent_percent",
        "the share of segments retransmitted",
        conditions[0],
        repetitions=1,
        **{"low" if counts else "high": _SOME},
    )
