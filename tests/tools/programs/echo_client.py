"""Three clients of asyncio at once, with a time-out for each answer."""

import asyncio
import time


async def ask(name):
    reader, writer = await asyncio.open_connection("h2", 7000)
    for number in range(10):
        writer.write(b"%s %d\n" % (name, number))
        answer = await asyncio.wait_for(reader.readline(), 30)
        assert answer == b"%s %d\n" % (name.upper(), number)
    writer.close()


async def main():
    begun = time.monotonic()
    await asyncio.gather(*map(ask, (b"one", b"two", b"three")))
    print(f"30 answers in {time.monotonic() - begun:.6f} s")


asyncio.run(main())
