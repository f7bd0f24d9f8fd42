"""A wrong one: sends everything once, and hopes."""

import socket
import sys
from pathlib import Path

content = Path(sys.argv[3]).read_bytes()
line = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for at in range(0, len(content), 1000):
    line.sendto(content[at : at + 1000], (sys.argv[1], int(sys.argv[2])))
