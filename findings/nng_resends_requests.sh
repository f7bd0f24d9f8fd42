#!/usr/bin/env bash
# Package: pynng 0.9.0 (PyPI)
# Behaviour: A Req0 socket sends its request again each minute (resend_time 60000 ms) until an
#   answer comes, also over a sound connection; a slow server works on the same request twice.
# Expected: TCP is reliable, and ZeroMQ's REQ, from which it descends, never repeats.
# Seen: resend_time 60000; with 1000 ms a request without an answer arrives more than twice in 5 s
#   (2026-11-29)
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m pip -q install --disable-pip-version-check --no-compile --target lib \
    pynng==0.9.0 2>log ||
    { echo "not checked: $(tail -1 log)" >&2; exit 3; }
export PYTHONPATH=$work/lib PYTHONWARNINGS=ignore
python3 - >seen <<'END'
import time

import pynng

with pynng.Rep0(listen="tcp://127.0.0.1:0", recv_timeout=200) as server:
    address = f"tcp://{server.listeners[0].local_address}"
    with pynng.Req0(dial=address) as client:
        print("resend_time", client.resend_time)
        client.resend_time = 1000
        client.send(b"pay once")
        count, start = 0, time.monotonic()
        while time.monotonic() - start < 5:
            try:
                count += server.recv() == b"pay once"
            except pynng.Timeout:
                pass
print("more than two", count > 2)
END
cat seen
diff - seen <<'END' || { echo "changed since 2026-11-29" >&2; exit 1; }
resend_time 60000
more than two True
END
