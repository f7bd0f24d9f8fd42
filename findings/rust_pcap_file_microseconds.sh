#!/usr/bin/env bash
# Package: pcap-file 2.0.0 (crates.io)
# Behaviour: PcapNgReader gives the time of each packet as if its ticks were nanoseconds: a
#   capture with the default resolution of a microsecond is in January 1970.
# Expected: the field is a Duration, so the unit seems settled, and the interface block with
#   if_tsresol was parsed.
# Seen: 1700000000.123456 s becomes 1700000.000123456 s (2026-11-29)
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -  <<'END'
import struct

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


with open("plain.pcapng", "wb") as file:
    file.write(section() + interface() + packet(0, 1700000000123456))
END
cargo init -q --name finding --vcs none . 2>log
cat >>Cargo.toml <<'END'
pcap-file = "=2.0.0"
END
cat >src/main.rs <<'END'
use pcap_file::pcapng::{Block, PcapNgReader};

fn main() {
    let file = std::fs::File::open("plain.pcapng").unwrap();
    let mut reader = PcapNgReader::new(file).unwrap();
    while let Some(block) = reader.next_block() {
        if let Block::EnhancedPacket(packet) = block.unwrap() {
            println!("{:?}", packet.timestamp);
        }
    }
}
END
cargo fetch -q 2>log || { echo "not checked: $(tail -1 log)" >&2; exit 3; }
cargo run -q >seen
cat seen
diff - seen <<'END' || { echo "changed since 2026-11-29" >&2; exit 1; }
1700000.000123456s
END
