#!/usr/bin/env bash
# Package: tshark 4.0.17-0+deb12u3 (Debian 12)
# Behaviour: `tshark -z follow,tcp,raw,0` puts the text "[3 bytes missing in capture file]" and a
#   NUL, as hexadecimal, among the bytes of a stream with a lost segment.
# Expected: raw is the mode for machines: what it prints goes through xxd -r into a file.
# Seen: 616263, then the text in hexadecimal, then 676869 (2026-11-29)
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
unpack tshark=4.0.17-0+deb12u3 liblua5.2-0 libsmi2ldbl libsnappy1v5 libwireshark16 \
    libwiretap13 libwsutil14 libpcap0.8
need tshark
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


syn, ack = 2, 16
frames = [segment(True, 0, 0, syn), segment(False, 0, 1, syn | ack), segment(True, 1, 1, ack)]
frames += [segment(True, 1, 1, ack, b"abc"), segment(True, 7, 1, ack, b"ghi")]
capture("gap.pcap", 1700000000, 0, [*frames, segment(False, 1, 10, ack)])
END
tshark -r gap.pcap -q -z follow,tcp,raw,0 2>log |
    grep -E '^[0-9a-f]+$' | xxd -r -p | tr '\0' . >seen
echo >>seen
cat seen
diff - seen <<'END' || { echo "changed since 2026-11-29" >&2; exit 1; }
abc[3 bytes missing in capture file].ghi
END
