"""The steps that count: packets, options, payload, windows, and tcptrace's outstanding window."""

from __future__ import annotations

from analysis.flows.plain.direction import SenderState
from analysis.flows.plain.segment import ACK, CWR, ECE, FIN, PSH, RST, SYN, URG
from analysis.flows.plain.step import SegmentStep

_TIMESTAMPS = 512
_MARKS = 8
_UNBOUNDED = 1 << 32
"""More than any window: 2^16 scaled by 14 bits (RFC 7323, section 2.2)."""
_TURN = 1 << 32
_HALF = 1 << 31


def count(step: SegmentStep, this: SenderState, other: SenderState) -> None:
    flags, now = step.flags, step.now
    this.packets += 1
    if this.last_time is not None and now - this.last_time > this.longest_pause:
        this.longest_pause = now - this.last_time
    this.last_time = now
    if flags & (SYN | FIN | RST):
        _marks(step, this, other)
    if flags & ACK:
        this.window_end = step.acknowledgement + step.window
    this.latest_end = step.end
    if step.ecn or flags & (ECE | CWR):
        _congestion(step, this)


def _marks(step: SegmentStep, this: SenderState, other: SenderState) -> None:
    flags = step.flags
    this.resets += flags & RST != 0
    if flags & SYN:
        this.syns += 1
        this.syn_number = step.sequence
        other.last_ack = step.first
    if flags & FIN:
        this.fins += 1
        this.fin_end = step.end


def _congestion(step: SegmentStep, this: SenderState) -> None:
    rare, established = this.rare, not step.flags & SYN
    rare.ect1 += step.ecn == 1
    rare.ect0 += step.ecn == 2
    rare.ce += step.ecn == 3
    rare.ece += established and step.flags & ECE != 0
    rare.cwr += established and step.flags & CWR != 0


def options(step: SegmentStep, this: SenderState, other: SenderState) -> None:
    if step.flags & SYN:
        _asked(step, this, other)
    else:
        this.scale, other.scale = this.scale * this.scales, other.scale * other.scales
    if step.value >= 0:
        this.timestamped = True
        _timestamps(step, this, other)
    if step.blocks:
        this.rare.sacks_sent += 1
        step.sacks = tuple(
            (other.relative(left), other.relative(right)) for left, right in step.blocks
        )
        step.dsack = _reports_a_duplicate(step)


def _asked(step: SegmentStep, this: SenderState, other: SenderState) -> None:
    if step.mss >= 0:
        this.mss = step.mss
    this.sack_permitted |= step.sack_permitted
    if step.scale >= 0:
        this.scale, this.scaled = step.scale, True
    is_answer = step.flags & ACK != 0 and other.syns == 0 and not this.compatible
    this.scales = this.scaled and (other.scaled or is_answer)
    other.scales = this.scales and other.scaled


def _reports_a_duplicate(step: SegmentStep) -> bool:
    """RFC 2883, section 4: the first block lies below the acknowledgement, or within the second."""
    left, right = step.sacks[0]
    inside = len(step.sacks) > 1 and left >= step.sacks[1][0] and right <= step.sacks[1][1]
    return inside or (step.ack is not None and right <= step.ack)


def _timestamps(step: SegmentStep, this: SenderState, other: SenderState) -> None:
    """The first echo of a value is matched with its first packet that needs an answer."""
    if step.payload or step.flags & SYN:
        sent = this.timestamps
        if not sent or 0 < (step.value - sent[-1][0]) % _TURN < _HALF:
            if len(sent) == _TIMESTAMPS:
                del sent[0]
            sent.append((step.value, step.now))
    if not step.flags & ACK:
        return
    waiting = other.timestamps
    while waiting:
        value, time = waiting[0]
        ahead = (value - step.echo) % _TURN
        if 0 < ahead < _HALF:
            return
        del waiting[0]
        if ahead == 0:
            time = max(step.now - time, 0)
            other.smooth(time)
            other.rtts.timestamps.add(time)


def payload(step: SegmentStep, this: SenderState) -> None:
    if step.ip_id >= 0:
        step.copy = _duplicate(this, step.sequence, step.ip_id)
    length = step.payload
    if not length:
        return
    this.data_packets += 1
    this.data_bytes += length
    this.last_data = step.now
    if step.flags & (PSH | URG):
        _pushed(step, this)
    if length > this.cut and not step.flags & PSH:
        this.cut = length
    if length > this.largest:
        this.largest = length
    if length < this.smallest or this.smallest == 0:
        this.smallest = length
    if this.first_data is None:
        this.first_data = step.now
    if step.missing:
        this.truncated_bytes += step.missing
        this.truncated_packets += 1


