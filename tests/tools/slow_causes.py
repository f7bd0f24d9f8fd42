"""Verdicts of analyze compared with the known cause of slowness, from both ends.

    .venv/bin/python -m tests.tools.slow_causes --each 10 --seed 1

One guest of the lab kernel makes all transfers of a cause: a drawn network, congestion control and
pattern of the application for each. The captures of both hosts are judged, and the matrix is
printed by place.
"""

from __future__ import annotations

import sys
import tempfile
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from analysis import flows
from analysis.analyze.facts import ConnectionFacts, connection
from analysis.analyze.verdict import Cause, verdict
from experiments.programs.network import Network
from experiments.programs.start import network

_PROGRAM = Path(__file__).with_name("programs") / "slow_transfer.py"
_CONTROLS = ("cubic", "reno", "bbr", "vegas", "westwood", "htcp", "illinois")


@dataclass(frozen=True)
class Transfer:
    """One connection: its link, and what the two programs do (programs/slow_transfer.py)."""

    link: dict[str, str]
    server: dict[str, Any] = field(default_factory=dict)
    client: dict[str, Any] = field(default_factory=dict)
    control: str = "cubic"
    down: tuple[float, float] | None = None
    """Seconds after the start, and seconds for which no packet passes."""
    scaled: bool = True


def _link(draw: Random, rate: tuple[float, float], queue: float, **more: str) -> dict[str, str]:
    """Draw a link; `queue` is in products of rate and round trip."""
    mbit, delay = draw.uniform(*rate), draw.uniform(10, 60)
    packets = max(round(queue * mbit * 1e6 * 2 * delay / 1e3 / 8 / 1500), 4)
    return {
        "bandwidth": f"{mbit:.2f}mbit",
        "delay": f"{delay:.1f}ms",
        "queue": str(packets),
        **more,
    }


def _window(draw: Random) -> Transfer:
    link = _link(draw, (40, 90), 2)
    trip = 2 * float(link["delay"][:-2]) / 1e3
    product = float(link["bandwidth"][:-4]) * 1e6 * trip / 8
    buffer = int(product * draw.uniform(0.15, 0.4))
    return Transfer(link, {"bytes": 30 * buffer}, {"receive": buffer})


def _closed(draw: Random) -> Transfer:
    pause = draw.uniform(0.3, 1.0)
    return Transfer(
        _link(draw, (10, 60), 2),
        {"bytes": 1_500_000},
        {"read": 60_000, "pause": pause, "receive": 65536},
    )


def _loss(draw: Random) -> Transfer:
    link = _link(draw, (30, 90), 2, loss=f"{draw.uniform(0.5, 2):.2f}%")
    return Transfer(link, {"bytes": 4_000_000}, control=draw.choice(("cubic", "reno", "htcp")))


def _full(draw: Random) -> Transfer:
    link = _link(draw, (3, 15), draw.uniform(0.3, 0.8))
    size = int(float(link["bandwidth"][:-4]) * 1e6 / 8 * draw.uniform(5, 8))
    return Transfer(link, {"bytes": size}, control=draw.choice(_CONTROLS))


def _bloat(draw: Random) -> Transfer:
    link = _link(draw, (2, 8), draw.uniform(6, 12))
    size = int(float(link["bandwidth"][:-4]) * 1e6 / 8 * draw.uniform(8, 12))
    return Transfer(link, {"bytes": size}, control=draw.choice(("cubic", "reno", "htcp")))


def _server(draw: Random) -> Transfer:
    think = draw.uniform(0.3, 1.0)
    return Transfer(
        _link(draw, (10, 60), 2),
        {"bytes": draw.randint(5_000, 60_000), "think": think},
        {"requests": draw.randint(5, 15)},
        draw.choice(_CONTROLS),
    )


def _client(draw: Random) -> Transfer:
    return Transfer(
        _link(draw, (10, 60), 2),
        {"bytes": draw.randint(5_000, 60_000)},
        {"requests": draw.randint(5, 15), "between": draw.uniform(0.4, 1.5)},
        draw.choice(_CONTROLS),
    )


def _paused(draw: Random) -> Transfer:
    server = {
        "bytes": 800_000,
        "piece": draw.randint(10_000, 40_000),
        "gap": draw.uniform(0.3, 0.8),
    }
    return Transfer(_link(draw, (10, 60), 2), server, control=draw.choice(_CONTROLS))


def _delayed(draw: Random) -> Transfer:
    link = _link(draw, (10, 60), 2) | {"delay": f"{draw.uniform(0.5, 8):.1f}ms"}
    return Transfer(link, {"bytes": 10}, {"requests": draw.randint(15, 40), "halves": 1})


