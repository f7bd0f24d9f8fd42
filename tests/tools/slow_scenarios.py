"""Transfers of known slowness: a drawn network, congestion control and pattern of programs each."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from analysis.analyze.causes import Cause

TO_RECEIVER = ("r2-eth0", "r1-eth0")
"""Ports on the way of the data: the first before the capture in the middle."""
TO_SENDER = ("r1-eth1", "r2-eth1")
"""Ports on the way back: the first before the capture in the middle."""
_CONTROLS = ("cubic", "reno", "bbr", "vegas", "westwood", "htcp", "illinois")


@dataclass(frozen=True)
class Transfer:
    """One connection: its path, and what the two programs do (programs/slow_transfer.py)."""

    link: dict[str, str]
    server: dict[str, Any] = field(default_factory=dict)
    client: dict[str, Any] = field(default_factory=dict)
    control: str = "cubic"
    down: tuple[float, float] | None = None
    """Seconds after the start, and seconds for which no packet passes."""
    lost: tuple[str, ...] = ()  # ports of which that holds; empty for all
    scaled: bool = True
    near: float = 0.5  # part of the delay that is between the sender and the capture in the middle
    before: bool = True  # whether the slowest link is between them
    policer: tuple[int, int] | None = None
    """Bit/s and bytes of a token bucket on the slowest link, which drops what exceeds it."""


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
    link = _link(draw, (30, 90), 2, loss=f"{draw.uniform(0.5, 5):.2f}%")
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
    link = _link(draw, (40, 90), 6)
    jitter = float(link["delay"][:-2]) * draw.uniform(0.25, 0.7)
    near = draw.choice((0.25, 0.75))
    return Transfer(
        link | {"jitter": f"{jitter:.1f}ms"},
        {"bytes": 2_000_000},
        control=draw.choice(("cubic", "reno")),
        near=near,
        before=near > 0.5,
    )


def _unanswered(draw: Random) -> Transfer:
    down, lost = (0.0, 100.0), (draw.choice(TO_SENDER),)
    return Transfer(_link(draw, (10, 60), 2), {"bytes": 10}, down=down, lost=lost)


def _refused(draw: Random) -> Transfer:
    return Transfer(_link(draw, (10, 60), 2), {}, {"port": 9})


def _lost_syn(draw: Random) -> Transfer:
    link = _link(draw, (10, 60), 2)
    server = {"bytes": draw.randint(5_000, 60_000)}
    down, lost = (0.0, draw.uniform(0.2, 2.5)), (draw.choice((TO_SENDER[1], TO_RECEIVER[1])),)
    return Transfer(link, server, control=draw.choice(_CONTROLS), down=down, lost=lost)


def _timed_out(draw: Random) -> Transfer:
    link = _link(draw, (20, 60), 2)
    down = (draw.uniform(0.3, 0.6), draw.uniform(3, 8))
    return Transfer(link, {"bytes": 4_000_000}, control=draw.choice(_CONTROLS), down=down)


def _unscaled(draw: Random) -> Transfer:
    return Transfer(_link(draw, (40, 90), 2), {"bytes": 3_000_000}, scaled=False)


def _short(draw: Random) -> Transfer:
    link = _link(draw, (60, 90), 3)
    return Transfer(link, {"bytes": draw.randint(40_000, 150_000)}, control=draw.choice(_CONTROLS))


def _policed(draw: Random) -> Transfer:
    rate, burst = draw.uniform(1.5e6, 12e6), 10 ** draw.uniform(3.9, 5.4)
    size = burst + rate / 8 * draw.uniform(8, 14)
    return Transfer(
        _link(draw, (30, 90), 2),
        {"bytes": int(size)},
        control=draw.choice(_CONTROLS),
        policer=(int(rate), int(burst)),
    )


def _black_hole(draw: Random) -> Transfer:
    mtu = draw.choice((1000, 1280, 1400))
    return Transfer(
        _link(draw, (10, 60), 2),
        {"bytes": draw.randint(3, 8) * 1448 + draw.randint(200, 900)},
        {"mtu": mtu},
        draw.choice(_CONTROLS),
    )


def _reset(draw: Random) -> Transfer:
    size = draw.randint(100_000, 2_000_000)
    end = draw.choice(("server", "client"))
    abort = {"abort": int(size * draw.uniform(0.2, 0.8))}
    return Transfer(
        _link(draw, (10, 60), 2),
        {"bytes": size, **(abort if end == "server" else {})},
        abort if end == "client" else {},
        draw.choice(_CONTROLS),
    )


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
    Cause.POLICER: _policed,
    Cause.BLACK_HOLE: _black_hole,
    Cause.RESET: _reset,
}


def drawn(cause: Cause, draw: Random) -> Transfer:
    """Return a transfer of that cause, with a place of the slowest link and of the middle."""
    wanted = SCENARIOS[cause](draw)
    if cause == Cause.REORDERING:  # whose jitter needs the longer part
        return wanted
    return replace(wanted, near=draw.uniform(0.25, 0.75), before=draw.random() < 0.5)
