//! The steps that count: packets, options, payload, windows, and tcptrace's outstanding window.

use crate::direction::Direction;
use crate::segment::{Segment, ACK, AE, CWR, ECE, FIN, PSH, RST, SYN, URG};
use crate::step::{Sacks, Step};
use crate::tcp_options::{FastOpen, Multipath, RareFields};
use crate::usage::product;

/// What the counter of marks begins with.
const FIRST_ACE: u16 = 5;
/// More than any window: 2^16 scaled by 14 bits (RFC 7323, section 2.2).
const UNBOUNDED: u64 = 1 << 32;

#[inline(always)]
pub fn count(
    segment: &Segment,
    this: &mut Direction,
    other: &mut Direction,
    step: &Step,
    compatible: bool,
) {
    let flags = step.flags;
    if segment.place != this.place {
        (this.has_places, this.place) = (this.has_places || this.packets > 0, segment.place);
    }
    this.packets += 1;
    if let Some(last) = this.last_time.get() {
        this.longest_pause = this.longest_pause.max(step.now - last);
    }
    this.last_time = step.now.into();
    if flags & (SYN | FIN | RST) != 0 {
        this.syns += u32::from(flags & SYN != 0);
        this.syn_acks += u32::from(flags & (SYN | ACK) == SYN | ACK);
        if flags & SYN != 0 && step.payload > 0 {
            this.rare().syn_data = step.end + 1;
        }
        this.fins += u32::from(flags & FIN != 0);
        this.resets += u32::from(flags & RST != 0);
        if flags & SYN != 0 {
            this.syn_number = segment.sequence;
            other.last_ack = step.first.into();
        }
        if flags & FIN != 0 {
            this.fin_end = step.end.into();
        }
        let resets = flags & RST != 0 && (compatible || is_believed(this, step));
        if flags & RST != 0 && !resets {
            this.rare().resets_ignored += 1;
        }
        this.has_ended |= flags & FIN != 0 || resets;
        other.has_ended |= resets;
    }
    if flags & (SYN | FIN | RST) != 0 || flags & ACK == 0 {
        this.without_payload += u64::from(step.payload == 0);
        this.without_ack += u64::from(flags & ACK == 0);
    }
    if flags & ACK != 0 && compatible {
        this.window_end = u64::from(segment.acknowledgement) + u64::from(step.window);
    }
    if this.has_ended {
        this.latest_end = step.end;
    }
    if flags & SYN != 0 {
        negotiate(segment, this, other);
    }
    let counts_marks = this.counts_marks && flags & SYN == 0;
    if segment.ecn != 0 || flags & (ECE | CWR) != 0 {
        let established = flags & SYN == 0;
        let rare = this.rare();
        rare.ect1 += u64::from(segment.ecn == 1);
        rare.ect0 += u64::from(segment.ecn == 2);
        rare.ce += u64::from(segment.ecn == 3);
        let is_classic = established && !counts_marks;
        rare.ece += u64::from(is_classic && flags & ECE != 0);
        rare.cwr += u64::from(is_classic && flags & CWR != 0);
    }
    if counts_marks {
        count_marks(segment, this);
    }
}

/// A SYN asks with all three flags, and its answer has one of four others (AccECN, section 3.1).
fn negotiate(segment: &Segment, this: &mut Direction, other: &mut Direction) {
    let asked = segment.flags & (AE | CWR | ECE);
    this.rare().syn_ecn = asked;
    let peer = other.rare.as_deref().map_or(0, |rare| rare.syn_ecn);
    let answers = [CWR, CWR | ECE, AE, AE | CWR];
    let is_agreed = segment.flags & ACK != 0 && peer == AE | CWR | ECE && answers.contains(&asked);
    if is_agreed {
        (this.counts_marks, other.counts_marks) = (true, true);
        (this.rare().last_ace, other.rare().last_ace) = (FIRST_ACE, FIRST_ACE);
    }
}

/// The three flags count CE marks of the other direction, modulo 8. The first ACK of the handshake
/// tells of the SYN-ACK instead.
#[cold]
fn count_marks(segment: &Segment, this: &mut Direction) {
    let is_handshake = this.packets == u64::from(this.syns) + 1 && this.syn_acks == 0;
    let ace = (segment.flags & (AE | CWR | ECE)) / ECE;
    let rare = this.rare();
    if !is_handshake {
        rare.reported_marks += u64::from(ace.wrapping_sub(rare.last_ace) & 7);
        rare.last_ace = ace;
    }
}

