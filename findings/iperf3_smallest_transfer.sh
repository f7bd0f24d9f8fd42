#!/usr/bin/env bash
# Package: iperf3 3.12-1+deb12u2 (Debian 12)
# Behaviour: `iperf3 -n 1K` sends 131072 bytes, one block, though 1024 were asked for; -n is
#   rounded up to the block size (-l).
# Expected: -n is "number of bytes to transmit", and iperf3 knows it before the first write.
# Seen: sent 131072; with -l 1K 1024 (2026-11-29)
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
unpack iperf3=3.12-1+deb12u2 libiperf0=3.12-1+deb12u2 libsctp1
need iperf3
port=$(python3 -c 'import socket as s; print(s.create_server(("127.0.0.1", 0)).getsockname()[1])')
iperf3 -s -p "$port" >log 2>&1 &
server=$!
trap 'kill $server 2>/dev/null || true; rm -rf "$work"' EXIT
until ss -ltn "sport = :$port" | grep -q LISTEN; do sleep 0.1; done
for options in "-n 1K" "-n 1K -l 1K"; do
    iperf3 -c 127.0.0.1 -p "$port" -J $options |
        python3 -c 'import json, sys; print(json.load(sys.stdin)["end"]["sum_sent"]["bytes"])'
done >seen
cat seen
diff - seen <<'END' || { echo "changed since 2026-11-29" >&2; exit 1; }
131072
1024
END
