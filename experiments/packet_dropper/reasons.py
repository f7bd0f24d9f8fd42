"""Why our elapsed times differ from the published ones."""

from __future__ import annotations

from experiments.published.reasons import COUNTS, NO_FACK

REASONS = (
    (
        "^(0.1|0.5|1|2|5|10|20) %",
        "The dropping module alone made the router slower: its rate is in the period's network. "
        + COUNTS
        + "In that network this makes 28.6 s at 0.5 %, 29.9 at 1 %, 36.8 at 2 %, 93.8 at 5 %, 393"
        " at 10 % and 2145 at 20 % (three seeds). That the published router was faster at 10 % is"
        " not explained. " + NO_FACK,
    ),
)
