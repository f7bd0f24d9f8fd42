"""A reference: a window of packets, repeats of what the receiver misses, and a measured timer."""

import socket
import sys
import time
from pathlib import Path

PIECE, REORDERING, MOST = 1400, 8, 64


def main() -> None:
    content = Path(sys.argv[3]).read_bytes()
    peer = sys.argv[1], int(sys.argv[2])
    pieces = [content[at : at + PIECE] for at in range(0, len(content), PIECE)]
    line = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    lowest, following, window, smoothed = 0, 0, 4.0, 0.3
    sent: dict[int, float] = {}
    repeated: set[int] = set()
    held: set[int] = set()
    backed_off = 0.0

    def send(number: int) -> None:
        sent[number] = time.monotonic()
        line.sendto(number.to_bytes(4, "big") + pieces[number], peer)

    while lowest < len(pieces):
        while following < len(pieces) and following - lowest - len(held) < window:
            send(following)
            following += 1
        patience = max(0.05, 2 * smoothed) + backed_off
        due = min((sent[n] for n in range(lowest, following) if n not in held), default=0.0)
        wait = max(0.0, due + patience - time.monotonic())
        line.settimeout(wait + 1e-4)
        try:
            packet = line.recv(2000)
        except TimeoutError:
            for number in [n for n in range(lowest, following) if n not in held][:2]:
                repeated.add(number)
                send(number)
            window, backed_off = max(2.0, window / 2), min(1.0, backed_off + smoothed)
            continue
        upto, newest = int.from_bytes(packet[:4], "big"), int.from_bytes(packet[4:8], "big")
        bits = int.from_bytes(packet[8:], "big")
        if newest in sent and newest not in repeated:
            smoothed += (time.monotonic() - sent[newest] - smoothed) / 8
        if upto > lowest:
            window, backed_off = min(MOST, window + (upto - lowest) / window), 0.0
        lowest = max(lowest, upto)
        held = {n for n in held if n >= lowest}
        held |= {upto + n for n in range(256) if bits >> n & 1 and upto + n >= lowest}
        top = max(held, default=lowest)
        now = time.monotonic()
        for number in range(lowest, top - REORDERING + 1):
            if number not in held and now - sent[number] > smoothed:
                if number not in repeated:
                    window = max(4.0, window * 0.8)
                repeated.add(number)
                send(number)


main()
