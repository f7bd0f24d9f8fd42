#!/usr/bin/env bash
# Package: aiohttp 3.14.5, tornado 6.6.1, uvicorn 0.54.0, waitress 3.0.2 (PyPI)
# Behaviour: A client that ends its sending side after the request (shutdown, `nc -N`) gets no
#   answer from a slow handler of aiohttp, tornado and uvicorn; waitress answers.
# Expected: TCP can be closed one way, and a complete request has been received.
# Seen: answer after a second: waitress yes; aiohttp, tornado and uvicorn no (2026-11-29)
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m pip -q install --disable-pip-version-check --no-compile --target lib \
    aiohttp==3.14.5 tornado==6.6.1 uvicorn==0.54.0 waitress==3.0.2 2>log ||
    { echo "not checked: $(tail -1 log)" >&2; exit 3; }
export PYTHONPATH=$work/lib PYTHONWARNINGS=ignore
cat >server.py <<'END'
import asyncio
import sys
import time


def aiohttp(port):
    from aiohttp import web

    async def slow(_):
        await asyncio.sleep(1)
        return web.Response(text="late")

    app = web.Application()
    app.router.add_get("/", slow)
    web.run_app(app, host="127.0.0.1", port=port, print=None)


def tornado(port):
    import tornado.web

    class Slow(tornado.web.RequestHandler):
        async def get(self):
            await asyncio.sleep(1)
            self.write("late")

    async def main():
        tornado.web.Application([("/", Slow)]).listen(port, "127.0.0.1")
        await asyncio.Event().wait()

    asyncio.run(main())


def uvicorn(port):
    import uvicorn

    async def slow(scope, receive, send):
        await asyncio.sleep(1)
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"late"})

    uvicorn.run(slow, host="127.0.0.1", port=port, log_level="critical", lifespan="off")


def waitress(port):
    import waitress

    def slow(_, start):
        time.sleep(1)
        start("200 OK", [("Content-Length", "4")])
        return [b"late"]

    waitress.serve(slow, host="127.0.0.1", port=port)


globals()[sys.argv[1]](int(sys.argv[2]))
END
python3 - >seen <<'END'
import socket
import subprocess
import sys
import time


def connected(port):
    for _ in range(300):
        try:
            return socket.create_connection(("127.0.0.1", port), timeout=10)
        except ConnectionRefusedError:
            time.sleep(0.1)
    raise TimeoutError


for name in "aiohttp", "tornado", "uvicorn", "waitress":
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    server = subprocess.Popen([sys.executable, "server.py", name, str(port)])
    try:
        with connected(port) as client:
            client.sendall(b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
            client.shutdown(socket.SHUT_WR)
            answer = b"".join(iter(lambda: client.recv(4096), b""))
            print(name, "answers" if b"late" in answer else "closes")
    finally:
        server.kill()
END
cat seen
diff - seen <<'END' || { echo "changed since 2026-11-29" >&2; exit 1; }
aiohttp closes
tornado closes
uvicorn closes
waitress answers
END
