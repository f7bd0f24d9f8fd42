"""Section 3.3 of the TCP assignment: a steady delay, a varying one, and tcp_reordering raised."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from experiments.harness.published.assignment import assigned, assignment
from experiments.harness.published.target import Row, Target, published

_VARIES = (
    "The kernel makes a part of it. On Linux 3.13, which keeps a connection's threshold in a byte"
    " (100000 is 160), CUBIC has 8.6 Mbit/s with 3, 12.1 with 100 (medians of three seeds) and 14.1"
    " and 9.3 with 160 (two seeds); the settings of the time on Linux 7.2 give 17.8, 14.3 and 15.8,"
    " in no order. 10^14 and 10^15 are 0 in a byte; 7.2 takes no less than 1, with which CUBIC has"
    " 16.1 and Reno 25.3. That less was published is not explained."
)

_REASONS = (
    ("75 ms", _VARIES),
    (
        "100 ms delay, cubic",
        "netem held 1000 packets then, on their way and waiting together: with 833 on their"
        " way 167 could wait. The lab lets 1000 wait. With such a line and queues of 50, 170 and"
        " 1000 it is 75.6, 84.7 and 90.5 Mbit/s (seed 1; experiments/reordering/README.md).",
    ),
)


STUDY = assignment(order=5, processor_seconds=(18.0, 18.0), reasons=_REASONS)
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
