"""Eight threads that each fetch from a threading server."""

import socketserver
import sys
import threading
import time
from urllib.request import urlopen


class Handler(socketserver.StreamRequestHandler):
    def handle(self):
        self.rfile.readline()
        self.wfile.write(b"HTTP/1.0 200 OK\r\n\r\n" + b"x" * 20_000)


def fetch():
    assert len(urlopen("http://h2:7000/").read()) == 20_000


if sys.argv[1:] == ["server"]:
    socketserver.ThreadingTCPServer(("", 7000), Handler).serve_forever()
begun = time.monotonic()
threads = [threading.Thread(target=fetch) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(f"8 pages in {time.monotonic() - begun:.6f} s")
