"""A transport of one's own carries data over UDP: whole, in order, and past losses.

`sender` and `receiver` name Python files; stop_and_wait and fixed_window stand for those in this
folder. README.md says how hosts run them.
"""

from dataclasses import dataclass, replace
from pathlib import Path

from experiments.spec import (
    Condition,
    ExperimentSpec,
    Flow,
    FlowProgram,
    Headline,
    LinkParameters,
    Subject,
    parameter,
    word,
)
from experiments.study.parameters import spec_of
from topologies import untrusted
from topologies.errors import UsageError
from topologies.shapes import two_hosts
from topologies.units import Duration, Packets, Rate, Share, Size

PACKAGED = ("stop_and_wait", "fixed_window")
NOBODY = "nobody"
_LONGEST = 256 << 10  # bytes of a program
_MEANING = f"{' or '.join(PACKAGED)}, or the path of a .py file"


@dataclass(frozen=True)
class OwnTransportParameters(LinkParameters):
    bw: Rate = parameter("10mbit", Rate, "Rate of the link, each way.")
    delay: Duration = parameter("20ms", Duration, "Delay of the link, each way.")
    loss: Share = parameter("5%", Share, "Packets that the link loses at random, each way.")
    ack_loss: Share = parameter("0%", Share, "Packets lost on the way back, more than `loss`.")
    jitter: Duration = parameter("0ms", Duration, "The delay of each packet varies by up to this.")
    queue: Packets = parameter("100", Packets, "Packets that can wait for the link, each way.")
    amount: Size = parameter(
        "200kB", Size, "Bytes to be sent; with 0 it sends until the duration ends."
    )
    duration: Duration = parameter("2min", Duration, "The longest time that this may take.")
    sender: str = word(PACKAGED[0], f"The sending program: {_MEANING}.")
    receiver: str = word(PACKAGED[0], f"The receiving program: {_MEANING}.")
    beside: str = word(
        NOBODY, f"Congestion control of a TCP flow that sends meanwhile, or {NOBODY}."
    )


def experiment(parameters: OwnTransportParameters) -> ExperimentSpec:
    """Send from h1 to h2 by the programs, next to TCP if wanted, and capture at both hosts."""
    program = FlowProgram(
        server=_source(parameters.receiver, "receiver"),
        client=_source(parameters.sender, "sender"),
        protocol="udp",
    )
    there = parameters.channel()
    back = replace(there, loss=Share(parameters.loss.base + parameters.ack_loss.base))
    amount = parameters.amount if parameters.amount.base else None
    flows = [Flow("flow1", "h1", "h2", parameters.duration, amount=amount, program=program)]
    if parameters.beside != NOBODY:
        tcp = Flow("beside", "h1", "h2", parameters.duration, port=5002)
        flows.append(replace(tcp, congestion_control=parameters.beside))
    return spec_of(
        __name__,
        two_hosts(there, back),
        flows,
        (Condition("own", "own transport"),),
        _headline(amount) if amount else None,
        captures=("h1-eth0", "h2-eth0"),
    )


def _headline(amount: Size) -> Headline:
    return Headline(
        question=f"Does the transport carry all {amount} to the receiver?",
        metric="transfer_kbyte",
        what="the data that arrived in order",
        subject=Subject("own", "flow1"),
        direction="within",
        low=0.999,
        expected=amount.base / 1024,
        expectation="what there was to send",
        repetitions=6,
    )


def _source(name: str, role: str) -> str:
    file = Path(name)
    if name in PACKAGED:
        file = Path(__file__).with_name(f"{name}_{role}.py")
    try:
        return untrusted.text(file.parent, file.name, _LONGEST)
    except (OSError, untrusted.StrangeFile) as error:
        problem = f"The {role} {name[:100]} is no file of up to {_LONGEST >> 10} KiB"
        raise UsageError(f"{problem} ({type(error).__name__}).", "Name a .py file.") from None
