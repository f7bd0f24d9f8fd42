"""Reproduction folders with made-up rows, and what was written of them."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from analysis.__main__ import main

HOSTILE = "<script>alert(1)</script>'\"&\x1b[31m"
Object = dict[str, Any]


def row(published: float | None, where: str = "here", **changes: Any) -> Object:
    """A row whose runs with the settings of its time gave the published number, and today's twice
    as much.
    """
    ours = [published] * 6 if published is not None else [1.0] * 6
    return {
        "where": where,
        "quantity": "rate",
        "unit": "Mbit/s",
        "published": published,
        "published_low": None,
        "published_high": None,
        "published_note": "",
        "period": ours,
        "today": [2 * one for one in ours],
        "seeds": [1, 2, 3, 4, 5, 6],
        "command": "./tcplab run sack --seed 1",
        "why": None,
    } | changes


def study(*rows: Object, **changes: Any) -> Object:
    profile = [
        {"name": "net.ipv4.tcp_recovery", "value": "0", "reason": "RACK came with Linux 4.4."}
    ]
    return {
        "name": "sack",
        "claim": "SACK helps.",
        "source": "Somebody 2017",
        "year": 2017,
        "profile": profile,
        "notes": ["Short form."],
        "rows": list(rows),
        "failures": [],
    } | changes


def write(folder: Path, *studies: Object, **changes: Any) -> Path:
    facts = {
        "format": 1,
        "id": "first",
        "mode": "quick",
        "status": "complete",
        "tcplab": "0.1.0",
        "kernel": {"release": "7.2.12"},
        "wall_seconds": 1.0,
        "digests": {"code": "ab12"},
        "studies": list(studies),
    }
    (folder / "reproduction.json").write_text(json.dumps(facts | changes))
    return folder


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, ["reproduction", *map(str, arguments)])


def table(folder: Path) -> list[dict[str, str]]:
    with (folder / "reproduction.csv").open(newline="") as file:
        return list(csv.DictReader(file))
