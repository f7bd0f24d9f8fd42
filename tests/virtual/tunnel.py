"""`python tunnel.py LISTEN TARGET`: forwards connections, as ssh's -L and -R do; for cluster.py.

Each is a port of 127.0.0.1 or the path of a socket, which two network namespaces can both reach.
"""

from __future__ import annotations

import asyncio
import sys


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    except ConnectionError:
        pass  # the other side ends this one too
    finally:
        writer.close()


async def _once_there(place: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A connection, as soon as the target listens."""
    while True:
        try:
            return await _connected(place)
        except OSError:
            await asyncio.sleep(0.05)


async def _connected(place: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    if place.isdigit():
        return await asyncio.open_connection("127.0.0.1", int(place))
    return await asyncio.open_unix_connection(place)


async def main(listen: str, target: str) -> None:
    """Forward connections until the process is killed."""

    async def hand_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        from_target, to_target = await _once_there(target)
        await asyncio.gather(_copy(reader, to_target), _copy(from_target, writer))

    if listen.isdigit():
        server = await asyncio.start_server(hand_on, "127.0.0.1", int(listen))
    else:
        server = await asyncio.start_unix_server(hand_on, listen)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
