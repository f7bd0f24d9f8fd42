"""Why our rates differ from those of the published loss sweep."""

from __future__ import annotations

_FEW = (
    "A loss takes up to 64 KB at once, and a receiver that gets whole buffers acknowledges each"
    " once: without SACK the few duplicates that come leave most losses to a time-out of 200 ms."
    " With 984.4 Mbit/s, netem in the sender's own port and 256 KiB of small queue that makes 676,"
    " 252 and 160 Mbit/s at 0.1, 0.5 and 1 % (678, 288 and 146 published; 30 s, seed 1). "
)
_SLOW = (
    "At 3 % and more windows are of a few segments and most losses wait for a time-out: 21.6"
    " Mbit/s with SACK and 5.0 without at 5 % (47 and 10.1 published; 30 s, seed 1). With SACK the"
    " kernel decides: in the same network Linux 3.13 has 16.5 Mbit/s (median of six seeds),"
    " 4.4 has 79.9 to 93.8 (four seeds). Red Hat's 3.10 is a 3.10 with much of later kernels; how"
    " much of TCP was in it is not known here. Without SACK 4.4 has 4.0 to 5.4, and what was"
    " published is not explained."
)
_FAST = (
    "The path with the sender's own netem gives 931 and 678 Mbit/s at 0.5 and 1 % (883 and 555"
    " published; 30 s, seed 1), which is not explained."
)

REASONS = (
    ("segments sent again", ""),  # what follows speaks of rates
    (r"SACK (on|off), loss (3|4|5|6|7|8|9|10)%", _SLOW),
    (r"SACK on, loss (0\.5|1|2)%", _FAST),
    (r"SACK off, loss", _FEW),
)
