"""A conversation with a retransmitted segment, and its facts in any container and on any link."""

from __future__ import annotations

from analysis import flows
from tests.analysis.captures import MadeCapture
from tests.analysis.looking import only_connection

FACTS = (
    "total_packets_a2b",
    "unique_bytes_sent_a2b",
    "rexmt_data_pkts_a2b",
    "req_sack_a2b",
    "mss_requested_a2b",
)


def conversation(capture: MadeCapture | None = None, **settings: object) -> MadeCapture:
    """Three segments, one of them retransmitted, and an end."""
    flow = (capture or MadeCapture()).flow(**settings).open()
    flow.a.burst(0.1, 3)
    flow.b.ack(0.14, to=1, sacks=[(1001, 3001)])
    flow.a.send(0.34, seq=1)
    flow.b.ack(0.38)
    flow.a.fin(0.4)
    flow.b.fin(0.44)
    flow.a.ack(0.45)
    return flow.capture


def facts(read: flows.Reading) -> list[object]:
    return [only_connection(read)[name] for name in FACTS]


PLAIN = [8, 3000, 1, "Y", 1460]
IPV6 = {"hosts": ("fd00::1", "fd00::2")}
