"""Receives a file over UDP: `PORT FILE`. Each packet is answered with the number that is next."""

import socket
import sys
from pathlib import Path


def main() -> None:
    """Write pieces in order, and leave out those that came before."""
    line = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    line.bind(("", int(sys.argv[1])))
    following = 0
    with Path(sys.argv[2]).open("wb", buffering=0) as file:
        while True:
            packet, sender = line.recvfrom(2000)
            if int.from_bytes(packet[:4], "big") == following:
                file.write(packet[4:])
                following += 1
            line.sendto(following.to_bytes(4, "big"), sender)


main()
