"""What agreement with tcptrace 6.6.7 means, field by field; what is not named here is exact.

`exact`: printed the same. `tolerance`: within `allowed`, in the column's own unit. `repaired`:
tcptrace's value is wrong in the case that `why` names, and ours is right. `broken`: tcptrace's
value means nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["exact", "tolerance", "repaired", "broken"]
KINDS: tuple[Kind, ...] = ("exact", "tolerance", "repaired", "broken")


@dataclass(frozen=True)
class Policy:
    """How a field is judged, and why so.

    `allowed` is in the column's unit, as tcptrace prints it.
    """

    kind: Kind
    why: str = ""
    allowed: float = 0.0


_CLOCK = Policy(
    "tolerance", "tcptrace cuts times to microseconds and prints tenths of a millisecond", 0.11
)
_QUARTERS = Policy(
    "repaired", "tcptrace splits a segment that lies across a multiple of 2^30 in two"
)
_OWIN = Policy(
    "repaired", "tcptrace subtracts 32-bit numbers: wrong once sequence numbers pass 2^32"
)
_NONE = Policy("repaired", "tcptrace takes a smallest time of 0 for none")
_MEAN = Policy(
    "repaired", "tcptrace divides by a little more than the count: 0.01 % too low at one sample"
)
_FULL_SIZE = Policy(
    "repaired", "tcptrace takes the SYN for the largest segment and stops at one sample"
)

EXACT = Policy("exact")
POLICIES: dict[str, Policy] = {
    "resets_sent": Policy("repaired", "tcptrace's count wraps at 256"),
    "SYN/FIN_pkts_sent": Policy("repaired", "tcptrace's counts wrap at 256"),
    "avg_segm_size": Policy("tolerance", "tcptrace divides by one segment too many", 1),
    "max_owin": _OWIN,
    "min_non-zero_owin": _OWIN,
    "avg_owin": _OWIN,
    "wavg_owin": _OWIN,
    "RTT_full_sz_smpls": _FULL_SIZE,
    "RTT_full_sz_min": _FULL_SIZE,
    "RTT_full_sz_max": _FULL_SIZE,
    "RTT_full_sz_avg": _FULL_SIZE,
    "RTT_full_sz_stdev": _FULL_SIZE,
    "idletime_max": Policy(
        "repaired", "tcptrace counts on to the last packet of the file, of any connection"
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
        "repaired", "without window scaling tcptrace divides by all segments, RST included"
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
