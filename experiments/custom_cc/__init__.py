"""A bolder Reno (slow start by 3, three quarters kept after a loss) wins where single packets are
lost at random.
"""

from dataclasses import dataclass
from pathlib import Path

from experiments.spec import (
    CONGESTION_CONTROLS,
    ExperimentSpec,
    Flow,
    Headline,
    LinkParameters,
    congestion_control,
    parameter,
    sending_with,
    word,
    words,
)
from experiments.study import parameters as shared
from experiments.study.kernels import LINUX_2_6_FULL_LINE, under
from testbed.guest.kernel_modules import KernelModule, module_from
from topologies.shapes import star
from topologies.spec import Channel
from topologies.units import Count, Duration, Rate, Share

PROFILE = LINUX_2_6_FULL_LINE
LOADS_MODULES = True
QUICK, FULL = {"duration": "20s"}, {"duration": "60s"}
_MODULES = Path(__file__).parent
OWN = "own"  # word in `cc` for the algorithm of the module


@dataclass(frozen=True)
class CustomCcParameters(shared.DrawnPhases, LinkParameters):
    bw: Rate = parameter("100mbit", Rate, "Rate of each link, each way.")
    delay: Duration = parameter("0ms", Duration, "Delay of what the router sends to the receiver.")
    loss: Share = parameter(
        "5%", Share, "Packets lost at random on the way to the receiver; no ACK is lost."
    )
    duration: Duration = parameter("60s", Duration, "How long the sender sends.")
    module: str = word("exp", "The module: exp, or the path of a .c file.")
    cc: str = word(
        "reno+own",
        "Congestion controls to compare, joined by +; own is the module's.",
        ("own", *CONGESTION_CONTROLS),
    )
    streams: Count = parameter("1", Count, "Connections at once.")
    late: str = word(shared.NONE, shared.MEANING)
    period: str = word("today", shared.settings_for("for Linux 2.6"))

    def __post_init__(self) -> None:
        shared.require_count(self.streams, 1000, f"{self.streams} streams")

    def loaded(self) -> KernelModule:
        """Read the module from its file. Raises UsageError."""
        return module_from(
            Path(self.module) if self.module.endswith(".c") else _MODULES / f"{self.module}.c"
        )

    def algorithms(self, module: KernelModule) -> list[str]:
        """Return the names of `cc`, each checked. Raises UsageError."""
        names = [module.algorithm if name == OWN else name for name in words(self.cc)]
        for name in names:
            if name != module.algorithm:
                congestion_control(name)
        return names


def experiment(parameters: CustomCcParameters) -> ExperimentSpec:
    """Send from right to left through the router."""
    module = parameters.loaded()
    algorithms = parameters.algorithms(module)
    others = Channel(parameters.bw, queue=parameters.queue)
    flow = Flow("flow", "right", "left", parameters.duration)
    conditions = under(PROFILE, parameters.period, map(sending_with, algorithms))
    return shared.spec_of(
        __name__,
        star(parameters.channel(), others),
        shared.late_flows(flow, parameters.late, parameters.streams),
        conditions,
        _headline(parameters, module.algorithm, [each.name for each in conditions]),
        modules=(module,) if module.algorithm in algorithms else (),
        phases=parameters,
    )


def _headline(parameters: CustomCcParameters, own: str, conditions: list[str]) -> Headline | None:
    pairs = ((own, "reno"), (f"{own}_period", "reno_period"))
    pair = next((pair for pair in pairs if set(pair) <= {*conditions}), None)
    if pair is None:
        return None
    path = f"{parameters.bw}, {parameters.delay} and {parameters.loss} loss"
    question, metric = f"Is {own} faster than Reno over {path}?", "metric.total_goodput_kbit_s"
    return shared.compared_claim(question, metric, "the goodput", pair, repetitions=8)
