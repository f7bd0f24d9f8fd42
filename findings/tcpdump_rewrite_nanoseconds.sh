#!/usr/bin/env bash
# Package: tcpdump 4.99.3-1 with libpcap0.8 1.10.3 (Debian 12)
# Behaviour: `tcpdump -r IN -w OUT` writes microseconds even if IN has nanoseconds: three digits
#   of each time are lost.
# Expected: a copy by the reference tool, often made only to filter, would keep the times, as
#   editcap does; the precision of reading is an option (--nano) that one looks for at a screen
#   only.
# Seen: 1700000000.123456789 becomes 1700000000.123456000; with --nano it is kept (2026-11-29)
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


capture("in.pcap", 1700000000, 123456789, [frame], magic=0xA1B23C4D)
END
user=$(id -un)
tcpdump -Z "$user" -r in.pcap -w plain.pcap 2>log
tcpdump -Z "$user" --nano -r in.pcap -w nano.pcap 2>log
for file in in plain nano; do
    echo "$file $(tcpdump -Z "$user" --nano -tt -nr $file.pcap 2>log | cut -d' ' -f1)"
done >seen
cat seen
diff - seen <<'END' || { echo "changed since 2026-11-29" >&2; exit 1; }
in 1700000000.123456789
plain 1700000000.123456000
nano 1700000000.123456789
END
