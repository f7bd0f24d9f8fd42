"""Why our rates of UDP and TCP differ from the published ones."""

from __future__ import annotations

from experiments.published.tcp_assignment import LATE

REASONS = (
    (
        "sfq",
        LATE
        + "Nine of ten TCP flows were 3 s late: with ours, 20 Mbit/s of UDP for 3 s beside hardly"
        " any TCP, then 8.84 for 57 s, make 9.40.",
    ),
)
