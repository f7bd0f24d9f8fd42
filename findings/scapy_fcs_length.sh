#!/usr/bin/env bash
# Package: scapy 2.8.0 (PyPI), against tcpdump 4.99.3-1 (Debian 12)
# Behaviour: A pcap header whose link type also gives the length of the frame check sequence (bits
#   26 and 28 to 31, for adapters that keep the FCS) is an unknown link type to scapy, which gives
#   raw bytes with a warning.
# Expected: the bits are in the description of the format, and libpcap masks them.
# Seen: scapy Raw, tcpdump EN10MB (2026-11-29)
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m pip -q install --disable-pip-version-check --no-compile --target lib \
    scapy==2.8.0 2>log ||
    { echo "not checked: $(tail -1 log)" >&2; exit 3; }
export PYTHONPATH=$work/lib PYTHONWARNINGS=ignore
unpack() { # Unpack Debian packages below root/, without installing them.
    apt-get -qq download "$@" 2>log ||
        { echo "not checked: $(grep ^E: log | head -1)" >&2; exit 3; }
    for file in *.deb; do dpkg -x "$file" root; done
    for folder in root/usr/lib/*-linux-gnu root/lib/*-linux-gnu; do
        [ ! -d "$folder" ] || LD_LIBRARY_PATH=$work/$folder:${LD_LIBRARY_PATH:-}
    done
    export LD_LIBRARY_PATH PATH=$work/root/usr/bin:$work/root/usr/sbin:$PATH
}
need() { # Check the libraries of the tools.
    for tool; do
        missing=$(ldd "$(command -v "$tool")" | grep "not found" || true)
        [ -z "$missing" ] || { echo "not checked: needs Debian 12:" $missing >&2; exit 3; }
    done
}
unpack tcpdump=4.99.3-1 libpcap0.8
need tcpdump
python3 -  <<'END'
import struct

def capture(name, seconds, fraction, frames, magic=0xA1B2C3D4, link=1):
    with open(name, "wb") as file:
        file.write(struct.pack("<IHHiIII", magic, 2, 4, 0, 0, 262144, link))
        for frame in frames:
            file.write(struct.pack("<IIII", seconds, fraction, len(frame), len(frame)) + frame)

frame = bytes.fromhex(
    "020000000002020000000001080045000028000100004006000000000a0000010a000002"
    "03e8005000000001000000015010200000000000"
)


link = 1 | 1 << 26 | 4 << 28
capture("fcs.pcap", 1700000000, 5, [frame + bytes(4)], link=link)
END
python3 - >seen <<'END'
from scapy.utils import rdpcap

print("scapy", type(rdpcap("fcs.pcap")[0]).__name__)
END
tcpdump -Z "$(id -un)" -nr fcs.pcap 2>&1 >log | grep -o EN10MB | sed 's/^/tcpdump /' >>seen
cat seen
diff - seen <<'END' || { echo "changed since 2026-11-29" >&2; exit 1; }
scapy Raw
tcpdump EN10MB
END
