"""A wrong one: writes what comes, in the order in which it comes."""

import socket
import sys
from pathlib import Path

line = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
line.bind(("", int(sys.argv[1])))
with Path(sys.argv[2]).open("wb", buffering=0) as file:
    while True:
        file.write(line.recv(2000))
