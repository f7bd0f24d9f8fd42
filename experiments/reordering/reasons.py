"""Why our rates with reordering differ from the published ones."""

from __future__ import annotations

_VARIES = (
    "With SACK today's settings know losses by time (RACK). For what is late they wait a quarter of"
    " the least round trip, and more only after needless copies were reported, one round trip at"
    " most; the delay here varies by 150 ms, so tcp_reordering has no say: CUBIC has 1.2 Mbit/s"
    " with 3 and 0.9 with more. Those of the time count duplicate ACKs, and the threshold decides:"
    " 19.3 Mbit/s with 3, 15.6 with 100, 44.9 with 100000, 6.6 with the highest (CUBIC, medians of"
    " three seeds). That all but the highest were published with less is not explained; a"
    " tcp_max_reordering of 127, as before Linux 3.19, gave 18 to 19 with 3 (three seeds)."
)

REASONS = (
    (
        "75 ms",
        _VARIES,
    ),
    (
        "100 ms delay, cubic",
        "netem held 1000 packets then, on their way and waiting together: beside 833 on their"
        " way 167 could wait. Ours lets 1000 wait. ./tcplab sweep reordering --set cc=cubic"
        " --set jitter=0s --set period=period --set topology.links.0.rightward.line=1000 --set"
        " topology.links.0.rightward.queue=50,170,1000 gave 76.0, 84.9 and 90.7 Mbit/s.",
    ),
)
