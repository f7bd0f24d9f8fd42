#!/usr/bin/env bash
# Package: httpx 0.28.1 with httpcore 1.0.9 and h2 4.4.1 (PyPI)
# Behaviour: An HTTP/2 client of httpx opens 16 MiB more of receive window for the connection, and
#   16 MiB more for each stream, so a server can send 16 MiB before the program reads a byte; its
#   SETTINGS still say 65535.
# Expected: SETTINGS_INITIAL_WINDOW_SIZE is what one looks at, and h2's default is 65535 for both.
# Seen: initial window 65535, WINDOW_UPDATE 16777216 on stream 0 and on stream 1 (2026-11-29)
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m pip -q install --disable-pip-version-check --no-compile --target lib \
    httpx[http2]==0.28.1 httpcore==1.0.9 h2==4.4.1 2>log ||
    { echo "not checked: $(tail -1 log)" >&2; exit 3; }
export PYTHONPATH=$work/lib PYTHONWARNINGS=ignore
python3 - >seen <<'END'
import socket
import threading

import httpx
from hyperframe.frame import Frame, SettingsFrame, WindowUpdateFrame

listener = socket.create_server(("127.0.0.1", 0))
received = bytearray()


def listen():
    peer, _ = listener.accept()
    while data := peer.recv(65536):
        received.extend(data)


thread = threading.Thread(target=listen)
thread.start()
try:
    with httpx.Client(http1=False, http2=True, timeout=2) as client:
        client.get(f"http://127.0.0.1:{listener.getsockname()[1]}/")
except httpx.ReadTimeout:
    thread.join()
rest = memoryview(received)[24:]
while rest:
    frame, size = Frame.parse_frame_header(rest[:9])
    frame.parse_body(rest[9 : 9 + size])
    rest = rest[9 + size :]
    if isinstance(frame, SettingsFrame):
        print("initial window", frame.settings[SettingsFrame.INITIAL_WINDOW_SIZE])
    if isinstance(frame, WindowUpdateFrame):
        print("stream", frame.stream_id, "update", frame.window_increment)
END
cat seen
diff - seen <<'END' || { echo "changed since 2026-11-29" >&2; exit 1; }
initial window 65535
stream 0 update 16777216
stream 1 update 16777216
END
