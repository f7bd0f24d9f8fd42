#!/usr/bin/env bash
# Package: urllib3 2.8.0 (PyPI)
# Behaviour: Retry(3) without a status_forcelist repeats a 503 that has Retry-After, and sleeps as
#   long as the server says; the same 503 without the header is returned at once.
# Expected: the list of statuses to repeat is empty by default, so no status seems to be repeated.
# Seen: with Retry-After: 1: 4 requests, 3 s; without: 1 request, 0 s (2026-11-29)
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m pip -q install --disable-pip-version-check --no-compile --target lib \
    urllib3==2.8.0 2>log ||
    { echo "not checked: $(tail -1 log)" >&2; exit 3; }
export PYTHONPATH=$work/lib PYTHONWARNINGS=ignore
python3 - >seen <<'END'
import http.server
import threading
import time

import urllib3


class Busy(http.server.BaseHTTPRequestHandler):
    seen = 0

    def do_GET(self):
        Busy.seen += 1
        self.send_response(503)
        if self.path == "/later":
            self.send_header("Retry-After", "1")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


server = http.server.HTTPServer(("127.0.0.1", 0), Busy)
threading.Thread(target=server.serve_forever, daemon=True).start()
for path in "/later", "/":
    Busy.seen, start = 0, time.monotonic()
    url = f"http://127.0.0.1:{server.server_port}{path}"
    status = urllib3.PoolManager().request("GET", url, retries=urllib3.Retry(3)).status
    print(path, status, "requests", Busy.seen, "waited", time.monotonic() - start >= 3)
END
cat seen
diff - seen <<'END' || { echo "changed since 2026-11-29" >&2; exit 1; }
/later 503 requests 4 waited True
/ 503 requests 1 waited False
END
