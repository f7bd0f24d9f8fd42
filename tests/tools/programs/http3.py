"""A server and a client of HTTP/3, by aioquic: ten pages over one connection."""

import asyncio
import ssl
import sys
import time

from aioquic.asyncio import QuicConnectionProtocol, connect, serve
from aioquic.h3.connection import H3_ALPN, H3Connection
from aioquic.h3.events import DataReceived, HeadersReceived
from aioquic.quic.configuration import QuicConfiguration

PAGE = b"x" * 50_000


class Server(QuicConnectionProtocol):
    http = None

    def quic_event_received(self, event):
        self.http = self.http or H3Connection(self._quic)
        for each in self.http.handle_event(event):
            if isinstance(each, HeadersReceived):
                self.http.send_headers(each.stream_id, [(b":status", b"200")])
                self.http.send_data(each.stream_id, PAGE, end_stream=True)
        self.transmit()


class Client(QuicConnectionProtocol):
    def __init__(self, *given, **options):
        super().__init__(*given, **options)
        self.http, self.pages = H3Connection(self._quic), {}

    def quic_event_received(self, event):
        for each in self.http.handle_event(event):
            if isinstance(each, DataReceived):
                page, done = self.pages[each.stream_id]
                page += each.data
                if each.stream_ended:
                    done.set_result(len(page))

    async def get(self, path):
        stream = self._quic.get_next_available_stream_id()
        done = asyncio.get_running_loop().create_future()
        self.pages[stream] = bytearray(), done
        words = [(b":method", b"GET"), (b":scheme", b"https"), (b":authority", b"h2")]
        self.http.send_headers(stream, [*words, (b":path", path)], end_stream=True)
        self.transmit()
        return await done


async def main():
    if sys.argv[1:]:
        configuration = QuicConfiguration(is_client=False, alpn_protocols=H3_ALPN)
        configuration.load_cert_chain("cert.pem", "key.pem")
        await serve("0.0.0.0", 7000, configuration=configuration, create_protocol=Server)
        await asyncio.Event().wait()
    begun = time.monotonic()
    configuration = QuicConfiguration(alpn_protocols=H3_ALPN, verify_mode=ssl.CERT_NONE)
    async with connect("h2", 7000, configuration=configuration, create_protocol=Client) as client:
        sizes = await asyncio.gather(*(client.get(b"/") for _ in range(10)))
    print(sizes, f"{time.monotonic() - begun:.6f} s")


asyncio.run(main())
