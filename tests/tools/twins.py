"""Print how often two equal flows are called different.

Each setting runs TRIALS x 6 seeds of its own; a trial compares the twins as a run's page does.
Equal conditions need no trial: with one seed, their packets are equal.
Chance alone decides at most 5 % of the trials: of six seeds, 2 in 64 have one twin ahead in all.
`ahead` is the share of all seeds in which the first twin is, a half unless its place matters;
`chance` is the probability of such a share.

    .venv/bin/python -m tests.tools.twins [--trials 10] [--only NAME] [--save FILE]
"""

from __future__ import annotations

import argparse
import csv
import os
from concurrent.futures import ProcessPoolExecutor
from dataclasses import astuple, dataclass
from itertools import repeat
from pathlib import Path
from typing import Any

from analysis.statistics.paired_tests import FEWEST, paired
from analysis.statistics.tests import at_most
from experiments.spec import ExperimentSpec
from experiments.study.catalogue import find
from experiments.study.grid import single
from experiments.sweep.point import carry_rows
from testbed.lab.ready import Lab, lab
from topologies.data import to_data

METRIC = "goodput_kbit_s"
_SHORT = "bw=10mbit duration=10s"
SETTINGS = {
    "short queue": f"{_SHORT} delay=20ms queue=10",
    "one path of packets": f"{_SHORT} delay=20ms queue=33",
    "long queue": f"{_SHORT} delay=20ms queue=200",
    "no delay": f"{_SHORT} delay=0ms queue=50",
    "long way": f"{_SHORT} delay=100ms queue=100",
    "slow link": "bw=1mbit duration=20s delay=20ms queue=20",
    "fast link": "bw=50mbit duration=5s delay=10ms queue=80",
    "reno": f"{_SHORT} delay=20ms queue=33 cc=reno beside=reno",
    "bbr": f"{_SHORT} delay=20ms queue=33 cc=bbr beside=bbr",
    "without draws": f"{_SHORT} delay=20ms queue=33 spread=0s processing=0%",
    "loss 0.1%": f"{_SHORT} delay=20ms queue=33 loss=0.1%",
    "loss 2%": f"{_SHORT} delay=20ms queue=33 loss=2%",
}

FLOWS = ("flow1", "beside")


@dataclass(frozen=True)
class Decided:
    """Trials of twins; of the seeds with different ones, `ahead` had the first twin ahead."""

    trials: int
    different: int
    copies: int
    seeds: int
    ahead: int

    def __add__(self, other: Decided) -> Decided:
        return Decided(*(sum(pair) for pair in zip(astuple(self), astuple(other), strict=True)))

    @property
    def chance(self) -> float:
        """The probability that chance puts one twin ahead so often, twice the rarer side's."""
        few = min(self.ahead, self.seeds - self.ahead)
        return min(1.0, 2 * at_most(few, self.seeds, 0.5))

    def __str__(self) -> str:
        share = self.ahead / max(1, self.seeds)
        return f"{self.different:9} {share:6.0%} {self.chance:7.2g} {self.copies:7}"


def twin_spec(setting: str) -> ExperimentSpec:
    """Return two equal flows under one condition."""
    usual = {"cc": "cubic", "beside": "cubic"}
    values = usual | dict(each.split("=") for each in setting.split())
    return single(find("cubic_vs_reno"), [f"{name}={value}" for name, value in values.items()]).spec


def values_of(data: Any, seed: int, ready: Lab) -> dict[str, float]:
    """Return the goodput of each flow. Raises RuntimeError for a failure."""
    record = carry_rows(data, seed, 600.0, ready, lambda _phase, _elapsed: None)
    if record["status"] != "complete":
        raise RuntimeError(f"seed {seed}: {record['problem']}")
    return {row["flow"]: float(row[METRIC]) for row in record["rows"]}


def decided(first: list[float], second: list[float]) -> Decided:
    """Compare twins trial by trial, as a run's page does."""
    starts = range(0, len(first), FEWEST)
    pairs = [paired(*(twin[at : at + FEWEST] for twin in (first, second))) for at in starts]
    found = [pair for pair in pairs if pair]
    differences = [one - other for one, other in zip(first, second, strict=True) if one != other]
    return Decided(
        len(found),
        sum(pair.shows_difference for pair in found),
        sum(pair.copies for pair in found),
        len(differences),
        sum(difference > 0 for difference in differences),
    )


def save(file: Path, setting: str, rows: list[dict[str, float]]) -> None:
    """Add the rows of a setting to a CSV file: setting, seed's place, flow, value."""
    with file.open("a", newline="", encoding="utf-8") as table:
        csv.writer(table).writerows(
            (setting, place, *value) for place, row in enumerate(rows) for value in row.items()
        )


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--trials", type=int, default=10, help="Trials of each setting.")
    parser.add_argument("--only", choices=SETTINGS, action="append", help="Only this setting.")
    parser.add_argument("--save", type=Path, help="CSV file to which all values are added.")
    return parser.parse_args()


def main() -> None:
    chosen, ready = arguments(), lab()
    count = chosen.trials * FEWEST
    print(f"{'setting':22} {'trials':>6} different  ahead  chance  copies")
    total = Decided(0, 0, 0, 0, 0)
    with ProcessPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        for place, name in enumerate(SETTINGS):
            if chosen.only and name not in chosen.only:
                continue
            data = to_data(twin_spec(SETTINGS[name]))
            seeds = range(1 + place * count, 1 + (place + 1) * count)
            rows = list(pool.map(values_of, repeat(data), seeds, repeat(ready)))
            if chosen.save:
                save(chosen.save, name, rows)
            found = decided(*([row[flow] for row in rows] for flow in FLOWS))
            total += found
            print(f"{name:22} {found.trials:6} {found}", flush=True)
    print(f"{'all':22} {total.trials:6} {total}")


if __name__ == "__main__":
    main()
