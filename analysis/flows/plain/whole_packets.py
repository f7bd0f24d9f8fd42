"""The columns of a connection as a whole: its ends, its times, and how completely it was seen."""

from __future__ import annotations

from analysis.flows.plain.column_frame import Value
from analysis.flows.plain.connection import Connection
from analysis.flows.plain.direction import SenderState
from analysis.flows.plain.networks import address_name


def whole(connection: Connection, network: str) -> dict[str, Value]:
    ends, has_vantage = connection.ends, connection.vantage != "unknown"
    return {
        "connection": connection.number,
        "network": network,
        "complete": _complete(connection.a, connection.b),
        "vantage": connection.vantage,
        "vantage_source": "handshake" if has_vantage else "none",
        "handshake_outer": connection.outer,
        "handshake_inner": connection.inner,
        "connect_time": connection.connect_time,
        "duration": max(connection.last_time - connection.first_time, 0),
        "conn_#": connection.number,
        "host_a": address_name(ends[:16]),
        "host_b": address_name(ends[16:32]),
        "port_a": int.from_bytes(ends[32:34], "big"),
        "port_b": int.from_bytes(ends[34:36], "big"),
        "first_packet": connection.first_time,
        "last_packet": connection.last_time,
    }


def _complete(a: SenderState, b: SenderState) -> str:
    if a.resets + b.resets:
        return "reset"
    return "yes" if min(a.syns, b.syns, a.fins, b.fins) else "no"