/// Whether a reset lies in the window of its receiver, which ignores others (RFC 5961, section
/// 3.2).
fn is_believed(this: &Direction, step: &Step) -> bool {
    let begins = this.packets == 1;
    let is_below = step.first < this.acknowledged - 1;
    let is_above = step.first > this.reference() && this.offer.room(step.first) < 0;
    begins || !(is_below || is_above)
}

/// Takes what a SYN asks for.
#[cold]
pub fn agree(
    rare: &RareFields,
    flags: u16,
    this: &mut Direction,
    other: &mut Direction,
    compatible: bool,
) {
    this.is_told |= compatible || !rare.is_cut;
    this.mss = rare.mss.unwrap_or(this.mss);
    this.sack_permitted |= rare.sack_permitted;
    if let Some(scale) = rare.scale {
        (this.scale, this.scaled) = (scale, true);
    }
    let is_answer = flags & ACK != 0 && !other.is_told && !compatible;
    let both = this.scaled && (other.scaled || is_answer);
    (this.scales, other.scales) = (both, both && other.scaled);
}

#[inline(always)]
pub fn options(
    segment: &Segment,
    rare: &RareFields,
    this: &mut Direction,
    other: &mut Direction,
    step: &mut Step,
    compatible: bool,
) -> Sacks {
    if step.flags & SYN != 0 {
        agree(rare, step.flags, this, other, compatible);
        open_fast(rare, this, other, step.ack);
    }
    if let Some((value, echo)) = segment.timestamps() {
        this.timestamped = true;
        if step.payload > 0 || step.flags & SYN != 0 {
            this.stamps.sent(value, step.now);
        }
        if step.flags & ACK != 0 {
            if let Some(sent) = other.stamps.echoed(echo) {
                let time = (step.now - sent).max(0);
                other.smoothed.add(time);
                other.rtts.timestamp(time);
            }
        }
    }
    if rare.has_ecn_counters {
        this.rare().ecn_options += 1;
    }
    if let Some(multipath) = rare.multipath {
        combine(this, multipath, rare.key, step.flags);
    }
    if rare.block_count > 0 {
        this.rare().sacks_sent += 1;
        selective(rare.sacks(), other, step)
    } else {
        Sacks::default()
    }
}

/// Of a SYN, or the answer to one. A reference to the step would keep it in memory, and its flags
/// from being a constant of plain segments.
#[cold]
fn open_fast(rare: &RareFields, this: &mut Direction, other: &mut Direction, ack: Option<i64>) {
    if rare.fast_open != FastOpen::No && this.syns == 1 {
        this.rare().fast_open = rare.fast_open;
    }
    if let (Some(ack), Some(asked)) = (ack, other.rare.as_deref_mut()) {
        asked.syn_answered.get_or_insert(ack);
    }
}

/// Multipath TCP: what a SYN asks for, and the sender's key, which may come with a later ACK.
#[cold]
fn combine(this: &mut Direction, multipath: Multipath, key: u64, flags: u16) {
    let rare = this.rare();
    if flags & SYN != 0 {
        rare.multipath = Some(multipath);
    }
    let has_key = match multipath {
        Multipath::Capable { has_key, .. } => has_key,
        Multipath::Join { has_token } => has_token && flags & SYN != 0,
    };
    if has_key {
        rare.multipath_key.get_or_insert(key);
    }
}

fn selective(blocks: &[(u32, u32)], other: &Direction, step: &mut Step) -> Sacks {
    let mut sacks = Sacks { count: blocks.len(), ..Sacks::default() };
    for (relative, block) in sacks.all.iter_mut().zip(blocks) {
        *relative = (other.relative(block.0), other.relative(block.1));
    }
    let ((left, right), second) = (sacks.all[0], sacks.all[1]);
    let inside = sacks.count > 1 && left >= second.0 && right <= second.1;
    step.dsack = matches!(step.ack, Some(ack) if right <= ack) || inside;
    sacks
}

#[inline(always)]
pub fn payload(
    segment: &Segment,
    rare: &RareFields,
    this: &mut Direction,
    step: &mut Step,
    compatible: bool,
) {
    if let (true, Some(id)) = (compatible, segment.ip_id) {
        step.copy = this.is_hardware_duplicate(segment.sequence, id);
        if step.copy {
            this.rare().hardware_duplicates += 1;
        }
    }
    if step.payload == 0 {
        return;
    }
    this.data_packets += 1;
    if segment.flags & PSH != 0 {
        this.pushed += 1;
    } else {
        this.cut = this.cut.max(segment.payload);
    }
    this.data_bytes += u64::from(segment.payload);
    if step.flags & URG != 0 {
        let counters = this.rare();
        counters.urgent_packets += 1;
        counters.urgent_bytes += u64::from(rare.urgent);
    }
    this.largest = this.largest.max(segment.payload);
    if this.smallest == 0 || segment.payload < this.smallest {
        this.smallest = segment.payload;
    }
    if this.data_packets == 1 {
        this.first_data = step.now.into();
    }
    this.last_data = step.now;
    if segment.missing > 0 {
        this.truncated_bytes += u64::from(segment.missing);
        this.truncated_packets += 1;
    }
}

