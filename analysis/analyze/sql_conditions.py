"""A condition in SQL on the columns of a table: `retransmissions_a2b > 10 and port_b = 443`.

SQLite says which rows fulfil it. It does not tell small letters from capitals in names, and
tcptrace's RTT_min_a2b is not our rtt_min_a2b: so columns have other names there.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from typing import Any

import numpy as np

from analysis.tabular.column_table import ColumnTable, Truths
from topologies.foundation.errors import UsageError

_NAME = re.compile(r"""'(?:[^']|'')*'|"(?P<quoted>[^"]*)"|[A-Za-z_]\w*""")
"""Text, a name in quotes, or a word."""
_GREATEST = 2**63


def fulfilling(table: ColumnTable, condition: str) -> Truths:
    """For each row whether it fulfils the condition. Raises UsageError if that is none."""
    used: dict[str, str] = {}

    def in_database(word: re.Match[str]) -> str:
        name = word["quoted"] or word[0]
        return used.setdefault(name, f"c{len(used)}") if name in table.columns else word[0]

    translated = _NAME.sub(in_database, condition)
    columns = [range(len(table)), *(map(_storable, table[name].to_list()) for name in used)]
    try:
        answers = _answers(translated, ["place", *used.values()], zip(*columns, strict=True))
    except (sqlite3.Error, sqlite3.Warning) as error:
        raise _refused(condition, str(error)) from error
    if not {*answers} <= {0, 1, None}:
        raise _refused(condition, "it is neither true nor false")
    return np.array([answer == 1 for answer in answers], np.bool_)


def _answers(condition: str, names: list[str], rows: Iterable[tuple[Any, ...]]) -> list[Any]:
    with closing(sqlite3.connect(":memory:")) as database:
        database.execute(f"create table connections ({', '.join(names)})")
        places = ", ".join("?" * len(names))
        database.executemany(f"insert into connections values ({places})", rows)
        chosen = database.execute(f"select ({condition}\n) from connections order by place")
        return [answer for (answer,) in chosen]


def _storable(value: Any) -> Any:
    """SQLite's whole numbers have a sign and 64 bits."""
    return float(value) if isinstance(value, int) and value >= _GREATEST else value


def _refused(condition: str, reason: str) -> UsageError:
    return UsageError(
        f"--where {condition!r} is no condition on the columns: {reason}",
        "For example: --where 'retransmissions_a2b > 10 and port_b = 443'; --columns names the"
        " columns.",
    )
