#!/usr/bin/env bash
# Package: tcpflow 1.6.1-2+b1 (Debian 12)
# Behaviour: tcpflow writes NUL bytes for a segment that the capture lacks, and neither its file
#   nor its exit status says so.
# Expected: one expects the file to end at the gap, or to be shorter, or a warning: a NUL could be
#   data.
# Seen: 61 62 63 00 00 00 67 68 69, status 0 (2026-11-29)
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
unpack tcpflow=1.6.1-2+b1 libhttp-parser2.9 libpcap0.8
need tcpflow
python3 -  <<'END'
import struct

def capture(name, seconds, fraction, frames, magic=0xA1B2C3D4, link=1):
    with open(name, "wb") as file:
        file.write(struct.pack("<IHHiIII", magic, 2, 4, 0, 0, 262144, link))
        for frame in frames:
            file.write(struct.pack("<IIII", seconds, fraction, len(frame), len(frame)) + frame)


def segment(there, seq, ack, flags, data=b""):
    ends = (b"\x0a\0\0\1", 1000), (b"\x0a\0\0\2", 80)
    (source, sport), (target, dport) = ends if there else ends[::-1]
    size = 40 + len(data)
    ip = struct.pack("!BBHHHBBH4s4s", 69, 0, size, 1, 0, 64, 6, 0, source, target)
    tcp = struct.pack("!HHIIBBHHH", sport, dport, seq, ack, 80, flags, 8192, 0, 0)
    return bytes(12) + b"\x08\0" + ip + tcp + data


frames = [segment(True, 0, 0, 2), segment(True, 1, 1, 16, b"abc"), segment(True, 7, 1, 16, b"ghi")]
capture("gap.pcap", 1700000000, 0, frames)
END
tcpflow -r gap.pcap >log 2>&1
echo "status $?" >seen
xxd -p 010.000.000.001.01000-010.000.000.002.00080 >>seen
cat seen
diff - seen <<'END' || { echo "changed since 2026-11-29" >&2; exit 1; }
status 0
616263000000676869
END
