//! The connections' frame: tcptrace's 147 columns and ours, by the names that columns.csv defines.

use crate::column_frame::{ColumnName, Frame};
use crate::connection::Connection;
use crate::direction::{Direction, RareCounters};
use crate::kind;
use crate::limit_history::LimitRows;
use crate::round_trips::Sums;
use crate::rtt_samples::{Histogram, Samples};
use crate::sightings::Hop;
use crate::tcp_options::{FastOpen, Multipath};
use crate::usage::limit;
use crate::whole_packets::{whole, Identity};

const MILLISECOND: f64 = 1_000_000.0;
const SECOND: f64 = 1_000_000_000.0;
const PERCENTILES: [(u64, &str); 6] =
    [(5, "p5"), (25, "p25"), (50, "p50"), (75, "p75"), (95, "p95"), (99, "p99")];
const CLASSES: [(u8, &str); 7] = [
    (kind::FAST, "fast"),
    (kind::SACK, "sack"),
    (kind::RTO, "rto"),
    (kind::TLP, "tlp"),
    (kind::SPURIOUS, "spurious"),
    (kind::OTHER, "other"),
    (kind::FASTOPEN, "fastopen"),
];

const LIMITS: [(u8, &str); 4] = [
    (limit::RECEIVER, "receiver"),
    (limit::NETWORK, "network"),
    (limit::APPLICATION, "waiting"),
    (limit::IDLE, "idle"),
];

/// Adds the connection as the next row, and the intervals of its limits if they were kept.
pub fn add(
    frame: &mut Frame,
    limits: &mut LimitRows,
    identity: Identity,
    connection: &mut Connection,
    compatible: bool,
) {
    let (number, late, hops) = (identity.number as u32, identity.late, identity.hops);
    let end = connection.last_time;
    let (clock, packet) = (connection.clock, connection.last_packet as u32);
    let (a, b) = (&mut connection.a, &mut connection.b);
    let sizes = (a.segment_size(b), b.segment_size(a));
    let kept = (a.rounds_so_far(), b.rounds_so_far());
    a.sum_up(clock, packet, sizes.0.into());
    b.sum_up(clock, packet, sizes.1.into());
    frame.next_row();
    whole(frame, identity, connection);
    let (a, b) = (&connection.a, &connection.b);
    for (at, (this, other, ending)) in [(a, b, "_a2b"), (b, a, "_b2a")].into_iter().enumerate() {
        let scaled = a.window_restarted && b.window_restarted;
        let (late_by, hop, began) = (late[at], hops[at], connection.first_time);
        Part { frame, this, other, ending, compatible, scaled, began, end, late_by, hop }.add();
    }
    for (forward, this) in [(true, a), (false, b)] {
        if let Some(history) = &this.limited.history {
            limits.add(number, forward, history);
        }
    }
    connection.a.go_on(kept.0);
    connection.b.go_on(kept.1);
}

struct Part<'a> {
    frame: &'a mut Frame,
    this: &'a Direction,
    other: &'a Direction,
    ending: &'a str,
    compatible: bool,
    /// Whether both directions scale their windows.
    scaled: bool,
    began: i64,
    end: i64,
    late_by: i64,
    hop: Option<&'a Hop>,
}

