"""Section 3.3 of the TCP assignment: a steady delay, a varying one, and tcp_reordering raised."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from experiments.study.assignment import assigned, assignment
from experiments.study.published import Row, Target, published

STUDY = assignment(__file__)
_VALUES = {"10^14": 10**14, "10^15": 10**15}
_HIGHEST = 2**31 - 1
"""What a kernel takes for thresholds that do not fit into its integers."""
_BYTE = 256
"""Values of a connection's threshold before Linux 3.19: `u8 reordering` in struct tcp_sock
(include/linux/tcp.h) takes the lowest byte of the sysctl, of 100000 it is 160, of 10^14 0. Today's
kernel takes no less than 1.
"""


def targets(_quick: bool) -> Iterator[Target]:
    """Yield a target for each rate."""
    for row in published(__file__):
        threshold = _threshold(row)
        settings = {
            "cc": row["congestion_control"],
            "jitter": "75ms" if "75 ms" in row["condition"] else "0s",
            "threshold": str(min(threshold, _HIGHEST)),
        }
        target = assigned(row, "reordering", settings, row["congestion_control"])
        yield replace(target, then=(("threshold", str(max(1, threshold % _BYTE))),))


def _threshold(row: Row) -> int:
    match = re.search(r"tcp_reordering=(\S+)", row["condition"])
    return int(_VALUES.get(match[1], match[1])) if match else 3
