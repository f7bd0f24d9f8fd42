#!/usr/bin/env bash
# Package: scapy 2.8.0 (PyPI), read by tcptrace 6.6.7-6+b1 and tcpflow 1.6.1-2+b1 (Debian 12)
# Behaviour: wrpcap gives a capture of IPv4 packets without Ethernet the link type 228 (IPV4),
#   which tcptrace and tcpflow refuse.
# Expected: raw IP is link type 101 in nearly all captures, and both tools read that.
# Seen: 228; tcptrace: did not understand link format; tcpflow: unknown datalink type (2026-11-29)
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m pip -q install --disable-pip-version-check --no-compile --target lib \
    scapy==2.8.0 2>log ||
    { echo "not checked: $(tail -1 log)" >&2; exit 3; }
export PYTHONPATH=$work/lib PYTHONWARNINGS=ignore
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
unpack tcptrace=6.6.7-6+b1 tcpflow=1.6.1-2+b1 libhttp-parser2.9 libpcap0.8
need tcptrace tcpflow
python3 - >seen <<'END'
from scapy.all import IP, TCP, wrpcap

wrpcap("ip.pcap", [IP() / TCP()])
with open("ip.pcap", "rb") as file:
    print("link type", int.from_bytes(file.read(24)[20:], "little"))
END
{ tcptrace -n ip.pcap || true; } 2>&1 | grep -o 'did not understand link format (228)' >>seen
{ tcpflow -r ip.pcap || true; } 2>&1 | grep -o 'unknown datalink type 228' | head -1 >>seen
cat seen
diff - seen <<'END' || { echo "changed since 2026-11-29" >&2; exit 1; }
link type 228
did not understand link format (228)
unknown datalink type 228
END
