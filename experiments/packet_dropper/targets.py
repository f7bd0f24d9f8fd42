"""Ten times for 100 000 requests at each of 8 shares dropped, and their mean."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from experiments.harness.definition.profiles import DROPPER
from experiments.harness.published.target import (
    COUNTS,
    PublishedKernel,
    PublishedStudy,
    Target,
    published,
)

_REASONS = (
    (
        "^(0.1|0.5|1|2|5|10|20) %",
        "The dropping module alone made the router slower: its rate is in the period's network. "
        + COUNTS
        + "In that network this makes 28.1 s at 0.5 %, 30.2 at 1 %, 38.5 at 2 %, 89.7 at 5 %, 378"
        " at 10 % and 2102 at 20 % (seed 1). A kernel with other recovery makes another time: at 10"
        " % Linux 3.13 takes 236 s, these settings on Linux 7.2 394 (medians of six seeds), and 290"
        " were published. The published kernel, 2.2 or 2.4, is none of the lab's.",
    ),
)


STUDY = PublishedStudy(
    "Experiments with a packet dropper module on a static router (about 2001)",
    order=8,
    kernel=PublishedKernel(
        "2.2 or 2.4",
        "Deduced: the text names net/netsyms.c, which Linux had until 2.4.",
        ("2.6.32", "3.13"),
    ),
    plot={"kind": "loglog", "x": "dropped", "x_unit": "%", "series": ""},
    notes=(
        "A mean of ten is compared with that of ten of our runs, each of the ten with a"
        " single run. The published spread and throughput are computed from these and are no rows.",
    ),
    processor_seconds=(24.0, 24.0),
    reasons=_REASONS,
)
_NO_MODULE = ((DROPPER, "98.44mbit"),)  # at 0 % the dropping module was not in the router


def targets(_quick: bool) -> Iterator[Target]:
    """Yield each mean with the range of its ten times, and each of the times."""
    for row in published(__file__):
        times = [float(row[f"elapsed_s_{number}"]) for number in range(1, 11)]
        mean = replace(
            _elapsed(row, "mean elapsed time", float(row["elapsed_avg_s"])),
            mean_of=len(times),
            low=min(times),
            high=max(times),
            series="elapsed",
            x=float(row["drop_percent"]),
            group="mean of ten",
        )
        yield mean
        for number, seconds in enumerate(times, 1):
            yield _elapsed(row, f"elapsed time, run {number}", seconds)


def _elapsed(row: dict[str, str], quantity: str, seconds: float) -> Target:
    return Target(
        "packet_dropper",
        f"{row['drop_percent']} % dropped",
        quantity,
        "s",
        seconds,
        (("loss", f"{row['drop_percent']}%"),),
        "dropping",
        "client_seconds",
        then=() if float(row["drop_percent"]) else _NO_MODULE,
        group="each of the ten",
    )
