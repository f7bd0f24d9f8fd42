"""What a run came to, as single numbers by the names that lessons use.

Of flow N, counted from 1: `goodput_N` (Mbit/s), `rtt_N` (mean round trip, ms), `retransmitted_N`
and `lost_N` (segments), and whatever else its outcome has under its own name. Of all flows:
`goodput`, `retransmitted` and `lost` (sums), `rtt` (mean), `fairness` (Jain's index of the
goodputs; Jain, Chiu and Hawe, DEC-TR-301, 1984), and `count_KIND`, the events of each kind, such as
`count_time_out`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from experiments.harness.play.events import PlayEvent
from experiments.harness.play.player import PlayOutcome

_SHORT = {"goodput_mbit_s": "goodput", "mean_rtt_ms": "rtt"}


def measures_of(outcome: PlayOutcome, events: Iterable[PlayEvent] = ()) -> dict[str, float]:
    """Every measure by its name; what a flow does not have is left out, and so is what is no
    number.
    """
    flows = [
        {_SHORT.get(name, name): float(value) for name, value in flow.items()}
        for flow in outcome.flows
    ]
    counted = Counter(f"count_{re.sub('[^a-z]', '_', event.kind)}" for event in events)
    every = {
        f"{name}_{at}": value for at, flow in enumerate(flows, 1) for name, value in flow.items()
    }
    every |= _together(flows) | counted
    return {name: value for name, value in every.items() if value == value}


def _together(flows: list[dict[str, float]]) -> dict[str, float]:
    def column(name: str) -> list[float]:
        return [flow[name] for flow in flows if flow.get(name, float("nan")) == flow.get(name)]

    goodputs, trips = column("goodput"), column("rtt")
    squares = sum(goodput**2 for goodput in goodputs)
    return {
        "goodput": sum(goodputs),
        "retransmitted": sum(column("retransmitted")),
        "lost": sum(column("lost")),
        "rtt": sum(trips) / len(trips) if trips else float("nan"),
        "fairness": sum(goodputs) ** 2 / (len(goodputs) * squares) if squares else float("nan"),
    }
