#!/usr/bin/env bash
# Package: nfstream 6.6.0 (PyPI)
# Behaviour: NFStreamer reads a capture of link type 276 (Linux cooked v2) without an error and
#   gives no flow.
# Expected: that is what `tcpdump -i any` writes since libpcap 1.10; of link type 113, its
#   predecessor, the flow comes.
# Seen: 276: 0 flows, 113: 1 flow (2026-11-29)
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m pip -q install --disable-pip-version-check --no-compile --target lib \
    nfstream==6.6.0 2>log ||
    { echo "not checked: $(tail -1 log)" >&2; exit 3; }
export PYTHONPATH=$work/lib PYTHONWARNINGS=ignore
cat >flows.py <<'END'
import struct

from nfstream import NFStreamer

IP = bytes.fromhex("4500002800010000400600000a0000010a000002")
TCP = bytes.fromhex("03e8005000000000000000005002200000000000")
V2 = struct.pack("!HHIHBB8s", 0x0800, 0, 1, 1, 0, 6, b"\2\0\0\0\0\1")
V1 = struct.pack("!HHH8sH", 0, 1, 6, b"\2\0\0\0\0\1", 0x0800)
if __name__ == "__main__":
    for link, head in (276, V2), (113, V1):
        record = head + IP + TCP
        with open(f"{link}.pcap", "wb") as file:
            file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 262144, link))
            file.write(struct.pack("<IIII", 1700000000, 0, len(record), len(record)) + record)
        flows = list(NFStreamer(source=f"{link}.pcap", n_dissections=0, n_meters=1))
        print(link, len(flows))
END
python3 flows.py >seen
cat seen
diff - seen <<'END' || { echo "changed since 2026-11-29" >&2; exit 1; }
276 0
113 1
END
