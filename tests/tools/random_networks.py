"""Random networks, each with a short experiment, and the verdict on each.

    .venv/bin/python -m tests.tools.random_networks --count 200

It is no test: it takes minutes, and what it prints is for people. A verdict on a good lab kernel
should be good, or with care for a reason that is not the network's: a buffer that was too small for
the path, or loss by chance in one of a hundred.
"""

import random
from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from math import exp, log

from analysis.network.verdict import NetworkVerdict, judge_network
from analysis.records.run_directory import run_of
from experiments.run.seed import limits_for, run_seed
from experiments.spec import Condition, ExperimentSpec, Flow, congestion_control
from testbed.host.scratch import scratch
from testbed.lab.ready import Lab, lab
from topologies.data import to_data
from topologies.disciplines import disciplines
from topologies.errors import TcplabError
from topologies.shapes import chain, dumbbell, parking_lot, star, two_hosts
from topologies.spec import Channel, TopologySpec
from topologies.units import Duration, Packets, Rate, Share

_SLOWEST, _FASTEST = 1e5, 2e9  # bit/s
_LONGEST = 300e6  # ns each way
_PACKETS, _FRAME = 15_000, 12_112  # of the link in a run, and bits of one
_ALGORITHMS = ("cubic", "reno", "bbr", "dctcp")
_MARKING = ("cake", "codel", "fq_codel", "pie", "red")
"""Disciplines that mark packets of flows with ECN, by their defaults."""
_PROBE = 50  # the link carries so many times the datagrams of a probe
_WALL_SECONDS = 600.0
_SHOWN = ("with care", "not as asked")
Ends = list[tuple[str, str]]


@dataclass(frozen=True)
class JudgedNetwork:
    """A network, in words, and what was said of it; `problem` if it could not be run."""

    number: int
    words: str
    verdict: NetworkVerdict | None
    problem: str = ""


def network(number: int) -> tuple[str, ExperimentSpec]:
    """The network of that number, in words and as an experiment."""
    draw = random.Random(number)
    algorithm = draw.choice(_ALGORITHMS)
    has_ecn = algorithm == "dctcp" or draw.random() < 0.25
    channel = _channel(draw, _MARKING if has_ecn else ("fifo", *disciplines()))
    shape, (topology, ends) = _shape(draw, channel)
    seconds = min(20.0, max(1.0, _PACKETS * _FRAME / channel.bandwidth.base))
    lasting = Duration(round(seconds * 1e3) * 10**6)
    flows = tuple(_flow(draw, at, pair, lasting, channel) for at, pair in enumerate(ends))
    if draw.random() < 0.5:
        flows = (*flows, _probe(flows[0], channel))
    captures = tuple(f"{host}-eth0" for host in dict.fromkeys(sum(ends, ())))
    condition = _condition(algorithm, has_ecn)
    spec = ExperimentSpec(f"random{number}", "", topology, flows, (condition,), captures)
    udp = sum(flow.protocol == "udp" for flow in flows)
    words = f"{condition.label}, {len(flows)} flows ({udp} UDP)"
    return f"{shape}, {_described(channel)}, {words}", spec


def _condition(algorithm: str, has_ecn: bool) -> Condition:
    condition = congestion_control(algorithm)
    if not has_ecn:
        return condition
    # A SYN that is lost would be sent again without ECN, and DCTCP would send as Reno.
    ecn = (("net.ipv4.tcp_ecn", "1"), ("net.ipv4.tcp_ecn_fallback", "0"))
    sysctls = (*condition.sysctls, *ecn)
    return replace(condition, label=f"{algorithm} with ECN", sysctls=sysctls)


def _channel(draw: random.Random, kinds: Sequence[str]) -> Channel:
    rate = exp(draw.uniform(log(_SLOWEST), log(_FASTEST)))
    delay = draw.choice(
        (0.0, draw.uniform(0, _LONGEST), exp(draw.uniform(log(1e4), log(_LONGEST))))
    )
    jitter = draw.choice((0.0, 0.0, 0.0, draw.uniform(0, delay)))
    loss = draw.choice((0.0, draw.uniform(0, 0.1), exp(draw.uniform(log(1e-4), log(0.1)))))
    queue, discipline = round(exp(draw.uniform(0, log(1000)))), draw.choice(kinds)
    return Channel(
        Rate(round(rate / 1e3) * 1000),
        Duration(round(delay / 1e3) * 1000),
        Share(round(loss * 1e6) * 10**4),
        Duration(round(jitter / 1e3) * 1000),
        Packets(max(queue, disciplines()[discipline].shortest)),
        discipline,
        processing=Share.parse(draw.choice(("0%", "0%", "90%"))),
    )


