#!/usr/bin/env bash
# Package: scapy 2.8.0 (PyPI); tshark 4.0 and dpkt 1.9.8 add it
# Behaviour: rdpcap ignores if_tsoffset of a pcapng interface, a number of seconds to add to each
#   time of its packets.
# Expected: scapy reads if_tsresol of the same option list, and the times look plausible.
# Seen: scapy 1700000000, dpkt 1700001000, with an offset of 1000 s (2026-11-29)
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m pip -q install --disable-pip-version-check --no-compile --target lib \
    scapy==2.8.0 dpkt==1.9.8 2>log ||
    { echo "not checked: $(tail -1 log)" >&2; exit 3; }
export PYTHONPATH=$work/lib PYTHONWARNINGS=ignore
python3 - >seen <<'END'
import struct

import dpkt
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


offset = struct.pack("<HHqHH", 14, 8, 1000, 0, 0)
with open("offset.pcapng", "wb") as file:
    file.write(section() + interface(offset) + packet(0, 1700000000000000))
print("scapy", int(rdpcap("offset.pcapng")[0].time))
with open("offset.pcapng", "rb") as file:
    print("dpkt", int(next(iter(dpkt.pcapng.Reader(file)))[0]))
END
cat seen
diff - seen <<'END' || { echo "changed since 2026-11-29" >&2; exit 1; }
scapy 1700000000
dpkt 1700001000
END
