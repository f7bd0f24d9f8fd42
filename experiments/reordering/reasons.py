"""Why our rates with reordering differ from the published ones."""

from __future__ import annotations

_VARIES = (
    "The kernel makes a part of it. On Linux 3.13, which keeps a connection's threshold in a byte"
    " (100000 is 160), CUBIC has 8.6 Mbit/s with 3, 12.1 with 100 (medians of three seeds) and 14.1"
    " and 9.3 with 160 (two seeds); the settings of the time on Linux 7.2 give 17.8, 14.3 and 15.8,"
    " in no order. 10^14 and 10^15 are 0 in a byte; 7.2 takes no less than 1, with which CUBIC has"
    " 16.1 and Reno 25.3. That less was published is not explained."
)

REASONS = (
    ("75 ms", _VARIES),
    (
        "100 ms delay, cubic",
        "netem held 1000 packets then, on their way and waiting together: beside 833 on their"
        " way 167 could wait. Ours lets 1000 wait. With such a line and a queue of 50, 170 and 1000"
        " it is 75.6, 84.7 and 90.5 Mbit/s (seed 1; experiments/reordering/README.md).",
    ),
)
