#!/usr/bin/env bash
# Package: socat 1.7.4.4-2 (Debian 12)
# Behaviour: A relay of socat ends both directions half a second after one side sent its end
#   (option -t 0.5), so an answer that takes longer than that after a half-close is lost.
# Expected: the half-close is passed on, so a relay seems transparent; the time-out is for the
#   other direction.
# Seen: answer after 1 s: nothing received; with -t 5 it is (2026-11-29)
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
unpack socat=1.7.4.4-2 libwrap0
need socat
python3 - >seen <<'END'
import socket
import subprocess
import threading
import time


def answer_late(listener):
    peer, _ = listener.accept()
    while peer.recv(4096):
        pass
    time.sleep(1)
    try:
        peer.sendall(b"late")
    except ConnectionError:
        pass
    peer.close()


def connected(port):
    for _ in range(100):
        try:
            return socket.create_connection(("127.0.0.1", port), timeout=10)
        except ConnectionRefusedError:
            time.sleep(0.05)
    raise TimeoutError


for options in [], ["-t", "5"]:
    listener = socket.create_server(("127.0.0.1", 0))
    threading.Thread(target=answer_late, args=[listener], daemon=True).start()
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    near = f"TCP-LISTEN:{port},bind=127.0.0.1,reuseaddr"
    far = f"TCP:127.0.0.1:{listener.getsockname()[1]}"
    relay = subprocess.Popen(["socat", *options, near, far])
    try:
        with connected(port) as client:
            client.sendall(b"question")
            client.shutdown(socket.SHUT_WR)
            print("socat", *options, client.recv(4096))
    finally:
        relay.kill()
END
cat seen
diff - seen <<'END' || { echo "changed since 2026-11-29" >&2; exit 1; }
socat b''
socat -t 5 b'late'
END
