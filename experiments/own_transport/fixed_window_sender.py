"""Sends a stream over UDP: `ADDRESS PORT FILE`, until it is ended.

The transport below is whole: it numbers packets, measures round trips and repeats what was lost.
`Control` is bad, and is to be replaced: its window is the same on every network.
"""

import socket
import struct
import sys
import time
from pathlib import Path

PIECE = 1400  # bytes of data in a packet
HEADER = struct.Struct("!Id")  # number of the packet, time at which it leaves
ANSWER = struct.Struct("!IId")  # next in order, number that came, time at which that one left
LATER = 3  # packets that came and left after another: then that one is lost


class Control:
    """Decides how many packets may be on their way. The transport calls its methods."""

    window = 2.0

    def acknowledged(self, now: float, round_trip: float, on_the_way: int) -> None:
        """A packet came; it took `round_trip` seconds there and back."""

    def lost(self, now: float, sent: float) -> None:
        """A packet that left at the time `sent` was lost, as later ones came."""

    def silent(self, now: float) -> None:
        """No packet came for so long that all on the way are taken for lost."""


class Transport:
    """A stream of numbered packets, of which `Control.window` may be on their way."""

    def __init__(self, content: bytes, peer: tuple[str, int], control: Control) -> None:
        self.content, self.peer, self.control = content, peer, control
        self.line = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.left: dict[int, float] = {}  # packets on their way, in the order in which they left
        self.lost: dict[int, None] = {}  # packets to be repeated, in order
        self.latest: list[float] = []  # when the LATER newest packets left that came
        self.following = 0  # the first packet that never left
        self.smoothed, self.varied = 0.2, 0.1  # of the round trip, as in RFC 6298

    def run(self) -> None:
        """Send for ever: the run ends this program."""
        while True:
            while len(self.left) < self.control.window and self.send_next():
                pass
            self.line.settimeout(self.smoothed + 4 * self.varied + 0.05)
            try:
                answer = self.line.recv(2000)
            except TimeoutError:
                self.lost |= dict.fromkeys(self.left)
                self.left.clear()
                self.varied = min(2 * self.varied, 0.5)
                self.control.silent(time.monotonic())
            else:
                self.take(*ANSWER.unpack(answer))

    def send_next(self) -> bool:
        """Repeat a lost packet, or send a new one; False if there is none."""
        if self.lost:
            number = min(self.lost)
            del self.lost[number]
        elif self.following * PIECE < len(self.content):
            number = self.following
            self.following += 1
        else:
            return False
        now = time.monotonic()
        piece = self.content[number * PIECE : (number + 1) * PIECE]
        self.left[number] = now
        self.line.sendto(HEADER.pack(number, now) + piece, self.peer)
        return True

    def take(self, in_order: int, number: int, stamp: float) -> None:
        """Take an acknowledgement."""
        now = time.monotonic()
        round_trip = now - stamp
        self.varied += (abs(round_trip - self.smoothed) - self.varied) / 4
        self.smoothed += (round_trip - self.smoothed) / 8
        for waiting in (self.left, self.lost):
            for old in [old for old in waiting if old < in_order or old == number]:
                del waiting[old]
        self.control.acknowledged(now, round_trip, len(self.left))
        self.latest = sorted([*self.latest, stamp])[-LATER:]
        for old in [old for old, sent in self.left.items() if sent < self.latest[0]]:
            self.control.lost(now, self.left.pop(old))
            self.lost[old] = None


def main() -> None:
    """Send the file."""
    content = Path(sys.argv[3]).read_bytes()
    Transport(content, (sys.argv[1], int(sys.argv[2])), Control()).run()


main()
