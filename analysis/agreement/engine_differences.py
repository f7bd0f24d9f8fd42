"""`python -m analysis.agreement.engine_differences FILE`: in what the two engines differ, as JSON.

A process of its own, so that an engine that falls over ends this one alone.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

from analysis import flows
from analysis.flows.installed_engines import Engine, engines
from analysis.flows.reader import Reading
from analysis.tabular.table import ColumnTable, ListColumn, TableColumn
from topologies.foundation.errors import TcplabError

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
    assert one.packet_table is not None and other.packet_table is not None
    return [
        *([] if one.file == other.file else ["file"]),
        *_columns("connections", one.connection_table, other.connection_table),
        *_columns("packets", one.packet_table, other.packet_table),
    ]


def _columns(name: str, one: ColumnTable, other: ColumnTable) -> list[str]:
    if len(one) != len(other):
        return [f"{name} (their number)"]
    return [
        f"{name}.{column}"
        for column in one
        if not _same(one.columns[column], other.columns[column])
    ]


def _same(one: TableColumn | ListColumn, other: TableColumn | ListColumn) -> bool:
    if isinstance(one, ListColumn) or isinstance(other, ListColumn):
        return one.to_list() == other.to_list()
    if one.values.dtype != other.values.dtype or (one.is_known != other.is_known).any():
        return False
    if one.values.dtype != np.float64:
        return bool((one.known == other.known).all())
    return bool((abs(one.known - other.known) <= _ALIKE * abs(one.known) + _ALIKE).all())


if __name__ == "__main__":
    if len(engines()) < 2:
        sys.exit("Error: only one engine is built.")
    print(json.dumps(differences(Path(sys.argv[1]))))
