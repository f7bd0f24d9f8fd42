#!/usr/bin/env bash
# Package: github.com/gopacket/gopacket 1.7.7 (Go)
# Behaviour: pcapgo.NgReader is 353 microseconds off for a time in units of 2**-20 s, since it
#   counts whole nanoseconds a tick (953 for 953.67); the error grows with the fraction of the
#   second.
# Expected: the format allows powers of two, the reader accepts them, and the seconds are right.
# Seen: 1700000000.5 becomes 1700000000.499646464 (2026-11-29)
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


binary = struct.pack("<HHB3xHH", 9, 1, 0x80 | 20, 0, 0)
with open("binary.pcapng", "wb") as file:
    file.write(section() + interface(binary) + packet(0, (1700000000 << 20) + (1 << 19)))
END
export GOPATH=$work/go GOFLAGS=-modcacherw GOTOOLCHAIN=local
cat >main.go <<'END'
package main

import (
	"fmt"
	"os"

	"github.com/gopacket/gopacket/pcapgo"
)

func main() {
	file, err := os.Open("binary.pcapng")
	if err != nil {
		panic(err)
	}
	reader, err := pcapgo.NewNgReader(file, pcapgo.DefaultNgReaderOptions)
	if err != nil {
		panic(err)
	}
	_, info, err := reader.ReadPacketData()
	fmt.Println(info.Timestamp.Unix(), info.Timestamp.Nanosecond(), err)
}
END
go mod init finding 2>log
for module in github.com/gopacket/gopacket/pcapgo@v1.7.7; do
    go get "$module" 2>log || { echo "not checked: $(tail -1 log)" >&2; exit 3; }
done
go build -o finding .
./finding >seen
cat seen
diff - seen <<'END' || { echo "changed since 2026-11-29" >&2; exit 1; }
1700000000 499646464 <nil>
END
