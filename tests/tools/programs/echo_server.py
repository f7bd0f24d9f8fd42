"""A server of asyncio that answers each line in capitals."""

import asyncio


async def handle(reader, writer):
    while line := await reader.readline():
        writer.write(line.upper())
        await writer.drain()
    writer.close()


async def main():
    async with await asyncio.start_server(handle, "0.0.0.0", 7000) as server:
        await server.serve_forever()


asyncio.run(main())
