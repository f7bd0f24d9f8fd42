#!/usr/bin/env bash
# Package: websockets 17.4 (PyPI)
# Behaviour: A healthy client that has not called recv() for a while is closed by the server with
#   1011 "keepalive ping timeout": a full queue of messages stops reading, so pings behind it get
#   no pong.
# Expected: pings are answered in the background, and a slow reader is a matter of flow control.
# Seen: close code 1011, though every message could be read afterwards (ping_interval and
#   ping_timeout 1 s; the default is 20 s each) (2026-11-29)
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m pip -q install --disable-pip-version-check --no-compile --target lib \
    websockets==17.4 2>log ||
    { echo "not checked: $(tail -1 log)" >&2; exit 3; }
export PYTHONPATH=$work/lib PYTHONWARNINGS=ignore
python3 - >seen <<'END'
import asyncio

from websockets.asyncio.client import connect
from websockets.asyncio.server import serve
from websockets.exceptions import ConnectionClosed


async def feed(peer):
    for _ in range(1000):
        await peer.send("0123456789")
    await peer.wait_closed()


async def main():
    async with serve(feed, "127.0.0.1", 0, ping_interval=1, ping_timeout=1) as server:
        port = server.sockets[0].getsockname()[1]
        async with connect(f"ws://127.0.0.1:{port}", ping_interval=None) as client:
            await asyncio.sleep(5)
            count = 0
            try:
                while await client.recv():
                    count += 1
            except ConnectionClosed as closed:
                print(count, closed.rcvd.code, closed.rcvd.reason)


asyncio.run(main())
END
cat seen
diff - seen <<'END' || { echo "changed since 2026-11-29" >&2; exit 1; }
1000 1011 keepalive ping timeout
END
