"""A reference: keeps what comes out of order, and tells the sender."""

import socket
import sys
from pathlib import Path


def main() -> None:
    line = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    line.bind(("", int(sys.argv[1])))
    kept: dict[int, bytes] = {}
    following = 0
    with Path(sys.argv[2]).open("wb", buffering=0) as file:
        while True:
            packet, sender = line.recvfrom(2000)
            number = int.from_bytes(packet[:4], "big")
            if number >= following:
                kept[number] = packet[4:]
            while following in kept:
                file.write(kept.pop(following))
                following += 1
            bits = sum(1 << n - following for n in kept if n - following < 256)
            answer = following.to_bytes(4, "big") + number.to_bytes(4, "big")
            line.sendto(answer + bits.to_bytes(32, "big"), sender)


main()
