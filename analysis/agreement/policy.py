"""What agreement with tcptrace 6.6.7 means, field by field; what is not named here is exact.

`exact`: printed the same. `tolerance`: within `allowed`, in the column's own unit. `repaired`:
tcptrace's value is wrong in the case that `why` names, and ours is right; with tcptrace's own
definitions ours is tcptrace's within `allowed`. `broken`: tcptrace's value means nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["exact", "tolerance", "repaired", "broken"]
KINDS: tuple[Kind, ...] = ("exact", "tolerance", "repaired", "broken")


@dataclass(frozen=True)
class Policy:
    """How a field is judged, and why so.

    `allowed` is in the column's unit, as tcptrace prints it: its sums of fractions round otherwise
    than our whole numbers, by one in the last digit that it prints.
    """

    kind: Kind
    why: str = ""
    allowed: float = 0.0

    @property
    def sentence(self) -> str:
        """Which value is right, ours or tcptrace's, and why; for the reference of columns."""
        return f"{_RIGHT[self.kind]}: {self.why}" if self.why else _RIGHT[self.kind]


_RIGHT: dict[Kind, str] = {
    "exact": "the same",
    "tolerance": "the same but for rounding",
    "repaired": "ours is right",
    "broken": "tcptrace's means nothing",
}

_CLOCK = Policy(
    "tolerance", "tcptrace cuts times to microseconds and prints tenths of a millisecond", 0.11
)
_QUARTERS = Policy(
    "repaired", "tcptrace splits a segment that lies across a multiple of 2^30 in two"
)
_OWIN = Policy(
    "repaired", "tcptrace subtracts 32-bit numbers: wrong once sequence numbers pass 2^32"
)
_MEAN_OWIN = Policy(_OWIN.kind, _OWIN.why, 1)
_NONE = Policy("repaired", "tcptrace takes a smallest time of 0 for none", 0.11)
_MEAN = Policy(
    "repaired",
    "tcptrace divides by a little more than the count: 0.01 % too low at one sample",
    0.11,
)
_FULL_SIZE = Policy(
    "repaired", "tcptrace takes the SYN for the largest segment and stops at one sample"
)
_FULL_SIZE_TIME = Policy(_FULL_SIZE.kind, _FULL_SIZE.why, 0.11)

EXACT = Policy("exact")
_MOMENT = Policy("tolerance", "tcptrace cuts times to microseconds", 1e-6)
POLICIES: dict[str, Policy] = {
    "first_packet": _MOMENT,
    "last_packet": _MOMENT,
    "resets_sent": Policy("repaired", "tcptrace's count wraps at 256"),
    "SYN/FIN_pkts_sent": Policy("repaired", "tcptrace's counts wrap at 256"),
    "avg_segm_size": Policy(
        "repaired",
        "tcptrace divides by a thousandth of a segment too many: 0.1 % too low at one segment",
    ),
    "max_owin": _OWIN,
    "min_non-zero_owin": _OWIN,
    "avg_owin": _MEAN_OWIN,
    "wavg_owin": Policy(
        "repaired",
        "tcptrace cuts each segment's bytes times seconds to a whole number: too low; and subtracts"
        " 32-bit numbers",
        1,
    ),
    "mss_requested": Policy("repaired", "tcptrace takes 32768 bytes and more for negative"),
    "ttl_stream_length": Policy(
        "repaired", "tcptrace counts to the last RST or FIN, which may be an old one"
    ),
    "missed_data": Policy("repaired", "tcptrace's is negative after an old RST or FIN"),
    "RTT_full_sz_smpls": _FULL_SIZE,
    **{f"RTT_full_sz_{name}": _FULL_SIZE_TIME for name in ("min", "max", "avg", "stdev")},
    "idletime_max": Policy(
        "repaired", "tcptrace counts on to the last packet of the file, of any connection", 0.11
    ),
    "segs_cum_acked": _QUARTERS,
    "dsack_pkts_sent": Policy(
        "repaired", "tcptrace compares with the ACK as 32-bit numbers: wrong across 2^32"
    ),
    "data_xmit_time": Policy(
        "tolerance", "tcptrace cuts times to microseconds and prints milliseconds", 0.0011
    ),
    "throughput": Policy("tolerance", "tcptrace cuts the duration to microseconds", 1),
    "avg_win_adv": Policy(
        "repaired", "without window scaling tcptrace divides by all segments, RST included", 1
    ),
    **{
        f"{name}_win_adv": Policy(
            "repaired", "tcptrace does not scale if the capture has the SYN-ACK alone"
        )
        for name in ("max", "min")
    },
    "adv_wind_scale": Policy(
        "repaired", "tcptrace forgets the scale if the capture has the SYN-ACK alone"
    ),
    **{f"RTT_{name}": _CLOCK for name in ("max", "stdev", "from_3WHS")},
    **{f"RTT_{name}_(last)": _CLOCK for name in ("max", "sdv")},
    **{f"{name}_retr_time": _CLOCK for name in ("max", "sdv")},
    **dict.fromkeys(("RTT_min", "RTT_min_(last)", "min_retr_time"), _NONE),
    **dict.fromkeys(("RTT_avg", "RTT_avg_(last)", "avg_retr_time"), _MEAN),
}


def policy(field: str) -> Policy:
    """The policy of a field, given without its direction's ending."""
    return POLICIES.get(field, EXACT)
