"""Sends a file over UDP, one packet at a time: `ADDRESS PORT FILE`.

The next packet leaves when the last one was acknowledged, and a packet is sent again after 200 ms.
"""

import socket
import sys
from pathlib import Path

PIECE, PATIENCE = 1000, 0.2  # bytes, seconds


def main() -> None:
    """Send pieces with their number in front."""
    content = Path(sys.argv[3]).read_bytes()
    pieces = [content[at : at + PIECE] for at in range(0, len(content), PIECE)]
    line = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    line.settimeout(PATIENCE)
    for number, piece in enumerate(pieces):
        packet = number.to_bytes(4, "big") + piece
        line.sendto(packet, (sys.argv[1], int(sys.argv[2])))
        while True:
            try:
                if int.from_bytes(line.recv(4), "big") > number:
                    break
            except TimeoutError:
                line.sendto(packet, (sys.argv[1], int(sys.argv[2])))


main()
