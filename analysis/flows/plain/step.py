"""What is known of the segment that a connection takes: its fields, and what the steps find."""

from __future__ import annotations

from analysis.flows.plain.scoreboard import SegmentRepetition


class SegmentStep:
    """One object serves all segments.

    The first group of fields is set anew for each, the second by the steps.
    """

    __slots__ = (
        "ack",
        "acknowledgement",
        "added",
        "blocks",
        "copy",
        "dsack",
        "echo",
        "ecn",
        "end",
        "first",
        "flags",
        "ip_id",
        "kind",
        "kinds",
        "missing",
        "mss",
        "now",
        "payload",
        "probe",
        "repeated",
        "rtt",
        "sack_permitted",
        "sacks",
        "scale",
        "sequence",
        "urgent",
        "value",
        "window",
        "window_field",
    )

    now: int
    sequence: int
    acknowledgement: int
    flags: int
    window_field: int
    urgent: int
    payload: int
    missing: int
    ip_id: int
    """-1 for IPv6, and so are a missing `value` (with `echo` the timestamps), `mss` and `scale`."""
    ecn: int
    value: int
    echo: int
    mss: int
    scale: int
    sack_permitted: bool
    blocks: tuple[tuple[int, int], ...]

    first: int
    """Relative numbers: the segment's first byte, its payload's end, its acknowledgement."""
    end: int
    ack: int | None
    window: int
    """Scaled."""
    probe: bool
    copy: bool
    added: SegmentRepetition
    repeated: bool
    sacks: tuple[tuple[int, int], ...]
    dsack: bool
    rtt: int | None
    kind: int

    def __init__(self, kinds: bytearray | None) -> None:
        self.kinds = kinds
        """The kinds of all packets so far, if they are wanted: a later packet may change one."""

    def timestamp(self) -> int | None:
        return None if self.value < 0 else self.value
