#!/usr/bin/env bash
# Package: argus-server 2:3.0.8.2-2.2 and argus-client 1:3.0.8.2-6.1+b3 (Debian 12)
# Behaviour: argus without a configuration writes a record of a live flow each five seconds: one
#   connection of 200 s gives more than forty, each with the state CON.
# Expected: a flow record is taken for a connection, with its duration; the active time-outs of
#   NetFlow are 60 to 1800 s.
# Seen: more than 40 records, the longest of them under 5 s (2026-11-29)
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
unpack argus-server=2:3.0.8.2-2.2 argus-client=1:3.0.8.2-6.1+b3 libwrap0 libgeoip1 \
    libpcap0.8
need argus ra
python3 -  <<'END'
import struct

def segment(there, seq, ack, flags, data=b""):
    ends = (b"\x0a\0\0\1", 1000), (b"\x0a\0\0\2", 80)
    (source, sport), (target, dport) = ends if there else ends[::-1]
    size = 40 + len(data)
    ip = struct.pack("!BBHHHBBH4s4s", 69, 0, size, 1, 0, 64, 6, 0, source, target)
    tcp = struct.pack("!HHIIBBHHH", sport, dport, seq, ack, 80, flags, 8192, 0, 0)
    return bytes(12) + b"\x08\0" + ip + tcp + data

frames = [(0, segment(True, 0, 0, 2)), (0.01, segment(False, 0, 1, 18))]
frames.append((0.02, segment(True, 1, 1, 16)))
for second in range(1, 200):
    there = segment(True, 1 + 100 * (second - 1), 1, 24, bytes(100))
    frames += [(second, there), (second + 0.01, segment(False, 1, 1 + 100 * second, 16))]
frames += [(200, segment(True, 19901, 1, 17)), (200.01, segment(False, 1, 19902, 17))]
frames.append((200.02, segment(True, 19902, 2, 16)))
with open("long.pcap", "wb") as file:
    file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 262144, 1))
    for after, frame in frames:
        ticks = 1700000000_000000 + round(after * 1e6)
        file.write(struct.pack("<IIII", *divmod(ticks, 10**6), len(frame), len(frame)) + frame)
END
argus -X -r long.pcap -w long.argus
ra -n -r long.argus -s dur pkts - tcp | awk '
    NR > 1 { count++; packets += $2; if ($1 > longest) longest = $1 }
    END { print (count > 40), packets, (longest < 5) }' >seen
cat seen
diff - seen <<'END' || { echo "changed since 2026-11-29" >&2; exit 1; }
1 404 1
END