def _pushed(step: SegmentStep, this: SenderState) -> None:
    this.pushed += step.flags & PSH != 0
    if step.flags & URG:
        this.rare.urgent_packets += 1
        this.rare.urgent_bytes += step.urgent


def _duplicate(this: SenderState, number: int, ip_id: int) -> bool:
    """Same sequence number and identification as one of the eight remembered, neither being 0."""
    mark, last = number << 16 | ip_id, this.last_marks
    if mark in last and number and ip_id:
        this.rare.hardware_duplicates += 1
        return True
    last.append(mark)
    if len(last) > _MARKS:
        del last[0]
    return False


def windows(step: SegmentStep, this: SenderState, other: SenderState) -> None:
    """Windows, ACK counts and SACK counts of a segment without RST."""
    flags, window = step.flags, step.window
    this.last_window = window
    if flags & (ACK | SYN):
        if window and not this.window_restarted and this.scales and not flags & SYN:
            this.window_restarted = True
            this.window_min = this.window_max = window
            this.window_sum = this.window_count = 0
        elif window and (window < this.window_min or this.window_min == 0):
            this.window_min = window
        if window > this.window_max:
            this.window_max = window
        this.window_sum += window
        this.window_count += 1
    if step.ack is not None:
        _advertised(step, step.ack, this, other)


def _advertised(step: SegmentStep, ack: int, this: SenderState, other: SenderState) -> None:
    this.acks += 1
    if not (step.payload or step.flags & (SYN | FIN)):
        this.pure_acks += 1
    this.last_ack = ack
    # One that is not believed, or older, says nothing.
    if ack <= other.acknowledged:
        other.offer.update(step.first, ack, _offered(this, other, step.window))
    if this.advertises_zero or not step.window:
        _zero_window(this, step.now, step.window == 0)
    if step.blocks:
        rare = this.rare
        rare.sack_packets += 1
        rare.dsacks += step.dsack
        rare.most_blocks = max(rare.most_blocks, len(step.blocks))


def _offered(this: SenderState, other: SenderState, window: int) -> int:
    """Of a window whose scale no SYN told only that it is closed is known."""
    is_told = this.scales or (this.syns and (not this.scaled or other.syns))
    is_none = other.syns and not other.scaled
    return window if not window or is_told or is_none else _UNBOUNDED


def _zero_window(this: SenderState, now: int, zero: bool) -> None:
    this.advertises_zero, rare = zero, this.rare
    rare.zero_windows += zero
    if zero and rare.zero_window_since is None:
        rare.zero_window_since = now
    elif not zero and rare.zero_window_since is not None:
        rare.zero_window_time += max(now - rare.zero_window_since, 0)
        rare.zero_window_since = None


def outstanding(step: SegmentStep, this: SenderState, other: SenderState) -> None:
    """The initial window and tcptrace's outstanding window."""
    if not other.data_acked and step.ack is not None and (other.syns == 0 or step.ack != 1):
        other.data_acked = True
    if step.payload and not this.data_acked and not step.repeated:
        this.initial_bytes += step.payload
        this.initial_packets += 1
    if step.flags & SYN or step.repeated or step.added.out_of_order:
        return
    owin = step.payload if other.last_ack is None else step.end - other.last_ack + 1
    if owin < 0:
        owin = 0
    if owin > this.owin_max:
        this.owin_max = owin
    if owin and (owin < this.owin_min or this.owin_min == 0):
        this.owin_min = owin
    this.owin_sum += owin
    this.owin_count += 1
    if this.owin_count > 1 and step.now > this.owin_since:
        this.owin_weighted += _weight(this.owin_last, step.now - this.owin_since, this.compatible)
    this.owin_since, this.owin_last = step.now, owin


def _weight(owin: int, passed: int, compatible: bool) -> int:
    """Bytes times nanoseconds; tcptrace sums whole bytes times seconds."""
    return int(float(owin) * (float(passed // 1000) / 1_000_000.0)) if compatible else owin * passed