impl Part<'_> {
    fn add(mut self) {
        let (no_rare, no_rtts) = (RareCounters::default(), Sums::default());
        let rare = self.this.rare.as_deref().unwrap_or(&no_rare);
        let rtts = self.this.rtts.summed_up().unwrap_or(&no_rtts);
        self.packets(rare);
        self.options(rare);
        self.windows(rare);
        self.stream();
        self.rtts(rare, rtts);
        self.ours(rare, rtts);
        self.kinds(rare);
        self.reordering(rare);
        self.evidence(rare);
    }

    fn unsigned(&mut self, name: impl ColumnName, value: u64) {
        self.frame.unsigned(name, self.ending, value);
    }

    fn integer(&mut self, name: impl ColumnName, value: i64) {
        self.frame.integer(name, self.ending, value);
    }

    fn float(&mut self, name: impl ColumnName, value: f64) {
        self.frame.float(name, self.ending, value);
    }

    fn text(&mut self, name: impl ColumnName, value: String) {
        self.frame.text(name, self.ending, value);
    }

    /// tcptrace counts SYN, FIN and RST in a byte.
    fn small(&self, count: u32) -> u64 {
        u64::from(if self.compatible { count & 0xff } else { count })
    }

    fn packets(&mut self, rare: &RareCounters) {
        let this = self.this;
        self.unsigned("total_packets", this.packets);
        self.unsigned("resets_sent", self.small(this.resets));
        self.unsigned("ack_pkts_sent", this.acks());
        self.unsigned("pure_acks_sent", this.pure_acks());
        self.unsigned("sack_pkts_sent", rare.sack_packets);
        self.unsigned("dsack_pkts_sent", rare.dsacks);
        self.unsigned("max_sack_blks/ack", u64::from(rare.most_blocks));
        self.unsigned("unique_bytes_sent", this.unique_bytes());
        self.unsigned("actual_data_pkts", this.data_packets);
        self.unsigned("actual_data_bytes", this.data_bytes);
        self.unsigned("rexmt_data_pkts", rare.repeated_packets);
        self.unsigned("rexmt_data_bytes", rare.repeated_bytes);
        self.unsigned("zwnd_probe_pkts", rare.probe_packets);
        self.unsigned("zwnd_probe_bytes", rare.probe_bytes);
        self.unsigned("outoforder_pkts", rare.out_of_order);
        self.unsigned("pushed_data_pkts", this.pushed);
        self.text(
            "SYN/FIN_pkts_sent",
            format!("{}/{}", self.small(this.syns), self.small(this.fins)),
        );
        self.unsigned("syns", u64::from(this.syns));
        self.unsigned("options_known", u64::from(this.is_told));
        self.unsigned("syn_acks", u64::from(this.syn_acks));
        self.unsigned("resets_ignored", u64::from(rare.resets_ignored));
        self.unsigned("fins", u64::from(this.fins));
    }

    fn options(&mut self, rare: &RareCounters) {
        let this = self.this;
        let letter = |truth: bool| if truth { "Y" } else { "N" };
        self.text(
            "req_1323_ws/ts",
            format!("{}/{}", letter(this.scaled), letter(this.timestamped)),
        );
        self.unsigned("adv_wind_scale", u64::from(this.scale));
        self.text("req_sack", letter(this.sack_permitted).to_string());
        self.unsigned("sacks_sent", rare.sacks_sent);
        self.unsigned("urgent_data_pkts", rare.urgent_packets);
        self.unsigned("urgent_data_bytes", rare.urgent_bytes);
        // tcptrace takes it for a signed number of 16 bit.
        let signed = if self.compatible && this.mss >= 1 << 15 { 0xffff_0000 } else { 0 };
        self.unsigned("mss_requested", u64::from(this.mss) | signed);
        self.unsigned("max_segm_size", u64::from(this.largest));
        self.unsigned("min_segm_size", u64::from(this.smallest));
        let mean = match (this.data_packets, self.compatible) {
            (0, _) => 0,
            (count, true) => (this.data_bytes as f64 / (count as f64 + 0.001)) as u64,
            (count, false) => this.data_bytes / count,
        };
        self.unsigned("avg_segm_size", mean);
    }

    fn windows(&mut self, rare: &RareCounters) {
        let this = self.this;
        self.unsigned("max_win_adv", u64::from(this.window_max));
        self.unsigned("min_win_adv", u64::from(this.window_min));
        self.unsigned("zero_win_adv", rare.zero_windows);
        let count =
            if self.compatible && !self.scaled { this.packets } else { this.window_count() };
        self.unsigned("avg_win_adv", this.window_sum.checked_div(count).unwrap_or(0));
        self.unsigned("max_owin", this.owin_max as u64);
        self.unsigned("min_non-zero_owin", this.owin_min as u64);
        self.unsigned(
            "avg_owin",
            this.owin_sum().checked_div(u128::from(this.owin_count())).unwrap_or(0) as u64,
        );
        let duration = self.end - self.began;
        let weighted = match (duration > 0, self.compatible) {
            (false, _) => None,
            (true, true) => Some((this.owin_weighted as f64 / (duration as f64 / SECOND)) as u64),
            (true, false) => Some((this.owin_weighted / duration as u128) as u64),
        };
        self.frame.unsigned_or_none("wavg_owin", self.ending, weighted);
        self.unsigned("initial_window_bytes", this.initial_bytes);
        self.unsigned("initial_window_pkts", this.initial_packets);
        let open = rare.zero_window_since.map_or(0, |since| (self.end - since).max(0));
        self.integer("zero_window_time", rare.zero_window_time + open);
    }

    fn stream(&mut self) {
        let this = self.this;
        let last = match this.fin_end.get() {
            // A reset behind a FIN has the number behind that, which is none of the stream.
            Some(end) if this.believed_resets() > 0 && !self.compatible => {
                Some(if this.latest_end == end + 1 { end } else { this.latest_end })
            }
            end if this.believed_resets() == 0 => end,
            _ => Some(this.latest_end),
        };
        let length = match (this.syns > 0 && this.fins > 0, last) {
            (true, Some(last)) if self.compatible => Some((last - 1).max(0)),
            // A reset may tell less than was sent, and so may a second FIN.
            (true, Some(last)) => Some(last.max(this.data_end) - 1),
            _ => None,
        };
        self.frame.unsigned_or_none(
            "ttl_stream_length",
            self.ending,
            length.map(|length| length as u64),
        );
        let missed = length.map(|length| length - this.unique_bytes() as i64);
        let missed = missed.map(|missed| if self.compatible { missed } else { missed.max(0) });
        self.frame.integer_or_none("missed_data", self.ending, missed);
        self.unsigned("truncated_data", this.truncated_bytes);
        self.unsigned("truncated_packets", this.truncated_packets);
        let took = this.first_data.get().map_or(0, |first| (this.last_data - first).max(0));
        self.float("data_xmit_time", took as f64 / SECOND);
        let pause = this.last_time.get().map(|_| this.longest_pause as f64 / MILLISECOND);
        self.frame.float_or_none("idletime_max", self.ending, pause);
        let duplicates = this.rare.as_deref().map_or(0, |rare| rare.hardware_duplicates);
        self.unsigned("hardware_dups", duplicates);
        let duration = (self.end - self.began) as f64 / SECOND;
        let throughput =
            if duration > 0.0 { Some(this.unique_bytes() as f64 / duration) } else { None };
        self.frame.float_or_none("throughput", self.ending, throughput);
    }

    fn times(&mut self, names: [&str; 4], samples: &Samples) {
        self.float(names[0], samples.min as f64 / MILLISECOND);
        self.float(names[1], samples.max as f64 / MILLISECOND);
        self.float(names[2], samples.mean(self.compatible) / MILLISECOND);
        self.float(names[3], samples.deviation() / MILLISECOND);
    }

    fn rtts(&mut self, rare: &RareCounters, rtts: &Sums) {
        let this = self.this;
        self.unsigned("RTT_samples", rtts.all.count);
        self.times(["RTT_min", "RTT_max", "RTT_avg", "RTT_stdev"], &rtts.all);
        self.float("RTT_from_3WHS", this.handshake_sample as f64 / MILLISECOND);
        self.unsigned("RTT_full_sz_smpls", rtts.full.count);
        let last = if self.ending == "_a2b" { "RTT full_sz_stdev" } else { "RTT_full_sz_stdev" };
        self.times(["RTT_full_sz_min", "RTT_full_sz_max", "RTT_full_sz_avg", last], &rtts.full);
        self.unsigned("post-loss_acks", rare.after_loss);
        self.unsigned("ambiguous_acks", rare.ambiguous);
        self.times(
            ["RTT_min_(last)", "RTT_max_(last)", "RTT_avg_(last)", "RTT_sdv_(last)"],
            &rare.last_times,
        );
        self.unsigned("segs_cum_acked", this.cumulatively);
        self.unsigned("duplicate_acks", rare.duplicate_acks);
        self.unsigned("triple_dupacks", rare.triple_duplicates);
        self.unsigned("max_#_retrans", u64::from(rare.most_again));
        let names = ["min_retr_time", "max_retr_time", "avg_retr_time", "sdv_retr_time"];
        self.times(names, &rare.retransmission_times);
    }

    fn ours(&mut self, rare: &RareCounters, rtts: &Sums) {
        let this = self.this;
        self.unsigned("mss", u64::from(this.segment_size(self.other)));
        let acknowledged = (this.acknowledged.min(this.data_end) - 1).max(0);
        self.unsigned("bytes_acknowledged", acknowledged as u64);
        let first = this.first_data.get().unwrap_or(0);
        let until = |last: i64, bytes: u64| match this.first_data.get() {
            Some(_) if last > first => Some(bytes as f64 * 8.0 / ((last - first) as f64 / SECOND)),
            _ => None,
        };
        let goodput = until(this.data_acknowledged_time, acknowledged as u64);
        self.frame.float_or_none("goodput", self.ending, goodput);
        self.frame.float_or_none("rate", self.ending, until(this.last_data, this.data_bytes));
        self.unsigned("rtt_samples", rtts.ours.count);
        let measured = rtts.ours.count > 0;
        let present = |value: i64| if measured { Some(value) } else { None };
        self.frame.integer_or_none("rtt_min", self.ending, present(rtts.ours.min));
        self.frame.integer_or_none("rtt_max", self.ending, present(rtts.ours.max));
        let mean = rtts.ours.sum.checked_div(i128::from(rtts.ours.count)).map(|mean| mean as i64);
        self.frame.integer_or_none("rtt_mean", self.ending, mean);
        self.percentiles("rtt", &rtts.histogram);
        self.unsigned("rtt_timestamp_samples", rtts.timestamps.total());
        self.percentiles("rtt_timestamp", &rtts.timestamps);
        self.unsigned("in_flight_max", this.usage.most as u64);
        let since = this.first_data.get().map_or(0, |began| (self.end - began).max(0));
        let flight = this.usage.weighted.checked_div(since as u128).unwrap_or(0);
        self.unsigned("in_flight_mean", flight as u64);
        self.unsigned("dsacks", rare.dsacks);
        let marks =
            [("ect0_packets", rare.ect0), ("ect1_packets", rare.ect1), ("ce_packets", rare.ce)];
        marks.iter().for_each(|(name, count)| self.unsigned(*name, *count));
        self.unsigned("ece_packets", rare.ece);
        self.unsigned("cwr_packets", rare.cwr);
        self.unsigned("marks_reported", rare.reported_marks);
        self.text("ecn_counter", if this.counts_marks { "accurate" } else { "" }.to_string());
        self.extensions(rare);
        let limited = |state: u8| this.limited.times[usize::from(state)];
        let (receiver, network) = (limited(limit::RECEIVER), limited(limit::NETWORK));
        let (idle, waiting) = (limited(limit::IDLE), limited(limit::APPLICATION));
        self.integer("limited_receiver", receiver);
        self.integer("limited_network", network);
        self.integer("limited_application", idle + waiting);
        self.integer("limited_idle", idle);
        self.integer("busy", receiver + network + waiting);
    }

    /// Fast Open, Multipath TCP, and the option of AccECN.
    fn extensions(&mut self, rare: &RareCounters) {
        self.unsigned("accecn_options", rare.ecn_options);
        let fast_open = match rare.fast_open {
            FastOpen::No => "",
            FastOpen::Asks => "request",
            FastOpen::HasCookie => "cookie",
        };
        self.text("fastopen", fast_open.to_string());
        let sent = (rare.syn_data - 1).max(0);
        self.unsigned("syn_data", sent as u64);
        let accepted = rare.syn_answered.filter(|_| sent > 0);
        let accepted = accepted.map(|ack| (ack - 1).max(0).min(sent) as u64);
        self.frame.unsigned_or_none("syn_data_accepted", self.ending, accepted);
        let (name, version) = match rare.multipath {
            None => ("", None),
            Some(Multipath::Capable { version, .. }) => ("capable", Some(u64::from(version))),
            Some(Multipath::Join { .. }) => ("join", None),
        };
        let (key, token) =
            if name == "join" { (None, rare.multipath_key) } else { (rare.multipath_key, None) };
        self.text("mptcp", name.to_string());
        self.frame.unsigned_or_none("mptcp_version", self.ending, version);
        self.text("mptcp_key", key.map_or(String::new(), |key| format!("{key:016x}")));
        self.frame.unsigned_or_none("mptcp_token", self.ending, token);
    }

    fn percentiles(&mut self, prefix: &str, histogram: &Histogram) {
        for (percent, name) in PERCENTILES {
            let value = histogram.percentile(percent);
            self.frame.integer_or_none(format_args!("{prefix}_{name}"), self.ending, value);
        }
    }

    fn kinds(&mut self, rare: &RareCounters) {
        let size = self.this.segment_size(self.other).max(1);
        let (mut packets, mut bytes) = (0, 0);
        for (kind, name) in CLASSES {
            let (count, repeated) =
                (rare.kinds[usize::from(kind)], rare.kind_bytes[usize::from(kind)]);
            self.unsigned(format_args!("retransmissions_{name}"), count);
            self.unsigned(format_args!("retransmitted_bytes_{name}"), repeated);
            self.float(
                format_args!("retransmitted_segments_{name}"),
                repeated as f64 / f64::from(size),
            );
            packets += count;
            bytes += repeated;
        }
        self.unsigned("retransmissions", packets);
        self.unsigned("retransmitted_bytes", bytes);
        let others = [
            (kind::SYN, "syns_again"),
            (kind::FIN, "fins_again"),
            (kind::KEEPALIVE, "keepalives"),
            (kind::PROBE, "probes"),
            (kind::LATE, "late"),
            (kind::COPY, "copies"),
        ];
        others.iter().for_each(|(kind, name)| self.unsigned(*name, rare.kinds[usize::from(*kind)]));
        self.unsigned("mirrored", rare.mirrored);
    }

    fn reordering(&mut self, rare: &RareCounters) {
        let losses = &rare.losses;
        self.unsigned("loss_episodes", losses.episodes);
        self.unsigned("reordered", losses.reordered);
        self.unsigned("reordering_packets", losses.reordering_packets);
        self.unsigned("reordering_bytes", losses.reordering_bytes as u64);
        self.integer("reordering_time", losses.reordering_time);
    }

    /// What a verdict needs: see analysis/analyze/verdict.py.
    fn evidence(&mut self, rare: &RareCounters) {
        let this = self.this;
        for (state, name) in LIMITS {
            let (first, last) = this.limited.packets[usize::from(state)];
            self.unsigned(format_args!("limited_{name}_first"), first.into());
            self.unsigned(format_args!("limited_{name}_last"), last.into());
        }
        let losses = &rare.losses;
        let waited = this.rounds.as_deref().map_or(0, |rounds| rounds.timeouts);
        self.unsigned("losses_repaired", losses.repaired);
        self.unsigned("repairs_held", losses.held);
        self.unsigned("loss_events", losses.events);
        let delay = losses.delays.sum.checked_div(i128::from(losses.delays.count));
        self.frame.integer_or_none("loss_delay", self.ending, delay.map(|delay| delay as i64));
        self.unsigned("loss_first", losses.packets.0.into());
        self.unsigned("loss_last", losses.packets.1.into());
        // Far from the sender a wait shows both as a pause and, behind the capture, as a repair.
        self.integer("timeout_time", losses.timeouts.max(waited));
        let waiting = this.board.list.all().iter().find(|sent| sent.acks() == 0);
        self.unsigned("unanswered_repeats", waiting.map_or(0, |sent| sent.again().into()));
        let silence = this.last_time.get().map(|last| (self.end - last).max(0));
        self.frame.integer_or_none("silence", self.ending, silence);
        let after = this.first_data.get().map(|_| (self.end - this.last_data).max(0));
        self.frame.integer_or_none("silence_after_data", self.ending, after);
        let none = Histogram::default();
        let queueing = this.rounds.as_deref().map_or(&none, |rounds| &rounds.queueing);
        self.percentiles("queueing", queueing);
        self.unsigned("answers", rare.answers.times.count);
        self.integer("answer_time", rare.answers.times.sum as i64);
        self.percentiles("answer", &rare.answers.histogram);
        self.unsigned("answer_slowest", rare.answers.slowest.into());
        self.unsigned("delayed_ack_waits", rare.delayed_acks.count);
        self.integer("delayed_ack_time", rare.delayed_acks.time);
        self.unsigned("delayed_ack_first", rare.delayed_acks.first.into());
        self.unsigned("delayed_ack_last", rare.delayed_acks.last.into());
        self.frame.integer_or_none("first_data_wait", self.ending, rare.first_wait);
        self.integer("late_by", self.late_by);
        let hop = self.hop;
        self.unsigned("hop_packets", hop.map_or(0, |hop| hop.both));
        self.unsigned("hop_lost", hop.map_or(0, |hop| hop.lost));
        let times = hop.filter(|hop| hop.both > 0);
        self.frame.integer_or_none("hop_delay_min", self.ending, times.map(|hop| hop.delays.min));
        let median = times.and_then(|hop| hop.histogram.percentile(50));
        self.frame.integer_or_none("hop_delay_p50", self.ending, median);
        self.frame.integer_or_none("hop_delay_max", self.ending, times.map(|hop| hop.delays.max));
    }
}
