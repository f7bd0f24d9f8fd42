#!/usr/bin/env bash
# Package: tcpdump 4.99.3-1 and tcptrace 6.6.7-6+b1 (Debian 12, 64 bits)
# Behaviour: A pcap file of 19 January 2038 or later, whose seconds are unsigned, prints as
#   "[Error converting time]" by tcpdump -tttt, and as 1901 by tcptrace.
# Expected: 64-bit programs with a 64-bit time_t were thought to be safe until 2106, when the
#   field of the file ends.
# Seen: tcpdump: [Error converting time]; tcptrace: 1901 (2026-11-29)
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
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
unpack tcpdump=4.99.3-1 tcptrace=6.6.7-6+b1 libpcap0.8
need tcpdump tcptrace
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


capture("late.pcap", 2**31 + 100, 5, [frame])
END
tcpdump -Z "$(id -un)" -tttt -nr late.pcap 2>log | cut -d' ' -f1-3 >seen
TZ=UTC tcptrace -n -l late.pcap | grep 'first packet' | awk '{print $NF}' >>seen
cat seen
diff - seen <<'END' || { echo "changed since 2026-11-29" >&2; exit 1; }
[Error converting time]
1901
END
