#!/usr/bin/env bash
# Package: github.com/google/gopacket 1.1.19 (Go), against dpkt 1.9.8 (PyPI)
# Behaviour: A UDP checksum that computes to 0 is sent as 0, which means "no checksum" in IPv4 and
#   is not allowed in IPv6; RFC 768 sends it as ffff.
# Expected: ComputeChecksums knows the pseudo-header, and the exception is on the first pages of
#   the RFC; dpkt, scapy, pypacker and etherparse send ffff.
# Seen: gopacket 0000, dpkt ffff, for the payload e01f (2026-11-29)
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m pip -q install --disable-pip-version-check --no-compile --target lib \
    dpkt==1.9.8 2>log ||
    { echo "not checked: $(tail -1 log)" >&2; exit 3; }
export PYTHONPATH=$work/lib PYTHONWARNINGS=ignore
python3 - >seen <<'END'
import dpkt

datagram = dpkt.udp.UDP(sport=1000, dport=2000, ulen=10, data=b"\xe0\x1f")
ends = {"src": b"\x0a\0\0\1", "dst": b"\x0a\0\0\2"}
packet = dpkt.ip.IP(**ends, p=17, len=30, data=datagram)
print("dpkt", bytes(packet)[26:28].hex())
END
export GOPATH=$work/go GOFLAGS=-modcacherw GOTOOLCHAIN=local
cat >main.go <<'END'
package main

import (
	"fmt"
	"net"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
)

func main() {
	ip := &layers.IPv4{Version: 4, TTL: 64, Protocol: layers.IPProtocolUDP}
	ip.SrcIP, ip.DstIP = net.IP{10, 0, 0, 1}, net.IP{10, 0, 0, 2}
	udp := &layers.UDP{SrcPort: 1000, DstPort: 2000}
	udp.SetNetworkLayerForChecksum(ip)
	buffer := gopacket.NewSerializeBuffer()
	options := gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}
	payload := gopacket.Payload{0xe0, 0x1f}
	if err := gopacket.SerializeLayers(buffer, options, ip, udp, payload); err != nil {
		panic(err)
	}
	fmt.Printf("gopacket %x\n", buffer.Bytes()[26:28])
}
END
go mod init finding 2>log
for module in github.com/google/gopacket@v1.1.19; do
    go get "$module" 2>log || { echo "not checked: $(tail -1 log)" >&2; exit 3; }
done
go build -o finding .
./finding >>seen
cat seen
diff - seen <<'END' || { echo "changed since 2026-11-29" >&2; exit 1; }
dpkt ffff
gopacket 0000
END
