"""A connection as a row: tcptrace's 147 columns and ours, by the names that columns.csv defines."""

from __future__ import annotations

from analysis.flows.columns import KIND, PERCENTILES, RETRANSMISSIONS
from analysis.flows.plain.column_frame import ColumnFrame, Value
from analysis.flows.plain.connection import Connection
from analysis.flows.plain.direction import (
    APPLICATION,
    IDLE,
    NETWORK,
    RECEIVER,
    RareCounters,
    RoundTrips,
    SenderState,
)
from analysis.flows.plain.rtt_samples import Histogram, RttSamples
from analysis.flows.plain.whole_packets import whole

_SIGN = 0xFFFF_0000
"""tcptrace takes an MSS for a signed number of 16 bit, and prints one of 32 bit."""
_MILLISECOND = 1_000_000.0
_SECOND = 1_000_000_000.0
_COUNTED = {
    "syns_again": "syn",
    "fins_again": "fin",
    "keepalives": "keepalive",
    "probes": "probe",
    "late": "late",
    "copies": "copy",
}
_NO_RARE, _NO_RTTS = RareCounters(compatible=False), RoundTrips(compatible=False)
Row = dict[str, Value]


def add(frame: ColumnFrame, connection: Connection, network: str, compatible: bool) -> None:
    """Adds the connection as the next row."""
    a, b = connection.a, connection.b
    a.usage.advance(connection.last_time)
    b.usage.advance(connection.last_time)
    frame.add(
        whole(connection, network),
        *(_DirectionRow(connection, *ends, compatible).row() for ends in ((a, b), (b, a))),
    )


