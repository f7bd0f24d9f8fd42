"""Selective acknowledgement raises the throughput of one TCP flow when the path loses 10 % of its
packets.
"""

from dataclasses import dataclass

from experiments.spec import ExperimentSpec, Flow, LinkParameters, parameter, sack
from experiments.study.parameters import compared_claim, spec_of
from topologies.shapes import two_hosts
from topologies.units import Size


@dataclass(frozen=True)
class SackParameters(LinkParameters):
    window: Size = parameter("128KiB", Size, "Socket buffer asked for at both ends (iperf -w).")


def experiment(parameters: SackParameters) -> ExperimentSpec:
    """Measure one transfer without and with SACK, which is proved from both SYNs."""
    return spec_of(
        __name__,
        two_hosts(parameters.channel()),
        (Flow("flow1", "h1", "h2", parameters.duration, parameters.window),),
        (sack(on=False), sack(on=True)),
        compared_claim(
            f"Is throughput larger with SACK on than with SACK off at {parameters.loss} loss?",
            "metric.goodput_kbit_s",
            "the throughput",
            ("sack_on", "sack_off"),
            repetitions=7,  # one seed may disagree, if it differs least
        ),
        captures=("h1-eth0", "h2-eth0"),
    )
