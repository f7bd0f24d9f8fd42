#!/usr/bin/env bash
# Package: nuttcp 6.1.2-4+b1 (Debian 12)
# Behaviour: A line of nuttcp counts bytes in MB of 1048576 and the rate in Mbps of 1000000 bits,
#   so MB times 8 over seconds is 4.9 % below its Mbps.
# Expected: two figures of a line would use one prefix; iperf2 and 3 call the first MBytes in the
#   same way, and most tools of disks do not.
# Seen: 10 buffers of 100,000 bytes: 0.9537 MB (2026-11-29)
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
unpack nuttcp=6.1.2-4+b1
need nuttcp
ports=$(python3 -c 'import socket as s
a, b = s.create_server(("127.0.0.1", 0)), s.create_server(("127.0.0.1", 0))
print("-P%d -p%d" % (a.getsockname()[1], b.getsockname()[1]))')
nuttcp -S -nofork -1 $ports &
server=$!
trap 'kill $server 2>/dev/null || true; rm -rf "$work"' EXIT
for _ in 1 2 3 4 5 6 7 8 9; do
    nuttcp $ports -n10 -l100000 -N1 127.0.0.1 >line 2>log && break || sleep 0.5
done
awk '{print $1, $2}' line >seen
cat seen
diff - seen <<'END' || { echo "changed since 2026-11-29" >&2; exit 1; }
0.9537 MB
END
