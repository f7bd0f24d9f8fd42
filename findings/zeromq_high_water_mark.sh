#!/usr/bin/env bash
# Package: pyzmq 27.3.0 (PyPI)
# Behaviour: A PUSH socket with the default high-water mark of 1000 takes a hundred times as many
#   small messages for a PULL that never reads: the mark counts messages in two queues, and the
#   buffers of TCP between them hold the rest.
# Expected: a limit of 1000 messages is taken for back-pressure at 1000; one message that is not
#   read is thought to be number 1001.
# Seen: more than 50,000 messages of 10 bytes without EAGAIN (2026-11-29)
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m pip -q install --disable-pip-version-check --no-compile --target lib \
    pyzmq==27.3.0 2>log ||
    { echo "not checked: $(tail -1 log)" >&2; exit 3; }
export PYTHONPATH=$work/lib PYTHONWARNINGS=ignore
python3 - >seen <<'END'
import time

import zmq

context = zmq.Context()
pull = context.socket(zmq.PULL)
port = pull.bind_to_random_port("tcp://127.0.0.1")
push = context.socket(zmq.PUSH)
push.linger = pull.linger = 0
push.connect(f"tcp://127.0.0.1:{port}")
taken, last = 0, time.monotonic()
while taken < 50_000 and time.monotonic() - last < 5:
    try:
        push.send(b"0123456789", zmq.NOBLOCK)
        taken, last = taken + 1, time.monotonic()
    except zmq.Again:
        time.sleep(0.01)
print("mark", push.sndhwm, pull.rcvhwm, "taken", "more than" if taken >= 50_000 else taken, 50_000)
END
cat seen
diff - seen <<'END' || { echo "changed since 2026-11-29" >&2; exit 1; }
mark 1000 1000 taken more than 50000
END
