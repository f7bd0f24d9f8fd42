"""The one table of what analysis.flows measures: every column with its type, unit, definition and
source.

Connection-wide columns stand alone; columns of a direction come twice, with `_a2b` (what a sent)
and `_b2a`. The first table is tcptrace's: the names and the order are those of `tcptrace -n -l
-r -W --csv`, 7 of the connection and 70 of each direction, 147 together. Where tcptrace 6.6.7 is
wrong, ours is right, and the definition says how; `compatible=True` gives tcptrace's own value.
Times are whole nanoseconds where the unit is ns.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

_MISPRINTED = {"RTT_full_sz_stdev_a2b": "RTT full_sz_stdev_a2b"}
"""tcptrace prints this one with a space; who looks for its column finds it."""

Type = Literal["integer", "unsigned", "float", "text", "truth"]


@dataclass(frozen=True)
class Column:
    """One column: its `name` without the direction's ending, `type`, `unit` ("" for counts and
    text), definition.
    """

    name: str
    type: Type
    unit: str
    definition: str
    source: str
    directed: bool = True

    def names(self) -> tuple[str, ...]:
        """The names in the frame: two for a column of a direction, one otherwise."""
        names = (f"{self.name}_a2b", f"{self.name}_b2a") if self.directed else (self.name,)
        return tuple(_MISPRINTED.get(name, name) for name in names)


KINDS: tuple[tuple[str, str], ...] = (
    ("none", "no payload, or a first SYN or FIN"),
    ("new", "new data: no byte of it was seen before, and it starts at or after everything seen"),
    (
        "fast",
        (
            "sent again after three duplicate ACKs, or while those are being repaired, without SACK"
            " (RFC 5681, 6582)"
        ),
    ),
    ("sack", "sent again while bytes above it are selectively acknowledged (RFC 6675, RFC 8985)"),
    (
        "rto",
        (
            "sent again by the retransmission timer, or while the losses behind it are being"
            " repaired (RFC 6298)"
        ),
    ),
    ("tlp", "the last segment sent again as a tail loss probe (RFC 8985, section 7)"),
    (
        "spurious",
        (
            "sent again, and afterwards known to be needless, by DSACK (RFC 2883) or a timestamp"
            " (RFC 3522)"
        ),
    ),
    (
        "keepalive",
        "at most one byte, just below what is acknowledged to the end (RFC 9293, section 3.8.4)",
    ),
    ("probe", "sent into a closed window (RFC 9293, section 3.8.6.1)"),
    ("syn", "a SYN or SYN-ACK again"),
    ("other", "sent again without any of the signs above"),
    (
        "late",
        (
            "fills a gap in what was seen: reordered, or a repair of a loss before the capture; no"
            " retransmission"
        ),
    ),
    (
        "copy",
        (
            "seen before and no retransmission here: same IPv4 identification, or bytes at their"
            " receiver"
        ),
    ),
    ("fin", "a FIN again"),
)
"""Name and meaning of the `kind` of a packet; the position is the number in the frame."""
KIND = {name: code for code, (name, _) in enumerate(KINDS)}
"""The number in the frame of each kind."""

PERCENTILES = (5, 25, 50, 75, 95, 99)
RETRANSMISSIONS = ("fast", "sack", "rto", "tlp", "spurious", "other")
"""The kinds that are retransmissions of data by the sender."""

_TCPTRACE = "tcptrace 6.6.7"


def _whole(name: str, kind: Type, unit: str, definition: str, source: str = _TCPTRACE) -> Column:
    return Column(name, kind, unit, definition, source, directed=False)


def _each(name: str, kind: Type, unit: str, definition: str, source: str = _TCPTRACE) -> Column:
    return Column(name, kind, unit, definition, source)


def _rtt(prefix: str, middle: str, suffix: str, which: str) -> tuple[Column, ...]:
    names = [f"{prefix}{middle}{statistic}{suffix}" for statistic in ("min", "max", "avg")]
    words = ("smallest", "largest", "mean")
    return tuple(
        _each(name, "float", "ms", f"The {word} {which}.")
        for name, word in zip(names, words, strict=True)
    )


TCPTRACE: tuple[Column, ...] = (
    _whole("conn_#", "unsigned", "", "The number of the connection, from 1, by its first packet."),
    _whole("host_a", "text", "", "The address that sent the first packet."),
    _whole("host_b", "text", "", "The other address."),
    _whole("port_a", "unsigned", "", "The port of a."),
    _whole("port_b", "unsigned", "", "The port of b."),
    _whole("first_packet", "integer", "ns", "When the first packet passed, since 1970."),
    _whole("last_packet", "integer", "ns", "When the last packet passed, since 1970."),
    _each("total_packets", "unsigned", "", "Segments sent."),
    _each("resets_sent", "unsigned", "", "Segments with RST; tcptrace's count wraps at 256."),
    _each("ack_pkts_sent", "unsigned", "", "Segments with ACK."),
    _each(
        "pure_acks_sent", "unsigned", "", "Segments with ACK and without payload, SYN, FIN and RST."
    ),
    _each(
        "sack_pkts_sent", "unsigned", "", "Segments with ACK and at least one SACK block; no RST."
    ),
    _each(
        "dsack_pkts_sent", "unsigned", "", "Those whose first block reports a duplicate (RFC 2883)."
    ),
    _each("max_sack_blks/ack", "unsigned", "", "Most SACK blocks in one segment."),
    _each(
        "unique_bytes_sent",
        "unsigned",
        "B",
        "Payload without what was sent before; no window probes.",
    ),
    _each("actual_data_pkts", "unsigned", "", "Segments with payload."),
    _each("actual_data_bytes", "unsigned", "B", "Payload of all segments, repeats included."),
    _each(
        "rexmt_data_pkts",
        "unsigned",
        "",
        "Segments with at least one byte (SYN and FIN count) seen before.",
    ),
    _each(
        "rexmt_data_bytes", "unsigned", "B", "The bytes (SYN and FIN count) that were seen before."
    ),
    _each(
        "zwnd_probe_pkts",
        "unsigned",
        "",
        "Segments with payload or FIN sent while the peer's window was zero.",
    ),
    _each("zwnd_probe_bytes", "unsigned", "B", "Their payload."),
    _each(
        "outoforder_pkts",
        "unsigned",
        "",
        "Segments that begin and end before something seen, unseen so far.",
    ),
    _each("pushed_data_pkts", "unsigned", "", "Segments with payload and PSH."),
    _each(
        "SYN/FIN_pkts_sent", "text", "", "How many SYNs and FINs; tcptrace's counts wrap at 256."
    ),
    _each(
        "req_1323_ws/ts", "text", "", "Y or N: window scaling asked for in a SYN, timestamps sent."
    ),
    _each(
        "adv_wind_scale",
        "unsigned",
        "",
        "The window scale asked for; 0 if not both sides asked (RFC 7323).",
    ),
    _each("req_sack", "text", "", "Y or N: SACK permitted in the SYN."),
    _each("sacks_sent", "unsigned", "", "Segments with at least one SACK block, RST included."),
    _each("urgent_data_pkts", "unsigned", "", "Segments with payload and URG."),
    _each("urgent_data_bytes", "unsigned", "B", "The sum of their urgent pointers."),
    _each("mss_requested", "unsigned", "B", "The MSS option of the SYN; 0 without one."),
    _each("max_segm_size", "unsigned", "B", "The largest payload."),
    _each("min_segm_size", "unsigned", "B", "The smallest payload above 0."),
    _each(
        "avg_segm_size",
        "unsigned",
        "B",
        "Payload by segments with payload, rounded down; tcptrace: 1 too low.",
    ),
    _each(
        "max_win_adv",
        "unsigned",
        "B",
        "The largest window, scaled; SYNs do not count where scaling is used.",
    ),
    _each("min_win_adv", "unsigned", "B", "The smallest window above 0, likewise."),
    _each("zero_win_adv", "unsigned", "", "Segments with ACK and a window of 0; no RST."),
    _each("avg_win_adv", "unsigned", "B", "The mean window, rounded down, likewise."),
    _each(
        "max_owin",
        "unsigned",
        "B",
        "Most outstanding bytes: from the last ACK minus 1 to a new segment's end.",
    ),
    _each("min_non-zero_owin", "unsigned", "B", "The fewest, above 0."),
    _each(
        "avg_owin",
        "unsigned",
        "B",
        "The mean over segments, rounded down; tcptrace's owin fails beyond 2^32.",
    ),
    _each(
        "wavg_owin",
        "unsigned",
        "B",
        "The mean over time, rounded down; null for a connection of no duration.",
    ),
    _each(
        "initial_window_bytes",
        "unsigned",
        "B",
        "Payload sent before the peer acknowledged any; without repeats.",
    ),
    _each("initial_window_pkts", "unsigned", "", "Segments of the initial window."),
    _each(
        "ttl_stream_length",
        "unsigned",
        "B",
        "From the SYN to the FIN, or to the last segment after a RST.",
    ),
    _each(
        "missed_data",
        "integer",
        "B",
        "The stream's length minus unique bytes: what the capture did not see.",
    ),
    _each(
        "truncated_data",
        "unsigned",
        "B",
        "Payload on the wire that the capture's snap length cut off.",
    ),
    _each("truncated_packets", "unsigned", "", "Segments with such payload."),
    _each("data_xmit_time", "float", "s", "From the first to the last segment with payload."),
    _each(
        "idletime_max",
        "float",
        "ms",
        "The longest pause between two segments; null without a segment. tcptrace takes a direction"
        " for idle until the file's last packet, whosever it is.",
    ),
    _each(
        "hardware_dups",
        "unsigned",
        "",
        "Same sequence and IPv4 identification as one of the 8 last, not 0.",
    ),
    _each(
        "throughput",
        "float",
        "B/s",
        "Unique bytes by the connection's duration; null without duration.",
    ),
    _each(
        "RTT_samples",
        "unsigned",
        "",
        "ACKs of a segment that was sent once, and later than all before it.",
    ),
    *_rtt("RTT_", "", "", "time from such a segment to its ACK"),
    _each(
        "RTT_stdev", "float", "ms", "Standard deviation of those (n - 1); 0 for fewer than three."
    ),
    _each("RTT_from_3WHS", "float", "ms", "The sample that the SYN gave."),
    _each(
        "RTT_full_sz_smpls",
        "unsigned",
        "",
        "Samples from segments of the largest size; tcptrace: a SYN is.",
    ),
    *_rtt("RTT_full_sz_", "", "", "of those samples"),
    _each("RTT_full_sz_stdev", "float", "ms", "Standard deviation of those."),
    _each(
        "post-loss_acks",
        "unsigned",
        "",
        "ACKs of a segment together with one sent later that comes before it.",
    ),
    _each("ambiguous_acks", "unsigned", "", "ACKs of a segment that was sent more than once."),
    *_rtt("RTT_", "", "_(last)", "time from the last transmission of such a segment to its ACK"),
    _each("RTT_sdv_(last)", "float", "ms", "Standard deviation of those."),
    _each("segs_cum_acked", "unsigned", "", "Segments acknowledged only by an ACK of a later one."),
    _each(
        "duplicate_acks",
        "unsigned",
        "",
        "Received: ACK and window as before, no payload, and data was sent.",
    ),
    _each("triple_dupacks", "unsigned", "", "Third duplicates among those."),
    _each(
        "max_#_retrans",
        "unsigned",
        "",
        "How often one segment was sent again before it was acknowledged.",
    ),
    _each(
        "min_retr_time",
        "float",
        "ms",
        "The shortest time from a transmission to the next of the same segment.",
    ),
    _each("max_retr_time", "float", "ms", "The longest."),
    _each("avg_retr_time", "float", "ms", "The mean."),
    _each("sdv_retr_time", "float", "ms", "Standard deviation of those."),
)

_OURS = "tcplab"
_STATES = ("receiver", "network", "application")


def _percentiles(prefix: str, which: str, source: str) -> tuple[Column, ...]:
    return tuple(
        _each(
            f"{prefix}_p{percent}",
            "integer",
            "ns",
            f"{percent} % of {which} are at most this (to 0.8 %).",
            source,
        )
        for percent in PERCENTILES
    )


def _per_kind() -> tuple[Column, ...]:
    columns: list[Column] = []
    for kind in RETRANSMISSIONS:
        columns += (
            _each(f"retransmissions_{kind}", "unsigned", "", f"Packets of kind {kind}.", _OURS),
            _each(
                f"retransmitted_bytes_{kind}",
                "unsigned",
                "B",
                "Their bytes that were seen before.",
                _OURS,
            ),
            _each(
                f"retransmitted_segments_{kind}",
                "float",
                "MSS",
                "Those bytes by the largest MSS in use.",
                _OURS,
            ),
        )
    return tuple(columns)


OURS: tuple[Column, ...] = (
    _whole(
        "connection",
        "unsigned",
        "",
        "The number of the connection, as in the packets' frame.",
        _OURS,
    ),
    _whole(
        "complete", "text", "", "`yes`: SYN and FIN of both; `reset`: a RST; `no`: neither.", _OURS
    ),
    _whole(
        "vantage",
        "text",
        "",
        "Where the capture was taken: at `a`, at `b`, in the `middle`, or `unknown`.",
        _OURS,
    ),
    _whole("vantage_source", "text", "", "How that is known: `handshake`, or `none`.", _OURS),
    _whole(
        "handshake_outer",
        "integer",
        "ns",
        "From the last SYN to the SYN-ACK: the capture to b and back.",
        _OURS,
    ),
    _whole(
        "handshake_inner",
        "integer",
        "ns",
        "From the last SYN-ACK to the ACK: the capture to a and back.",
        _OURS,
    ),
    _whole("duration", "integer", "ns", "From the first to the last packet.", _OURS),
    _each("syns", "unsigned", "", "Segments with SYN.", _OURS),
    _each("fins", "unsigned", "", "Segments with FIN.", _OURS),
    _each(
        "mss",
        "unsigned",
        "B",
        "The largest payload, at most the peer's MSS where that is known.",
        _OURS,
    ),
    _each("bytes_acknowledged", "unsigned", "B", "Payload that the peer acknowledged.", _OURS),
    _each(
        "goodput",
        "float",
        "bit/s",
        "Bits acknowledged by the time from first data to last ACK.",
        "RFC 2647",
    ),
    _each(
        "rate",
        "float",
        "bit/s",
        "Bits of payload sent, repeats too, by the time from first to last data.",
        _OURS,
    ),
    _each(
        "rtt_samples",
        "unsigned",
        "",
        "RTT samples from ACKs, as in the packets' frame.",
        "RFC 6298, section 3",
    ),
    _each("rtt_min", "integer", "ns", "The smallest of them.", _OURS),
    _each("rtt_max", "integer", "ns", "The largest of them.", _OURS),
    _each("rtt_mean", "integer", "ns", "The mean of them, rounded down.", _OURS),
    *_percentiles("rtt", "them", _OURS),
    _each(
        "rtt_timestamp_samples",
        "unsigned",
        "",
        "First echoes of a timestamp that data carried.",
        "RFC 7323",
    ),
    *_percentiles("rtt_timestamp", "these", _OURS),
    _each(
        "retransmissions",
        "unsigned",
        "",
        "Packets of the retransmitting kinds, see RETRANSMISSIONS.",
        _OURS,
    ),
    _each("retransmitted_bytes", "unsigned", "B", "Their bytes that were seen before.", _OURS),
    *_per_kind(),
    _each("syns_again", "unsigned", "", "Packets of kind syn.", _OURS),
    _each("fins_again", "unsigned", "", "Packets of kind fin.", _OURS),
    _each("keepalives", "unsigned", "", "Packets of kind keepalive.", _OURS),
    _each("probes", "unsigned", "", "Packets of kind probe.", _OURS),
    _each("late", "unsigned", "", "Packets of kind late.", _OURS),
    _each("copies", "unsigned", "", "Packets of kind copy.", _OURS),
    _each(
        "loss_episodes",
        "unsigned",
        "",
        "Runs of retransmissions; one ends with all sent at its start.",
        "RFC 6582",
    ),
    _each(
        "reordered",
        "unsigned",
        "",
        "Late packets that were sent before what overtook them.",
        "RFC 4737",
    ),
    _each(
        "reordering_packets",
        "unsigned",
        "",
        "Most segments that overtook one of them.",
        "RFC 4737, 4.2.1",
    ),
    _each(
        "reordering_bytes",
        "unsigned",
        "B",
        "Longest distance of one to all that was seen.",
        "RFC 4737, 4.2.3",
    ),
    _each(
        "reordering_time",
        "integer",
        "ns",
        "Longest time from a gap's opening to its filling.",
        "RFC 4737, 4.2.2",
    ),
    _each(
        "in_flight_max",
        "unsigned",
        "B",
        "Most payload sent and neither acknowledged nor SACKed.",
        _OURS,
    ),
    _each(
        "in_flight_mean",
        "unsigned",
        "B",
        "Its mean over time, from the first data to the last packet.",
        _OURS,
    ),
    _each("dsacks", "unsigned", "", "Duplicate reports that this direction carried.", "RFC 2883"),
    _each("ect0_packets", "unsigned", "", "Segments with ECT(0).", "RFC 3168"),
    _each("ect1_packets", "unsigned", "", "Segments with ECT(1).", "RFC 9331"),
    _each("ce_packets", "unsigned", "", "Segments with CE.", "RFC 3168"),
    _each("ece_packets", "unsigned", "", "Segments with ECE and without SYN.", "RFC 3168"),
    _each("cwr_packets", "unsigned", "", "Segments with CWR and without SYN.", "RFC 3168"),
    _each(
        "zero_window_time",
        "integer",
        "ns",
        "How long this direction advertised a window of 0.",
        _OURS,
    ),
    *(
        _each(f"limited_{state}", "integer", "ns", f"How long {state} limited the sender.", _OURS)
        for state in _STATES
    ),
)

PACKETS: tuple[Column, ...] = (
    _whole("number", "unsigned", "", "The record in the file, from 1.", _OURS),
    _whole("time", "integer", "ns", "When it passed, since 1970.", _OURS),
    _whole("connection", "unsigned", "", "The connection's number, from 1.", _OURS),
    _whole("forward", "truth", "", "Sent by a, which sent the connection's first packet.", _OURS),
    _whole(
        "sequence",
        "unsigned",
        "B",
        "Relative, 64 bit: the SYN is 0, the first byte (or first seen) 1.",
        _OURS,
    ),
    _whole("acknowledgement", "unsigned", "B", "Relative likewise; null without ACK.", _OURS),
    _whole("payload", "unsigned", "B", "Payload on the wire, from the IP length.", _OURS),
    _whole(
        "window",
        "unsigned",
        "B",
        "The window, scaled where the scale is known; never in SYNs.",
        "RFC 7323",
    ),
    _whole(
        "flags",
        "unsigned",
        "",
        "FIN 1, SYN 2, RST 4, PSH 8, ACK 16, URG 32, ECE 64, CWR 128, AE 256.",
        "RFC 9293",
    ),
    _whole(
        "sacks",
        "unsigned",
        "B",
        "Left, right, left, right ... of the SACK blocks, relative; a list.",
        "RFC 2018",
    ),
    _whole("dsack", "truth", "", "The first block reports a duplicate.", "RFC 2883"),
    _whole("timestamp", "unsigned", "", "TSval; null without the option.", "RFC 7323"),
    _whole("echo", "unsigned", "", "TSecr; null without the option.", "RFC 7323"),
    _whole("ip_id", "unsigned", "", "The IPv4 identification; null for IPv6.", "RFC 6864"),
    _whole("ecn", "unsigned", "", "The ECN field: 1 ECT(1), 2 ECT(0), 3 CE.", "RFC 3168"),
    _whole("ttl", "unsigned", "", "Time to live, or hop limit.", "RFC 791"),
    _whole("kind", "unsigned", "", "What the segment is: a position in KINDS.", _OURS),
    _whole(
        "in_flight",
        "unsigned",
        "B",
        "Payload of its direction sent, not acknowledged, not SACKed.",
        _OURS,
    ),
    _whole(
        "rtt",
        "integer",
        "ns",
        "The sample that this ACK gives, of the data it acknowledges.",
        "RFC 6298",
    ),
)
"""The columns of one row per segment."""


def connection_names() -> list[str]:
    """The names of the connections' frame, in order: ours of the connection, tcptrace's 147, ours
    of a direction.
    """
    whole = [column for column in OURS if not column.directed]
    directed = [column for column in OURS if column.directed]
    return [name for column in (*whole, *TCPTRACE, *directed) for name in column.names()]
