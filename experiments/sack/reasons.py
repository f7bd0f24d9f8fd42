"""Why our SACK tables differ from the published one."""

from __future__ import annotations

REASONS = (
    (
        "initial window|min segm size",
        "The published first window is 8 and 9 segments of 1448 bytes and one of 24, which is the"
        " header that iperf of the time sent first. Our iperf's header has 60 bytes and leaves"
        " alone, so tcptrace at the receiver takes it for the whole first window; the sender's"
        " capture has the rest right behind it.",
    ),
    (
        "(max|avg) win adv",
        "The buffer asked for is the same, 128 KiB; today's Linux offers a larger part of it:"
        " 164 to 165 KB in each of 30 runs.",
    ),
    (
        "min win adv",
        "Linux before 4.20 offered ten segments at first, 14480 bytes; since then it offers 64 KB"
        " or more (tcp_default_init_rwnd in net/ipv4/tcp_output.c).",
    ),
    # iperf of the time marked 27 and 36 segments as the end of what it wrote, ours 36 to 154.
    ("pushed data pkts", ""),
)
