#!/usr/bin/env bash
# Package: sockperf 3.7-1 (Debian 12)
# Behaviour: The "avg-latency" of sockperf ping-pong is half of the round trip.
# Expected: it is printed next to the number of messages sent and received, and qperf, netperf and
#   ping give round trips or say so.
# Seen: answers that take 20 ms at least: percentile 25 from 10 to 19 ms (2026-11-29)
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
unpack sockperf=3.7-1
need sockperf
python3 - >seen <<'END'
import re
import socket
import subprocess
import threading
import time


def udp():
    ours = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    ours.bind(("127.0.0.1", 0))
    return ours


def relay(front, back, server):
    while True:
        message, client = front.recvfrom(65536)
        back.sendto(message, ("127.0.0.1", server))
        answer = back.recv(65536)
        time.sleep(0.02)
        front.sendto(answer, client)


with udp() as free:
    port = free.getsockname()[1]
quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
server = subprocess.Popen(["sockperf", "server", "-i", "127.0.0.1", "-p", str(port)], **quiet)
try:
    front, back = udp(), udp()
    time.sleep(1)
    threading.Thread(target=relay, args=[front, back, port], daemon=True).start()
    near = str(front.getsockname()[1])
    client = ["sockperf", "ping-pong", "-i", "127.0.0.1", "-p", near, "-t", "5"]
    text = subprocess.run(client, capture_output=True, text=True, check=True).stdout
    low = float(re.search(r"percentile 25.000 = *([0-9.]+)", text)[1])
    print("between 10 and 19 ms:", 10_000 <= low <= 19_000)
finally:
    server.kill()
END
cat seen
diff - seen <<'END' || { echo "changed since 2026-11-29" >&2; exit 1; }
between 10 and 19 ms: True
END
