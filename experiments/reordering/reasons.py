"""Why our rates with reordering differ from the published ones."""

from __future__ import annotations

_VARIES = (
    "The threshold of a connection was a byte before Linux 3.19: 100000 was 160, 10^14 and 10^15"
    " were 0. With settings of the time, which count duplicate ACKs, CUBIC has 17.8 Mbit/s with 3,"
    " 14.3 with 100, 15.8 with 160 and 16.1 with 1, Reno 25.3 with 1 (medians of three seeds;"
    " today's kernel takes no 0). That all were published with less is not explained; a"
    " tcp_max_reordering of 127, as before 3.19, gave 19.0 and 19.5 with 3 (seeds 1 and 2)."
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
