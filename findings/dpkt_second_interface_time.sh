#!/usr/bin/env bash
# Package: dpkt 1.9.8 (PyPI)
# Behaviour: dpkt.pcapng.Reader reads the times of all packets in the resolution of the first
#   interface: packets of a nanosecond interface after a microsecond one are in the year 55840.
# Expected: a pcapng file gives each interface its if_tsresol, and mergecap and dumpcap write such
#   mixed files.
# Seen: 1700000000.123456 for the first packet, 1700000000123.456800 for the second (2026-11-29)
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m pip -q install --disable-pip-version-check --no-compile --target lib \
    dpkt==1.9.8 2>log ||
    { echo "not checked: $(tail -1 log)" >&2; exit 3; }
export PYTHONPATH=$work/lib PYTHONWARNINGS=ignore
python3 - >seen <<'END'
import struct

import dpkt

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


def resolution(digits):
    return struct.pack("<HHB3xHH", 9, 1, digits, 0, 0)


with open("mixed.pcapng", "wb") as file:
    file.write(section() + interface(resolution(6)) + interface(resolution(9)))
    file.write(packet(0, 1700000000123456) + packet(1, 1700000000123456800))
with open("mixed.pcapng", "rb") as file:
    for time, _ in dpkt.pcapng.Reader(file):
        print(f"{time:.6f}")
END
cat seen
diff - seen <<'END' || { echo "changed since 2026-11-29" >&2; exit 1; }
1700000000.123456
1700000000123.456787
END
