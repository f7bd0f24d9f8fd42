#!/usr/bin/env bash
# Package: h2 4.4.1 with hpack 4.2.0 (PyPI)
# Behaviour: A cookie of fewer than 20 bytes is sent as never-indexed literal in each request, a
#   longer one goes into the table and costs a byte from the second request on.
# Expected: header compression is to be best for what repeats; a short session cookie looks like
#   the best case. The rule keeps guessable secrets out of the shared table.
# Seen: bytes of the HEADERS frames: 8-byte cookie 24, 22, 22; 23-byte cookie 32, 14, 14
#   (2026-11-29)
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m pip -q install --disable-pip-version-check --no-compile --target lib \
    h2==4.4.1 hpack==4.2.0 2>log ||
    { echo "not checked: $(tail -1 log)" >&2; exit 3; }
export PYTHONPATH=$work/lib PYTHONWARNINGS=ignore
python3 - >seen <<'END'
import h2.connection

client = h2.connection.H2Connection()
client.initiate_connection()
client.data_to_send()
request = [(":method", "GET"), (":path", "/"), (":scheme", "https"), (":authority", "a")]
for cookie in "sid=abcd", "sid=abcdefghijklmnopqrs":
    sizes = []
    for _ in range(3):
        stream = client.get_next_available_stream_id()
        client.send_headers(stream, [*request, ("cookie", cookie)], end_stream=True)
        sizes.append(len(client.data_to_send()))
    print(len(cookie), *sizes)
END
cat seen
diff - seen <<'END' || { echo "changed since 2026-11-29" >&2; exit 1; }
8 24 22 22
23 32 14 14
END
