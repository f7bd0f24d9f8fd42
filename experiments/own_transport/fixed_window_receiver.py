"""Receives a stream over UDP: `PORT FILE`. Each packet is acknowledged.

An acknowledgement holds three things: the number of the packet that is next in order, that of the
packet which came, and the time that the sender wrote into it. This program needs no change.
"""

import socket
import struct
import sys
from pathlib import Path

HEADER = struct.Struct("!Id")  # number of the packet, time of the sender
ANSWER = struct.Struct("!IId")  # next in order, number that came, time of the sender
LATEST = 10_000  # packets beyond a gap that are kept


def main() -> None:
    """Keep what comes early, and write the file in order."""
    line = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    line.bind(("", int(sys.argv[1])))
    kept: dict[int, bytes] = {}
    following = 0
    with Path(sys.argv[2]).open("wb", buffering=0) as file:
        while True:
            packet, sender = line.recvfrom(2000)
            number, stamp = HEADER.unpack_from(packet)
            if following <= number < following + LATEST:
                kept[number] = packet[HEADER.size :]
            while following in kept:
                file.write(kept.pop(following))
                following += 1
            line.sendto(ANSWER.pack(following, number, stamp), sender)


main()
