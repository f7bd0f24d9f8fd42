"""Ten times for 100 000 requests at each of 8 shares dropped, and their mean."""

from collections.abc import Iterator
from dataclasses import replace

from experiments.study.kernels import DROPPER
from experiments.study.published import Target, published, study

STUDY = study(__file__)
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
