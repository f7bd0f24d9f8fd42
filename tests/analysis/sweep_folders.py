"""Sweep folders with a known truth, for tests of their pages."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from analysis.measures.metrics import columns

DELAYS = {"10ms": 0.01, "50ms": 0.05}
EFFECTS = {"cubic": 1.0, "reno": 0.8, "bbr": 1.0}
"""The truth: reno carries less than the other two, which are the same."""


def factor(name: str, values: Iterable[str], column: str = "", **more: str) -> dict[str, Any]:
    """A factor as sweep.json has it."""
    usual = {"name": name, "kind": "word", "column": column or name, "meaning": "", "unit": ""}
    return usual | more | {"values": list(values)}


def write_sweep(
    folder: Path, seeds: int = 20, flows: int = 1, scale: float = 1.0, **changes: Any
) -> Path:
    """A sweep of delay x congestion control with the truth of `EFFECTS`; each seed has luck of its
    own.
    """
    chance, folder = np.random.default_rng(1), folder / "sweep"
    folder.mkdir()
    luck = chance.lognormal(0, 0.3, seeds)
    rows = [
        {
            "point": f"{delay}-{cc}-{seed}",
            "delay": delay,
            "delay_s": DELAYS[delay],
            "cc": cc,
            "condition": "only",
            "flow": f"flow{flow}",
            "seed": seed + 1,
        }
        | dict.fromkeys((metric.name for metric in columns().values()), 1.0)
        | {
            "goodput_kbit_s": (
                scale * 10 / DELAYS[delay] * EFFECTS[cc] * luck[seed] * chance.lognormal(0, 0.1)
            ),
            "jain_index": None,
            "exchanges_missing": 0.0,
        }
        for delay, cc, seed, flow in itertools.product(DELAYS, EFFECTS, range(seeds), range(flows))
    ]
    pl.DataFrame(rows).write_csv(folder / "rows.csv")
    facts = {
        "format": 1,
        "id": "first",
        "experiment": "cubic_vs_reno",
        "claim": "Reno carries less.",
        "status": "complete",
        "command": "./tcplab sweep cubic_vs_reno",
        "metric": "goodput_kbit_s",
        "compare": "cc",
        "factors": [
            factor("delay", DELAYS, kind="duration", column="delay_s", meaning="Delay.", unit="s"),
            factor("cc", EFFECTS),
        ],
        "conditions": [{"name": "only", "label": "only"}],
        "parameters": {"bw": "1mbit"},
        "until": None,
        "seeds": list(range(1, seeds + 1)),
        "points": {"wanted": len(rows), "done": len(rows)},
        "failures": [],
        "warnings": [],
        "digests": {"code": "ab12"},
        "kernel": {"release": "7.2.12"},
        "tcplab": "0.1.0",
        "workers": 2,
    }
    (folder / "sweep.json").write_text(json.dumps(facts | changes))
    return folder


def change(folder: Path, **changes: Any) -> None:
    path = folder / "sweep.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def change_rows(folder: Path, *columns: pl.Expr, keep: pl.Expr | bool = True) -> None:
    rows = pl.read_csv(folder / "rows.csv").with_columns(*columns).filter(keep)
    rows.write_csv(folder / "rows.csv")