/// Windows, ACK counts and SACK counts of a segment without RST.
#[inline(always)]
pub fn windows(rare: &RareFields, this: &mut Direction, other: &mut Direction, step: &Step) {
    let flags = step.flags;
    let window = step.window;
    this.last_window = window;
    if flags & (ACK | SYN) != 0 {
        let scaled = this.scales && flags & SYN == 0;
        if window > 0 && scaled && !this.window_restarted {
            this.window_restarted = true;
            (this.window_min, this.window_max) = (window, window);
            (this.window_sum, this.without_window) = (0, this.packets - 1);
        } else if window > 0 && (this.window_min == 0 || window < this.window_min) {
            this.window_min = window;
        }
        this.window_max = this.window_max.max(window);
        this.window_sum += u64::from(window);
    } else {
        this.without_window += 1;
    }
    if let Some(ack) = step.ack {
        this.last_ack = ack.into();
        // One that is not believed, or older, says nothing.
        let is_believed = ack <= other.acknowledged;
        let offer = offered(this, other, u64::from(window));
        if is_believed && other.offer.update(step.first, ack, offer) {
            zero_window(this, step.now, window == 0);
        }
        if window == 0 {
            this.rare().zero_windows += 1;
        }
        if rare.block_count > 0 {
            let counters = this.rare();
            counters.sack_packets += 1;
            counters.dsacks += u64::from(step.dsack);
            counters.most_blocks = counters.most_blocks.max(rare.block_count);
        }
    }
}

/// Of a window whose scale no SYN told only that it is closed is known.
#[inline(always)]
fn offered(this: &Direction, other: &Direction, window: u64) -> u64 {
    let is_told = this.scales || (this.is_told && (!this.scaled || other.is_told));
    let is_none = other.is_told && !other.scaled;
    if window == 0 || is_told || is_none {
        window
    } else {
        UNBOUNDED
    }
}

#[inline(always)]
fn zero_window(this: &mut Direction, now: i64, zero: bool) {
    if !zero && !this.advertises_zero {
        return;
    }
    this.advertises_zero = zero;
    let rare = this.rare();
    match (rare.zero_window_since, zero) {
        (None, true) => rare.zero_window_since = Some(now),
        (Some(since), false) => {
            rare.zero_window_time += (now - since).max(0);
            rare.zero_window_since = None;
        }
        _ => {}
    }
}

/// The initial window and tcptrace's outstanding window.
#[inline(always)]
pub fn outstanding(this: &mut Direction, other: &mut Direction, step: &Step, compatible: bool) {
    let syn = step.flags & SYN != 0;
    if let Some(ack) = step.ack {
        if !other.data_acked && (other.syns == 0 || ack != 1) {
            other.data_acked = true;
        }
    }
    if step.payload > 0 && !this.data_acked && !step.repeated {
        this.initial_bytes += step.payload as u64;
        this.initial_packets += 1;
    }
    if syn || step.added.out_of_order || step.repeated {
        this.without_owin += 1;
        return;
    }
    let owin = match other.last_ack.get() {
        None => step.payload,
        Some(ack) => (step.end - (ack - 1)).max(0),
    };
    this.owin_max = this.owin_max.max(owin);
    if owin > 0 && (this.owin_min == 0 || owin < this.owin_min) {
        this.owin_min = owin;
    }
    let (sum, is_over) = this.owin_sum.overflowing_add(owin as u64);
    this.owin_sum = sum;
    if is_over {
        this.owin_sums_over += 1;
    }
    let passed = (step.now - this.owin_since).max(0);
    this.owin_weighted += weight(this.owin_last, passed, compatible);
    (this.owin_since, this.owin_last) = (step.now, owin);
}

/// Bytes times nanoseconds; tcptrace sums whole bytes times seconds.
#[inline(always)]
fn weight(owin: i64, passed: i64, compatible: bool) -> u128 {
    if compatible {
        (owin as f64 * ((passed / 1000) as f64 / 1_000_000.0)) as u128
    } else {
        product(owin, passed)
    }
}
