"""Why our rates of Reno and exp differ from the published ones."""

from __future__ import annotations

from experiments.published.reasons import COUNTS

REASONS = (
    (
        "500 ms delay and 5 % loss, .*30 streams",
        "Not explained. With the late starts of the published flows all bytes in 60 s make 3.4"
        " (Reno) and 6.3 Mbit/s (exp; seed 1).",
    ),
    (
        "500 ms delay and 5 % loss, reno",
        "Chance, and few seeds: in the period's network 30 seeds give 0.083 to 0.173 Mbit/s,"
        " 0.114 in the middle; the first three 0.083 to 0.112.",
    ),
    # exp, one stream: 0.138 published, 0.160 in ours
    ("500 ms delay and 5 % loss", ""),
    (
        "5 % loss, .*1 stream,",
        COUNTS
        + "That makes 14.8 (Reno) and 19.2 (exp; seed 1). What is left of Reno's is not explained;"
        " without SACK it has 8.97, as published.",
    ),
)
