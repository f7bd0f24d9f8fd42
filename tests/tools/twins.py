"""Print how often two equal flows, and two equal conditions, are called different.

Each setting runs TRIALS x 6 seeds of its own; a trial compares the twins as a run's page does.
Chance alone decides at most 5 % of the trials.

    .venv/bin/python -m tests.tools.twins [--trials 10] [--only NAME]
"""

from __future__ import annotations

import argparse
import os
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, replace
from itertools import repeat
from typing import Any

from analysis.statistics.paired_tests import FEWEST, paired
from experiments.harness.definition.catalogue import find
from experiments.harness.definition.grid import single
from experiments.harness.sweep.measure import carry_rows
from experiments.spec import ExperimentSpec
from testbed.lab.ready import Lab, lab
from topologies.foundation.data import to_data

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
    "loss 0.1%": f"{_SHORT} delay=20ms queue=33 loss=0.1%",
    "loss 2%": f"{_SHORT} delay=20ms queue=33 loss=2%",
}


@dataclass(frozen=True)
class Decided:
    """Trials of one setting, and how many of them called the twins different."""

    flows: int
    conditions: int
    copies: int


def twin_spec(setting: str) -> ExperimentSpec:
    """Return two equal flows under two equal conditions."""
    usual = {"cc": "cubic", "beside": "cubic"}
    values = usual | dict(each.split("=") for each in setting.split())
    texts = [f"{name}={value}" for name, value in values.items()]
    spec = single(find("cubic_vs_reno"), texts).spec
    (condition,) = spec.conditions
    return replace(spec, conditions=(condition, replace(condition, name="again", label="again")))


def values_of(data: Any, seed: int, ready: Lab) -> dict[tuple[str, str], float]:
    """Return the goodput of each flow under each condition. Raises RuntimeError for a failure."""
    record = carry_rows(data, seed, 600.0, ready, lambda _phase, _elapsed: None)
    if record["status"] != "complete":
        raise RuntimeError(f"seed {seed}: {record['problem']}")
    return {(row["condition"], row["flow"]): float(row[METRIC]) for row in record["rows"]}


def trials(
    rows: list[dict[tuple[str, str], float]],
) -> Iterator[list[dict[tuple[str, str], float]]]:
    for start in range(0, len(rows), FEWEST):
        yield rows[start : start + FEWEST]


def decided(rows: list[dict[tuple[str, str], float]], own: str) -> Decided:
    """Count the trials that call the two flows, or the two conditions, different."""
    flow_pairs, condition_pairs = [], []
    for trial in trials(rows):
        flow_pairs.append(paired(*([r[own, flow] for r in trial] for flow in ("flow1", "beside"))))
        condition_pairs.append(
            paired(*([r[name, "flow1"] for r in trial] for name in (own, "again")))
        )
    return Decided(
        sum(pair.shows_difference for pair in flow_pairs if pair),
        sum(pair.shows_difference for pair in condition_pairs if pair),
        sum(pair.copies for pair in flow_pairs if pair),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=10)
    parser.add_argument("--only", choices=SETTINGS, action="append")
    chosen = parser.parse_args()
    ready = lab()
    print(
        f"{'setting':22} {'trials':>6} {'flows differ':>13} {'conditions differ':>18} {'copies':>7}"
    )
    total = Counter[str]()
    with ProcessPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        for place, name in enumerate(SETTINGS):
            if chosen.only and name not in chosen.only:
                continue
            spec, count = twin_spec(SETTINGS[name]), chosen.trials * FEWEST
            seeds = range(1 + place * count, 1 + (place + 1) * count)
            rows = list(pool.map(values_of, repeat(to_data(spec)), seeds, repeat(ready)))
            found = decided(rows, spec.conditions[0].name)
            total.update(asdict(found))
            print(
                f"{name:22} {chosen.trials:6} {found.flows:13} {found.conditions:18}"
                f" {found.copies:7}",
                flush=True,
            )
    print(f"in all: {dict(total)}")


if __name__ == "__main__":
    main()
