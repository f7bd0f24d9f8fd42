"""Servers in h2, one port for each client: they stall, reset, or speak as much as is needed."""

import asyncio
import functools
import socket
import struct
import sys

FIRST = 10000
NAMES = sys.argv[2:]
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
MYSQL = b"\x0a8.0.0\0" + bytes(4) + b"abcdefgh\0" + struct.pack("<HBHHB10x", 0xA200, 45, 2, 8, 21)
MYSQL += b"abcdefghijkl\0mysql_native_password\0"
READY = b"Z" + struct.pack("!IB", 5, ord("I"))
STARTED = b"R" + struct.pack("!II", 8, 0) + READY
DONE = b"C" + struct.pack("!I", 13) + b"SELECT 0\0" + READY
INFO = b'INFO {"server_id":"a","version":"2.10.0","max_payload":1048576}\r\n'


def framed(number, body):
    """Return a packet of MySQL."""
    return struct.pack("<I", len(body))[:3] + bytes([number]) + body


# Protocol: the greeting of the server, and its answers in turn; the last one repeats.
SPOKEN = {
    "pymysql": (framed(0, MYSQL), [framed(2, bytes([0, 0, 0, 2, 0, 0, 0])), framed(1, bytes(7))]),
    "psycopg": (b"", [STARTED, DONE]),
    "asyncpg": (b"", [STARTED, DONE]),
    "redis": (b"", [b"+PONG\r\n"]),
    "pymemcache": (b"", [b"VERSION 1.6\r\n"]),
    "paho-mqtt": (b"", [bytes([0x20, 2, 0, 0])]),
    "nats-py": (INFO, [b"PONG\r\n"]),
}


async def stall(_reader, _writer):
    """Read without an answer."""
    await asyncio.Event().wait()


async def reset(reader, writer):
    """Reset the connection when a request comes, or after a second."""
    await asyncio.wait([asyncio.ensure_future(reader.read(65536))], timeout=1)
    linger = struct.pack("ii", 1, 0)
    writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
    writer.transport.abort()


async def speak(name, reader, writer):
    """Answer as the protocol of a client wants; HTTP by default."""
    greeting, answers = SPOKEN.get(name, (b"", [OK]))
    writer.write(greeting)
    turn = 0
    while data := await reader.read(65536):
        if name == "redis":
            writer.write(b"+PONG\r\n" if b"PING" in data else b"+OK\r\n" * data.count(b"*"))
        elif name != "paho-mqtt" or data[0] == 0x10:
            writer.write(answers[min(turn, len(answers) - 1)])
        turn += 1


async def serve_ssh(port):
    """Serve SSH without authentication; commands wait."""
    import asyncssh

    class Open(asyncssh.SSHServer):
        def begin_auth(self, username):
            return False

    key = asyncssh.generate_private_key("ssh-ed25519")
    waiting = lambda process: asyncio.sleep(10**6)  # noqa: E731
    await asyncssh.listen(
        "", port, server_factory=Open, server_host_keys=[key], process_factory=waiting
    )


async def serve_grpc(port):
    """Serve gRPC: an echo."""
    import grpc.aio

    class Echo(grpc.GenericRpcHandler):
        def service(self, _details):
            async def echo(request, _context):
                return request

            return grpc.unary_unary_rpc_method_handler(echo)

    server = grpc.aio.server()
    server.add_generic_rpc_handlers([Echo()])
    server.add_insecure_port(f"0.0.0.0:{port}")
    await server.start()
    return server


async def serve_websockets(port):
    """Serve WebSockets without pings."""
    from websockets.asyncio.server import serve

    return await serve(lambda peer: peer.wait_closed(), "", port, ping_interval=None)


SPECIAL = {
    "OpenSSH": serve_ssh,
    "asyncssh": serve_ssh,
    "paramiko": serve_ssh,
    "grpcio": serve_grpc,
    "websockets": serve_websockets,
}


async def main():
    """Listen for all clients, and on the port that says that all is ready."""
    kind, kept = sys.argv[1], []
    for port, name in enumerate(NAMES, FIRST):
        if kind == "speak" and name in SPECIAL:
            kept.append(await SPECIAL[name](port))
        else:
            answer = {"stall": stall, "reset": reset}.get(kind, functools.partial(speak, name))
            kept.append(await asyncio.start_server(answer, "0.0.0.0", port))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
        silent.bind(("0.0.0.0", 53))
        kept.append(await asyncio.start_server(stall, "0.0.0.0", 9999))
        await asyncio.Event().wait()


asyncio.run(main())
