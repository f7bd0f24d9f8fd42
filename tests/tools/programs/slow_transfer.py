"""Serve or ask over TCP, as the words say: `serve port=2000 bytes=1000`, `ask port=2000`."""

import contextlib
import fcntl
import socket
import struct
import sys
import time

_REQUEST = 100
_SIOCSIFMTU = 0x8922


def serve(port, bytes, control="cubic", think="0", piece="0", gap="0", abort="0"):
    """Answer each request with so many bytes, after thinking, and in pieces with gaps.

    After `abort` bytes the connection is reset.
    """
    listener = socket.create_server(("", int(port)))
    connection, _ = listener.accept()
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, control.encode())
    while connection.fileno() >= 0 and _take(connection, _REQUEST):
        time.sleep(float(think))
        rest, most = int(abort) or int(bytes), int(piece) or int(bytes)
        while rest:
            connection.sendall(b"x" * min(rest, most))
            rest -= min(rest, most)
            time.sleep(float(gap) if rest else 0)
        if int(abort):
            _reset(connection)


def ask(
    port,
    bytes="0",
    requests="1",
    between="0",
    read="65536",
    pause="0",
    receive="0",
    halves="0",
    mtu="0",
    abort="0",
):
    """Send requests, in halves or whole, and read each answer.

    Frames above `mtu` vanish before the capture. After `abort` bytes the connection is reset.
    """
    client = socket.socket()
    if int(receive):
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, int(receive))
    client.settimeout(30)
    with contextlib.suppress(OSError):
        client.connect(("h2", int(port)))
        if int(mtu):
            _set_mtu(int(mtu))
        for _ in range(int(requests)):
            for _ in range(1 + int(halves)):
                client.sendall(b"r" * (_REQUEST // (1 + int(halves))))
            _take(client, int(abort) or int(bytes), int(read), float(pause))
            time.sleep(float(between))
    if int(abort):
        _reset(client)
    client.close()
    if int(mtu):
        _set_mtu(1500)


def _reset(connection):
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def _set_mtu(size):
    with socket.socket() as control:
        fcntl.ioctl(control, _SIOCSIFMTU, struct.pack("16si12x", b"h1-eth0", size))


def _take(connection, size, most=65536, pause=0.0):
    """Return whether so many bytes came, read with pauses."""
    while size:
        octets = connection.recv(min(size, most))
        if not octets:
            return False
        size -= len(octets)
        time.sleep(pause)
    return True


if __name__ == "__main__":
    {"serve": serve, "ask": ask}[sys.argv[1]](**dict(word.split("=") for word in sys.argv[2:]))
