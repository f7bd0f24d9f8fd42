#!/usr/bin/env bash
# Package: h2 4.4.1 (PyPI)
# Behaviour: acknowledge_received_data gives no WINDOW_UPDATE until about half of the window was
#   consumed: 33 calls of 1000 bytes give one pair of frames.
# Expected: the name suggests that each call tells the peer; a test that waits for the frame after
#   one call waits for ever.
# Seen: the first frames after 33,000 bytes, 26 bytes for stream and connection (2026-11-29)
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m pip -q install --disable-pip-version-check --no-compile --target lib \
    h2==4.4.1 2>log ||
    { echo "not checked: $(tail -1 log)" >&2; exit 3; }
export PYTHONPATH=$work/lib PYTHONWARNINGS=ignore
python3 - >seen <<'END'
import h2.config
import h2.connection

client = h2.connection.H2Connection()
server = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False))
client.initiate_connection()
server.initiate_connection()
server.receive_data(client.data_to_send())
client.receive_data(server.data_to_send())
server.receive_data(client.data_to_send())
request = [(":method", "POST"), (":path", "/"), (":scheme", "https"), (":authority", "a")]
client.send_headers(1, request)
server.receive_data(client.data_to_send())
for call in range(1, 60):
    client.send_data(1, bytes(1000))
    server.receive_data(client.data_to_send())
    server.acknowledge_received_data(1000, 1)
    answer = server.data_to_send()
    client.receive_data(answer)
    if answer:
        print(f"call {call}: {len(answer)} bytes")
END
cat seen
diff - seen <<'END' || { echo "changed since 2026-11-29" >&2; exit 1; }
call 33: 26 bytes
END
