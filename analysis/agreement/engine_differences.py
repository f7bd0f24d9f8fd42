"""`python -m analysis.agreement.engine_differences FILE`: in what the two engines differ, as JSON.

A process of its own, so that an engine that falls over ends this one alone.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import polars as pl

from analysis import flows
from analysis.flows.reader import Engine, Reading, engines
from topologies.errors import TcplabError

_ALIKE = 1e-9
"""Of a float's value: both sum up in another order."""


def differences(path: Path) -> list[str]:
    """The names of what differs: `refused`, `file`, or columns as `connections.rtt_p50_a2b`."""
    said: list[str] = []
    for compatible in (False, True):
        one, other = _read(path, "compiled", compatible), _read(path, "plain", compatible)
        suffix = " (compatible)" if compatible else ""
        said += [name + suffix for name in _between(one, other)]
    return said


def _read(path: Path, engine: Engine, compatible: bool) -> Reading | str:
    try:
        return flows.read(path, packets=True, engine=engine, compatible=compatible)
    except TcplabError as error:
        return str(error)


def _between(one: Reading | str, other: Reading | str) -> list[str]:
    if isinstance(one, str) or isinstance(other, str):
        return [] if one == other else ["refused"]
    assert one.packets is not None and other.packets is not None
    return [
        *([] if one.file == other.file else ["file"]),
        *_columns("connections", one.connections, other.connections),
        *_columns("packets", one.packets, other.packets),
    ]


def _columns(name: str, one: pl.DataFrame, other: pl.DataFrame) -> list[str]:
    if one.height != other.height:
        return [f"{name} (their number)"]
    return [f"{name}.{column}" for column in one.columns if not _same(one[column], other[column])]


def _same(one: pl.Series, other: pl.Series) -> bool:
    if one.dtype != pl.Float64:
        return one.equals(other, null_equal=True)
    far = (one - other).abs() > _ALIKE * one.abs() + _ALIKE
    return one.is_null().equals(other.is_null()) and not far.fill_null(False).any()


if __name__ == "__main__":
    if len(engines()) < 2:
        sys.exit("Error: only one engine is built.")
    print(json.dumps(differences(Path(sys.argv[1]))))
