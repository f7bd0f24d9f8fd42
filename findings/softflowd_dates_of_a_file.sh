#!/usr/bin/env bash
# Package: softflowd 1.1.0-1+b1, nfdump 1.7.1-2+deb12u1 (Debian 12)
# Behaviour: softflowd -r exports flows of an old capture by NetFlow 9 with the present clock and
#   an up-time counted from the capture, so nfdump shows them in another year: neither that of the
#   packets nor of the export.
# Expected: each flow has its start and end; nfpcapd reads the same file with the right dates.
# Seen: packets of 2023-11-14; nfdump by softflowd: not 2023, by nfpcapd: 2023-11-14 22:13:20
#   (2026-11-29)
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
unpack softflowd=1.1.0-1+b1 nfdump=1.7.1-2+deb12u1 libpcap0.8
need softflowd nfcapd nfpcapd nfdump
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
mkdir exported read
port=$(python3 -c 'import socket as s
x = s.socket(2, 2)
x.bind(("127.0.0.1", 0))
print(x.getsockname()[1])')
nfcapd -p "$port" -b 127.0.0.1 -l exported -t 3600 >log 2>&1 &
collector=$!
trap 'kill $collector 2>/dev/null || true; rm -rf "$work"' EXIT
until ss -lun "sport = :$port" | grep -q 127.0.0.1; do sleep 0.1; done
softflowd -r long.pcap -n "127.0.0.1:$port" -v 9 -d >>log 2>&1
sleep 2
kill $collector && wait $collector || true
nfpcapd -r long.pcap -l read >>log 2>&1
for folder in exported read; do
    TZ=UTC nfdump -q -R $folder -o 'fmt:%ts %td %pkt' 2>/dev/null | grep ':' | head -1 >line
    grep -q '^ *2023-11-14 22:13:20' line && echo "$folder 2023" ||
        echo "$folder other $(wc -l <line)"
done >seen
cat seen
diff - seen <<'END' || { echo "changed since 2026-11-29" >&2; exit 1; }
exported other 1
read 2023
END
