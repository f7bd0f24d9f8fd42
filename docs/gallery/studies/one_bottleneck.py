"""A buffer of one bandwidth-delay product keeps a link busy, and a longer one only adds delay."""

from dataclasses import dataclass, replace

from tcplab import (
    Channel,
    Condition,
    Count,
    Duration,
    ExperimentSpec,
    Flow,
    LinkParameters,
    Packets,
    Proof,
    Rate,
    Share,
    TopologySpec,
    chain,
    dumbbell,
    parameter,
    parking_lot,
    word,
)


@dataclass(frozen=True)
class OneBottleneckParameters(LinkParameters):
    bw: Rate = parameter("10mbit", Rate, "Rate of the shared link, each way.")
    delay: Duration = parameter("20ms", Duration, "Delay of the shared link, each way.")
    loss: Share = parameter("0%", Share, "Packets that the link loses at random, each way.")
    queue: Packets = parameter("35", Packets, "Packets that can wait for the link.")
    duration: Duration = parameter("10s", Duration, "How long all flows send.")
    cc: str = word("cubic", "Congestion controls to compare, joined by +.")
    queueing: str = word("fifo", "Discipline of the queue.")
    ecn: str = word("off", "Whether both ends ask for explicit congestion notification: on or off.")
    shape: str = word("dumbbell", "The network: dumbbell, chain, or parking_lot.")
    size: Count = parameter("1", Count, "Pairs of a dumbbell, routers of a chain, hops.")


def experiment(parameters: OneBottleneckParameters) -> ExperimentSpec:
    topology, ends = network(parameters)
    ecn = ("net.ipv4.tcp_ecn", str(int(parameters.ecn == "on")))
    return ExperimentSpec(
        "one_bottleneck",
        str(__doc__),
        topology,
        flows=tuple(
            Flow(f"flow{at}", sender, receiver, parameters.duration, port=5000 + at)
            for at, (sender, receiver) in enumerate(ends, 1)
        ),
        conditions=tuple(
            Condition(
                name,
                name,
                (("net.ipv4.tcp_congestion_control", name), ecn),
                (Proof("congestion_control", name),),
            )
            for name in parameters.cc.split("+")
        ),
        captures=tuple(f"{host}-eth0" for host in ends[0]),
    )


def network(parameters: OneBottleneckParameters) -> tuple[TopologySpec, list[tuple[str, str]]]:
    """The network, and the sender and receiver of each flow."""
    back: Channel = parameters.channel()
    there = replace(back, discipline=parameters.queueing)  # type: ignore[arg-type]
    numbers = range(1, parameters.size.base + 1)
    if parameters.shape == "chain":
        return chain(parameters.size.base, there, back), [("h1", "h2")]
    if parameters.shape == "parking_lot":
        short = [(f"a{number}", f"b{number}") for number in numbers]
        return parking_lot(parameters.size.base, there), [("h1", "h2"), *short]
    return dumbbell(parameters.size.base, there), [(f"h{each}", f"r{each}") for each in numbers]