def _described(channel: Channel) -> str:
    words = f"{channel.bandwidth} {channel.delay} loss {channel.loss} queue {channel.queue}"
    jitter = f" jitter {channel.jitter}" if channel.jitter.base else ""
    drawn = f" processing {channel.processing}" if channel.processing.base else ""
    return f"{words}{jitter}{drawn} {channel.discipline}"


def _shape(draw: random.Random, channel: Channel) -> tuple[str, tuple[TopologySpec, Ends]]:
    count = draw.randint(1, 4)
    pairs = range(1, count + 1)
    shapes: list[tuple[str, tuple[TopologySpec, Ends]]] = [
        ("two hosts", (two_hosts(channel), [("h1", "h2")])),
        (f"dumbbell {count}", (dumbbell(count, channel), [(f"h{at}", f"r{at}") for at in pairs])),
        ("star", (star(channel), [("right", "left"), ("top", "left")])),
        (f"chain {count}", (chain(count, channel), [("h1", "h2")])),
        (
            f"parking lot {count}",
            (parking_lot(count, channel), [("h1", "h2"), *((f"a{at}", f"b{at}") for at in pairs)]),
        ),
    ]
    return draw.choice(shapes)


def _flow(
    draw: random.Random, at: int, ends: tuple[str, str], lasting: Duration, channel: Channel
) -> Flow:
    """The first is TCP's, so that there is a round trip."""
    is_udp = at > 0 and draw.random() < 0.25 and channel.bandwidth.base < 10**8
    rate = Rate(max(8000, channel.bandwidth.base // 3)) if is_udp else None
    return Flow(f"flow{at + 1}", *ends, lasting, port=5001 + at, rate=rate)


def _probe(flow: Flow, channel: Channel) -> Flow:
    """Return a thin stream of datagrams next to a flow, which starts while that is under way."""
    rate = Rate(max(8000, channel.bandwidth.base // _PROBE))
    return replace(flow, name="probe", start=Duration.parse("500ms"), port=4999, rate=rate)


def judged(number: int, ready: Lab) -> JudgedNetwork:
    """The network of that number, run and judged; its files go."""
    words, spec = network(number)
    data = to_data(spec)
    with scratch() as raw:
        try:
            limits = limits_for(spec, _WALL_SECONDS)
            run_seed(spec, number, raw, limits, ready, lambda _phase, _elapsed: None)
        except TcplabError as error:
            return JudgedNetwork(number, words, None, str(error))
        return JudgedNetwork(number, words, judge_network(run_of(raw, data)))


def lines(network: JudgedNetwork) -> Iterator[str]:
    """A line of the table, and one for each check that is not as it should be."""
    verdict = network.verdict
    yield f"{network.number:4} {verdict.verdict if verdict else 'FAILED':17} {network.words}"
    if verdict is None:
        yield f"       {network.problem}"
        return
    for check in verdict.checks:
        if check.outcome in _SHOWN:
            yield f"       {check.what}: asked {check.asked}; measured {check.measured}"


def summary(networks: list[JudgedNetwork]) -> Iterator[str]:
    """How many of each verdict, and of each check how many of each outcome."""
    verdicts = Counter(each.verdict.verdict if each.verdict else "FAILED" for each in networks)
    yield ", ".join(f"{count} {verdict}" for verdict, count in verdicts.most_common())
    checks = [check for each in networks if each.verdict for check in each.verdict.checks]
    for what in dict.fromkeys(check.what for check in checks):
        outcomes = Counter(check.outcome for check in checks if check.what == what)
        words = ", ".join(f"{count} {outcome}" for outcome, count in outcomes.most_common())
        yield f"{what}: {words}"


def _arguments() -> Namespace:
    parser = ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--count", type=int, default=200, help="How many networks.")
    parser.add_argument("--first", type=int, default=1, help="The number of the first.")
    parser.add_argument("--workers", type=int, default=2, help="Guests at once.")
    return parser.parse_args()


def main() -> None:
    arguments, ready = _arguments(), lab()
    numbers = range(arguments.first, arguments.first + arguments.count)
    networks = []
    with ThreadPoolExecutor(arguments.workers) as pool:
        for network in pool.map(lambda number: judged(number, ready), numbers):
            networks.append(network)
            print("\n".join(lines(network)), flush=True)
    print("\n".join(summary(networks)))


if __name__ == "__main__":
    main()
