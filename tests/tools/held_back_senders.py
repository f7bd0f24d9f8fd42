"""What held senders back on random networks: the analyser's times beside the kernel's own.

    .venv/bin/python -m tests.tools.held_back_senders --count 100

It is no test: it takes minutes, and what it prints is for people. Each conversation is captured at
its sender, and at its end the sender's tcp_info is read: for how long data was outstanding
(tcpi_busy_time), and how long of that the receiver's window was in the way (tcpi_rwnd_limited).
"""

import json
import random
from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import exp, log
from pathlib import Path
from typing import Any

from analysis import flows
from testbed.host.scratch import scratch
from testbed.host.supervise import Limits
from testbed.lab.ready import Lab, lab
from testbed.virtual.run import run_in_guest
from topologies.data import to_data
from topologies.shapes import two_hosts
from topologies.spec import Channel
from topologies.units import Duration, Packets, Rate, Share

MODULE = "tests.virtual.held_back_jobs"
TOLERANCE = 0.05  # of the time from the first data to the end
_PACKETS, _FRAME = 12_000, 12_112  # of the link in a conversation, and bits of one
_BATCH, _WALL_SECONDS = 20, 900.0
_LEAST, _LEAST_ANSWERED, _MOST = 1e5, 2e7, 1.5e8
"""Nanoseconds each way; the kernel loses a tick of its clock, 1 ms, with each answered message."""
_ALGORITHMS = ("cubic", "reno")
"""Not BBR: a paced sender looks at its timer before the window, and what it waits for the window
while the timer runs is not counted as that (tcp_write_xmit in net/ipv4/tcp_output.c)."""
_HIDDEN = ("number", "topology", "sysctls", "seconds")


@dataclass(frozen=True)
class HeldBackSender:
    """Shares of the time of a conversation, as (analyser's, kernel's)."""

    number: int
    words: str
    seconds: float
    receiver: tuple[float, float]
    busy: tuple[float, float]

    @property
    def error(self) -> float:
        """The larger difference of both."""
        return max(abs(ours - kernel) for ours, kernel in (self.receiver, self.busy))


def conversation(number: int) -> tuple[str, dict[str, Any]]:
    """The conversation of that number, in words and as the job takes it."""
    draw = random.Random(number)
    program = draw.choice(("bulk", "bulk", "messages", "answered"))
    channel = _channel(draw, _LEAST_ANSWERED if program == "answered" else _LEAST)
    told = {"number": number, "topology": to_data(two_hosts(channel))} | _ends(
        draw, channel, program
    )
    words = f"{channel.bandwidth} {channel.delay} loss {channel.loss} queue {channel.queue}"
    shown = {name: value for name, value in told.items() if value and name not in _HIDDEN}
    shown |= {"cc": told["sysctls"]["net.ipv4.tcp_congestion_control"]}
    return f"{words}; {', '.join(f'{name} {value}' for name, value in shown.items())}", told


def _channel(draw: random.Random, least: float) -> Channel:
    delay = round(exp(draw.uniform(log(least), log(_MOST))) / 1e3) * 1000
    return Channel(
        Rate(round(exp(draw.uniform(log(5e5), log(5e8))) / 1e3) * 1000),
        Duration(delay),
        Share(draw.choice((0, 0, round(exp(draw.uniform(log(1e-4), log(0.03))) * 1e6) * 10**4))),
        Duration(0),
        Packets(round(exp(draw.uniform(log(5), log(1000))))),
    )


def _ends(draw: random.Random, channel: Channel, program: str) -> dict[str, Any]:
    """What the programs, their buffers and their kernels do."""
    seconds = min(20.0, max(2.0, _PACKETS * _FRAME / channel.bandwidth.base))
    sysctls = {"net.ipv4.tcp_congestion_control": draw.choice(_ALGORITHMS)}
    message = 65536 if program == "bulk" else _size(draw, 50, 100_000)
    bulk = program == "bulk"
    pause = 0.0 if bulk else draw.choice((0.0, exp(draw.uniform(log(1e-3), log(0.5)))))
    slow = draw.choice((True, False, False))
    return {
        "sysctls": sysctls,
        "seconds": seconds,
        "message": message,
        "answered": program == "answered",
        "pause": pause,
        "receive_buffer": draw.choice((0, 0, _size(draw, 8000, 1_000_000))),
        "send_buffer": draw.choice((0, 0, _size(draw, 20_000, 1_000_000))),
        "late": draw.choice((0.0, 0.0, draw.uniform(0.0, seconds * 0.8))),
        "piece": _size(draw, 500, 200_000) if slow else 1 << 20,
        "rest": exp(draw.uniform(log(1e-3), log(1.0))) if slow else 0.0,
    }


def _size(draw: random.Random, least: float, most: float) -> int:
    return round(exp(draw.uniform(log(least), log(most))))


def compared(numbers: Sequence[int], ready: Lab) -> Iterator[HeldBackSender]:
    """The conversations of these numbers, carried out one after the other in one guest."""
    drawn = [conversation(number) for number in numbers]
    with scratch() as folder:
        run_in_guest(
            ready,
            MODULE,
            [told for _words, told in drawn],
            1,
            folder,
            lambda _phase, _elapsed: None,
            Limits(_WALL_SECONDS),
        )
        counted = json.loads((folder / "counted.json").read_text())
        for words, told in drawn:
            number = told["number"]
            yield _sender(number, words, folder / f"{number}.pcap", counted[str(number)])


def _sender(number: int, words: str, capture: Path, counted: dict[str, Any]) -> HeldBackSender:
    row = flows.read(capture).connections.row(0, named=True)
    ending = "a2b" if row["port_b"] == 5001 else "b2a"
    limits = {
        name: row[f"limited_{name}_{ending}"] for name in ("receiver", "network", "application")
    }
    whole = max(1, sum(limits.values()))
    return HeldBackSender(
        number,
        words,
        whole / 1e9,
        (limits["receiver"] / whole, counted["rwnd_limited_us"] * 1000 / whole),
        (row[f"busy_{ending}"] / whole, counted["busy_us"] * 1000 / whole),
    )


def line(sender: HeldBackSender) -> str:
    """A line of the table: shares in percent, ours before the kernel's."""
    shares = [f"{share * 100:6.1f}" for share in (*sender.receiver, *sender.busy)]
    mark = "!" if sender.error > TOLERANCE else " "
    return f"{sender.number:4}{mark} {''.join(shares)} {sender.seconds:5.1f}s {sender.words}"


def main() -> None:
    parser = ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--count", type=int, default=100, help="How many conversations.")
    parser.add_argument("--first", type=int, default=1, help="The number of the first.")
    arguments, ready = parser.parse_args(), lab()
    numbers = range(arguments.first, arguments.first + arguments.count)
    senders = []
    print("   receiver ours, kernel's; busy ours, kernel's (percent)")
    for start in range(0, len(numbers), _BATCH):
        for sender in compared(numbers[start : start + _BATCH], ready):
            senders.append(sender)
            print(line(sender), flush=True)
    agreeing = sum(sender.error <= TOLERANCE for sender in senders)
    print(f"{agreeing} of {len(senders)} within {TOLERANCE:.0%} of the time")


if __name__ == "__main__":
    main()
