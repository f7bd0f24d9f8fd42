#!/usr/bin/env bash
# Package: tshark 4.0.17-0+deb12u3 (Debian 12), read by Python 3's json
# Behaviour: For a packet in a tunnel `tshark -T json` writes the key "ip" twice in one object;
#   json.load keeps the last, so the outer header is gone without an error.
# Expected: JSON as an export format suggests that a standard parser gets all; the option
#   --no-duplicate-keys makes an array.
# Seen: ip.src by json 192.0.2.1, with --no-duplicate-keys 10.0.0.9 and 192.0.2.1 (2026-11-29)
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


def header(source, target, protocol, size):
    addresses = bytes(source) + bytes(target)
    return struct.pack("!BBHHHBBH", 69, 0, size, 1, 0, 64, protocol, 0) + addresses


outer = header((10, 0, 0, 9), (10, 0, 0, 1), 4, 49)
inner = header((192, 0, 2, 1), (192, 0, 2, 2), 17, 29)
datagram = struct.pack("!HHHH", 4000, 4001, 9, 0) + b"x"
capture("tunnel.pcap", 1700000000, 0, [bytes(12) + b"\x08\0" + outer + inner + datagram])
END
tshark -r tunnel.pcap -T json >plain.json 2>log
tshark -r tunnel.pcap -T json --no-duplicate-keys >array.json 2>log
python3 - >seen <<'END'
import json

for name in "plain", "array":
    with open(f"{name}.json") as file:
        ip = json.load(file)[0]["_source"]["layers"]["ip"]
    print(name, [layer["ip.src"] for layer in (ip if isinstance(ip, list) else [ip])])
END
cat seen
diff - seen <<'END' || { echo "changed since 2026-11-29" >&2; exit 1; }
plain ['192.0.2.1']
array ['10.0.0.9', '192.0.2.1']
END