class _DirectionRow:
    """One direction of a connection."""

    def __init__(
        self, connection: Connection, this: SenderState, other: SenderState, compatible: bool
    ) -> None:
        self.this, self.other, self.compatible = this, other, compatible
        self.rare, self.rtts = this.some_rare or _NO_RARE, this.some_rtts or _NO_RTTS
        self.began, self.end = connection.first_time, connection.last_time

    def row(self) -> Row:
        return {
            **self._packets(),
            **self._options(),
            **self._windows(),
            **self._stream(),
            **self._rtts(),
            **self._rates(),
            **self._ours(),
            **self._kinds(),
            **self._reordering(),
        }

    def _small(self, count: int) -> int:
        """tcptrace counts SYN, FIN and RST in an octet."""
        return count & 0xFF if self.compatible else count

    def _packets(self) -> Row:
        this, rare = self.this, self.rare
        return {
            "total_packets": this.packets,
            "resets_sent": self._small(this.resets),
            "ack_pkts_sent": this.acks,
            "pure_acks_sent": this.pure_acks,
            "sack_pkts_sent": rare.sack_packets,
            "dsack_pkts_sent": rare.dsacks,
            "max_sack_blks/ack": rare.most_blocks,
            "unique_bytes_sent": this.unique_bytes,
            "actual_data_pkts": this.data_packets,
            "actual_data_bytes": this.data_bytes,
            "rexmt_data_pkts": rare.repeated_packets,
            "rexmt_data_bytes": rare.repeated_bytes,
            "zwnd_probe_pkts": rare.probe_packets,
            "zwnd_probe_bytes": rare.probe_bytes,
            "outoforder_pkts": rare.out_of_order,
            "pushed_data_pkts": this.pushed,
            "SYN/FIN_pkts_sent": f"{self._small(this.syns)}/{self._small(this.fins)}",
            "syns": this.syns,
            "fins": this.fins,
        }

    def _options(self) -> Row:
        this, rare = self.this, self.rare
        return {
            "req_1323_ws/ts": f"{_letter(this.scaled)}/{_letter(this.timestamped)}",
            "adv_wind_scale": this.scale,
            "req_sack": _letter(this.sack_permitted),
            "sacks_sent": rare.sacks_sent,
            "urgent_data_pkts": rare.urgent_packets,
            "urgent_data_bytes": rare.urgent_bytes,
            "mss_requested": this.mss | (_SIGN if self.compatible and this.mss >> 15 else 0),
            "max_segm_size": this.largest,
            "min_segm_size": this.smallest,
            "avg_segm_size": self._mean_size(),
        }

    def _mean_size(self) -> int:
        count, octets = self.this.data_packets, self.this.data_bytes
        if not count:
            return 0
        return int(float(octets) / (float(count) + 0.001)) if self.compatible else octets // count

    def _windows(self) -> Row:
        this, rare = self.this, self.rare
        scaled = this.window_restarted and self.other.window_restarted
        count = this.packets if self.compatible and not scaled else this.window_count
        since = rare.zero_window_since
        return {
            "max_win_adv": this.window_max,
            "min_win_adv": this.window_min,
            "zero_win_adv": rare.zero_windows,
            "avg_win_adv": this.window_sum // count if count else 0,
            "max_owin": this.owin_max,
            "min_non-zero_owin": this.owin_min,
            "avg_owin": this.owin_sum // this.owin_count if this.owin_count else 0,
            "wavg_owin": self._weighted_owin(),
            "initial_window_bytes": this.initial_bytes,
            "initial_window_pkts": this.initial_packets,
            "zero_window_time": (
                rare.zero_window_time + (0 if since is None else max(self.end - since, 0))
            ),
        }

    def _weighted_owin(self) -> int | None:
        duration, weighted = self.end - self.began, self.this.owin_weighted
        if duration <= 0:
            return None
        return (
            int(float(weighted) / (float(duration) / _SECOND))
            if self.compatible
            else weighted // duration
        )

    def _stream(self) -> Row:
        this, rare = self.this, self.rare
        length, duration = self._length(), (self.end - self.began) / _SECOND
        took = 0 if this.first_data is None else max(this.last_data - this.first_data, 0)
        return {
            "ttl_stream_length": length,
            "missed_data": None if length is None else self._missed(length),
            "truncated_data": this.truncated_bytes,
            "truncated_packets": this.truncated_packets,
            "data_xmit_time": took / _SECOND,
            "idletime_max": None if this.last_time is None else this.longest_pause / _MILLISECOND,
            "hardware_dups": rare.hardware_duplicates,
            "throughput": this.unique_bytes / duration if duration > 0.0 else None,
        }

    def _length(self) -> int | None:
        this = self.this
        last = this.latest_end if this.resets else this.fin_end
        if not this.syns or not this.fins or last is None:
            return None
        # A reset may tell less than was sent, and so may a second FIN.
        return max(last - 1, 0) if self.compatible else max(last, this.data_end) - 1

    def _missed(self, length: int) -> int:
        missed = length - self.this.unique_bytes
        return missed if self.compatible else max(missed, 0)

    def _rtts(self) -> Row:
        this, rare, rtts = self.this, self.rare, self.rtts
        return {
            "RTT_samples": rtts.all.settle().count,
            **_times(("RTT_min", "RTT_max", "RTT_avg", "RTT_stdev"), rtts.all),
            "RTT_from_3WHS": this.handshake_sample / _MILLISECOND,
            "RTT_full_sz_smpls": rtts.full.settle().count,
            **_times(
                ("RTT_full_sz_min", "RTT_full_sz_max", "RTT_full_sz_avg", "RTT_full_sz_stdev"),
                rtts.full,
            ),
            "post-loss_acks": rare.after_loss,
            "ambiguous_acks": rare.ambiguous,
            **_times(
                ("RTT_min_(last)", "RTT_max_(last)", "RTT_avg_(last)", "RTT_sdv_(last)"),
                rare.last_times,
            ),
            "segs_cum_acked": this.cumulative,
            "duplicate_acks": rare.duplicate_acks,
            "triple_dupacks": rare.triple_duplicates,
            "max_#_retrans": rare.most_again,
            **_times(
                ("min_retr_time", "max_retr_time", "avg_retr_time", "sdv_retr_time"),
                rare.retransmission_times,
            ),
        }

    def _rates(self) -> Row:
        this = self.this
        acknowledged = max(min(this.acknowledged, this.data_end) - 1, 0)
        return {
            "mss": this.segment_size(self.other),
            "bytes_acknowledged": acknowledged,
            "goodput": self._until(this.data_acknowledged_time, acknowledged),
            "rate": self._until(this.last_data, this.data_bytes),
        }

    def _until(self, last: int, octets: int) -> float | None:
        """bit/s from the first data on."""
        first = self.this.first_data
        if first is None or last <= first:
            return None
        return octets * 8.0 / ((last - first) / _SECOND)

    def _ours(self) -> Row:
        this, rare, rtts = self.this, self.rare, self.rtts
        ours, usage = rtts.ours.settle(), this.usage
        since = 0 if usage.began is None else max(self.end - usage.began, 0)
        return {
            "rtt_samples": ours.count,
            "rtt_min": ours.min if ours.count else None,
            "rtt_max": ours.max if ours.count else None,
            "rtt_mean": ours.sum // ours.count if ours.count else None,
            **_percentiles("rtt", rtts.histogram),
            "rtt_timestamp_samples": rtts.timestamps.total(),
            **_percentiles("rtt_timestamp", rtts.timestamps),
            "in_flight_max": usage.most,
            "in_flight_mean": usage.weighted // since if since else 0,
            "dsacks": rare.dsacks,
            "ect0_packets": rare.ect0,
            "ect1_packets": rare.ect1,
            "ce_packets": rare.ce,
            "ece_packets": rare.ece,
            "cwr_packets": rare.cwr,
            "limited_receiver": usage.limited[RECEIVER],
            "limited_network": usage.limited[NETWORK],
            "limited_application": usage.limited[IDLE] + usage.limited[APPLICATION],
            "busy": sum(usage.limited[state] for state in (RECEIVER, NETWORK, APPLICATION)),
        }

    def _kinds(self) -> Row:
        rare, size = self.rare, float(max(self.this.segment_size(self.other), 1))
        cells: Row = {}
        for name in RETRANSMISSIONS:
            count, octets = rare.kinds[KIND[name]], rare.kind_bytes[KIND[name]]
            cells[f"retransmissions_{name}"], cells[f"retransmitted_bytes_{name}"] = count, octets
            cells[f"retransmitted_segments_{name}"] = octets / size
        cells["retransmissions"] = sum(rare.kinds[KIND[name]] for name in RETRANSMISSIONS)
        cells["retransmitted_bytes"] = sum(rare.kind_bytes[KIND[name]] for name in RETRANSMISSIONS)
        cells.update((column, rare.kinds[KIND[name]]) for column, name in _COUNTED.items())
        return cells

    def _reordering(self) -> Row:
        losses = self.rare.losses
        return {
            "loss_episodes": losses.episodes,
            "reordered": losses.reordered,
            "reordering_packets": losses.reordering_packets,
            "reordering_bytes": losses.reordering_bytes,
            "reordering_time": losses.reordering_time,
        }


def _letter(truth: bool) -> str:
    return "Y" if truth else "N"


def _times(names: tuple[str, str, str, str], samples: RttSamples) -> Row:
    samples.settle()
    values = (float(samples.min), float(samples.max), samples.mean(), samples.deviation())
    return {name: value / _MILLISECOND for name, value in zip(names, values, strict=True)}


def _percentiles(prefix: str, histogram: Histogram) -> Row:
    return {f"{prefix}_p{percent}": histogram.percentile(percent) for percent in PERCENTILES}