def _reordered(draw: Random) -> Transfer:
    link = _link(draw, (20, 60), 2)
    jitter = float(link["delay"][:-2]) * draw.uniform(0.3, 0.8)
    return Transfer(
        link | {"jitter": f"{jitter:.1f}ms"},
        {"bytes": 3_000_000},
        control=draw.choice(("cubic", "reno")),
    )


def _unanswered(draw: Random) -> Transfer:
    return Transfer(_link(draw, (10, 60), 2, loss="100%"), {"bytes": 10})


def _refused(draw: Random) -> Transfer:
    return Transfer(_link(draw, (10, 60), 2), {}, {"port": 9})


def _lost_syn(draw: Random) -> Transfer:
    link = _link(draw, (10, 60), 2)
    server = {"bytes": draw.randint(5_000, 60_000)}
    return Transfer(
        link, server, control=draw.choice(_CONTROLS), down=(0.0, draw.uniform(0.2, 2.5))
    )


def _timed_out(draw: Random) -> Transfer:
    link = _link(draw, (20, 60), 2)
    down = (draw.uniform(0.3, 0.6), draw.uniform(3, 8))
    return Transfer(link, {"bytes": 4_000_000}, control=draw.choice(_CONTROLS), down=down)


def _unscaled(draw: Random) -> Transfer:
    return Transfer(_link(draw, (40, 90), 2), {"bytes": 3_000_000}, scaled=False)


def _short(draw: Random) -> Transfer:
    link = _link(draw, (60, 90), 3)
    return Transfer(link, {"bytes": draw.randint(40_000, 150_000)}, control=draw.choice(_CONTROLS))


SCENARIOS: dict[Cause, Callable[[Random], Transfer]] = {
    Cause.WINDOW: _window,
    Cause.UNSCALED: _unscaled,
    Cause.CLOSED: _closed,
    Cause.LOSS: _loss,
    Cause.LINK: _full,
    Cause.BLOAT: _bloat,
    Cause.START: _short,
    Cause.TIMEOUT: _timed_out,
    Cause.SERVER: _server,
    Cause.CLIENT: _client,
    Cause.PAUSES: _paused,
    Cause.DELAYED_ACK: _delayed,
    Cause.REORDERING: _reordered,
    Cause.LOST_SYN: _lost_syn,
    Cause.UNANSWERED: _unanswered,
    Cause.REFUSED: _refused,
}


def transfer(running: Network, wanted: Transfer, port: int) -> None:
    """Let h2 serve h1 once."""
    running.link.change(**{"loss": "0%", **wanted.link})
    words = [f"{name}={value}" for name, value in wanted.server.items()]
    words += [f"port={port}", f"control={wanted.control}"]
    server = None
    if wanted.server:
        server = running.h2.start([sys.executable, _PROGRAM, "serve", *words], port=port)
    told = {"port": port, "bytes": wanted.server.get("bytes", 0), **wanted.client}
    words = [f"{name}={value}" for name, value in told.items()]
    if wanted.down:
        running.link.down(wanted.down[0], wanted.down[1])
    setting = f"echo {int(wanted.scaled)} > /proc/sys/net/ipv4/tcp_window_scaling"
    running.h1.run(["/bin/sh", "-c", setting])
    client = running.h1.start([sys.executable, _PROGRAM, "ask", *words])
    client.wait("10min")
    if server:
        server.signal("SIGTERM")
    running.sleep("3s")


def judged(cause: Cause, each: int, seed: int) -> Iterator[tuple[str, ConnectionFacts]]:
    """Yield the connections of a cause with the place of their captures."""
    draw = Random(f"{cause} {seed}")
    with (
        tempfile.TemporaryDirectory() as folder,
        network(seed=seed, out=Path(folder) / "run", delay="1ms") as running,
    ):
        for number in range(each):
            transfer(running, SCENARIOS[cause](draw), 2000 + number)
        for end, place in (("h2", "sender"), ("h1", "receiver")):
            for row in flows.read(running.capture_file(end)).connection_table.as_rows():
                yield place, connection(row)


def main(each: int, seed: int, causes: str, show: bool) -> None:
    """Print a line per cause and place: how many verdicts are right, and what the others are."""
    wanted = [Cause(word) for word in causes.split(",")] if causes else list(SCENARIOS)
    for cause in wanted:
        found: dict[str, Counter[str]] = {"sender": Counter(), "receiver": Counter()}
        for place, facts in judged(cause, each, seed):
            said = verdict(facts)
            found[place][said.cause] += 1
            if show and said.cause != cause:
                print(f"  {place} {facts.number}: {said.sentence}")
        for place, counts in found.items():
            others = ", ".join(f"{name} {n}" for name, n in counts.most_common() if name != cause)
            right = f"{counts[cause]} of {counts.total()}"
            print(f"{cause:16} {place:9} {right:10} {others}", flush=True)


if __name__ == "__main__":
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--each", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--causes", default="")
    parser.add_argument("--show", action="store_true")
    main(**vars(parser.parse_args()))
