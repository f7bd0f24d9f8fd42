#!/usr/bin/env bash
# Package: scapy 2.8.0 (PyPI)
# Behaviour: After `cat a.pcapng b.pcapng >both.pcapng`, a valid file of two sections, rdpcap
#   numbers the interfaces of the second section after those of the first, so packets of b get the
#   resolution of a: 1000 times too late here.
# Expected: the format was made to be concatenated; interface numbers begin at 0 in each section.
# Seen: a: 1700000000, b: 1700000000000 (nanoseconds read as microseconds) (2026-11-29)
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m pip -q install --disable-pip-version-check --no-compile --target lib \
    scapy==2.8.0 2>log ||
    { echo "not checked: $(tail -1 log)" >&2; exit 3; }
export PYTHONPATH=$work/lib PYTHONWARNINGS=ignore
python3 - >seen <<'END'
import struct

from scapy.utils import rdpcap

frame = bytes.fromhex(
    "020000000002020000000001080045000028000100004006000000000a0000010a000002"
    "03e8005000000001000000015010200000000000"
)

def block(kind, body, order="<"):
    size = struct.pack(order + "I", len(body) + 12)
    return struct.pack(order + "I", kind) + size + body + size


def section(order="<"):
    return block(0x0A0D0D0A, struct.pack(order + "IHHq", 0x1A2B3C4D, 1, 0, -1), order)


def interface(options=b"", order="<"):
    return block(1, struct.pack(order + "HHI", 1, 0, 262144) + options, order)


def packet(index, ticks, order="<"):
    size = len(frame)
    head = struct.pack(order + "IIIII", index, ticks >> 32, ticks % 2**32, size, size)
    return block(6, head + frame + bytes(-len(frame) % 4), order)


nanoseconds = struct.pack("<HHB3xHH", 9, 1, 9, 0, 0)
with open("both.pcapng", "wb") as file:
    file.write(section() + interface() + packet(0, 1700000000 * 10**6))
    file.write(section() + interface(nanoseconds) + packet(0, 1700000000 * 10**9))
for packet in rdpcap("both.pcapng"):
    print(int(packet.time))
END
cat seen
diff - seen <<'END' || { echo "changed since 2026-11-29" >&2; exit 1; }
1700000000
1700000000000
END
