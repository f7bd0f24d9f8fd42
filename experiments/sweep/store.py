"""The memory of sweeps, runs/points.sqlite: the record of every point by its key.

Each is a transaction, so a stopped sweep keeps what ended. Several sweeps may use the file.
"""

import datetime
import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from experiments.sweep.point import Origin, Point, Record
from topologies.errors import TcplabError, UsageError
from topologies.notation import json_value

FILE = "points.sqlite"
_SHOWN = 12  # characters of a key in messages
_FORMAT = 3
_KNOWN = ("complete", "unproved")
_PATIENCE = 60.0  # seconds that another sweep may hold the file
_SCHEMA = """
create table if not exists points (
    key text primary key, experiment text, combination text, seed integer, status text,
    lab text, code text, measuring text, finished text, record text, measures text,
    series text
) without rowid
"""
_NAMES = (
    "key, experiment, combination, seed, status, lab, code, measuring, finished, record, measures,"
    " series"
)
_LATER = ("measures", "series")
"""Columns that older files lack: such rows do not say what measured them, or have no series."""
_OF_KEPT = "key, experiment, combination, seed, status, lab, code, measures, measuring, finished"


@dataclass(frozen=True)
class Kept:
    """A line of the memory, for people: `combination` is the factors' values."""

    key: str
    experiment: str
    combination: dict[str, str]
    seed: int
    status: str
    origin: Origin
    finished: str


@dataclass
class PointStore:
    """The open memory. `results` in a with statement closes it."""

    connection: sqlite3.Connection

    def known(self, keys: Iterable[str]) -> set[str]:
        """Return the points that need no further run: complete and unproved ones."""
        statuses = self.statuses(keys)
        return {key for key, status in statuses.items() if status in _KNOWN}

    def done(self, keys: Iterable[str]) -> dict[str, Record]:
        return self.records(self.known(keys))

    def statuses(self, keys: Iterable[str]) -> dict[str, str]:
        return dict(self._chosen("status", keys))

    def records(self, keys: Iterable[str]) -> dict[str, Record]:
        kept = dict(self._chosen("record", keys))
        records = json_value(f"[{','.join(kept.values())}]")  # equal names are kept once
        return dict(zip(kept, records, strict=True))

    def series(self, keys: Iterable[str]) -> dict[str, Record]:
        kept = self._chosen("series", keys)
        return {key: json_value(text) for key, text in kept if text}

    def _chosen(self, column: str, keys: Iterable[str]) -> list[tuple[str, str]]:
        return self.connection.execute(
            f"select key, {column} from points where key in (select value from json_each(?))",
            (json.dumps(list(keys)),),
        ).fetchall()

    def add(self, experiment: str, point: Point, record: Record) -> None:
        """Keep a record; one that is there already under this key is replaced."""
        values = (
            point.key,
            experiment,
            json.dumps(dict(point.combination.values)),
            point.seed,
            record["status"],
            point.origin.lab,
            point.origin.code,
            point.origin.measuring,
            datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            json.dumps({name: part for name, part in record.items() if name != "series"}),
            point.origin.measures,
            json.dumps(record.get("series")) if record.get("series") else "",
        )
        with self.connection:
            self.connection.execute(
                f"insert or replace into points values ({', '.join('?' * len(values))})", values
            )

    def listed(self) -> list[Kept]:
        rows = self.connection.execute(
            f"select {_OF_KEPT} from points order by experiment, finished"
        )
        return [_kept(row) for row in rows]

    def single(self, beginning: str) -> tuple[Kept, Record]:
        """Return the point whose key begins like this. Raises UsageError unless there is one."""
        rows = self.connection.execute(
            f"select {_OF_KEPT}, record from points where substr(key, 1, ?) = ?",
            (len(beginning), beginning),
        ).fetchall()
        if len(rows) != 1:
            raise not_found(beginning, [row[0][:_SHOWN] for row in rows])
        return _kept(rows[0]), json_value(rows[0][10])

    def forget(self, keys: Iterable[str]) -> None:
        with self.connection:
            self.connection.executemany(
                "delete from points where key = ?", ((key,) for key in keys)
            )
        self.connection.execute("vacuum")


def not_found(named: str, keys: Sequence[str] = ()) -> UsageError:
    """Return the error for a name of no run and no point, or of several points."""
    return UsageError(
        f"{len(keys)} points begin with '{named[:60]}': {', '.join(keys[:5])}."
        if keys
        else f"There is no run and no point '{named[:60]}'.",
        "./tcplab runs list shows all runs; keys of points are in the column `point` of rows.csv.",
    )


def _kept(row: tuple[Any, ...]) -> Kept:
    return Kept(row[0], row[1], json_value(row[2]), row[3], row[4], Origin(*row[5:9]), row[9])


@contextmanager
def results(out: Path) -> Iterator[PointStore]:
    """Provide the memory in the folder that keeps the runs. Raises TcplabError."""
    file = out / FILE
    try:
        out.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(file, timeout=_PATIENCE)
    except (OSError, sqlite3.Error) as error:
        raise TcplabError(
            f"{file} cannot be opened: {error}.", "Use --out with another folder."
        ) from error
    try:
        _check(connection, file)
        yield PointStore(connection)
    except sqlite3.Error as error:
        remedy = (
            "Free space if the disk is full; a damaged file can be moved away, its points are then"
            " run again."
        )
        raise TcplabError(f"{file}: {error}.", remedy) from error
    finally:
        connection.close()


def take_known(folders: Iterable[Path], out: Path) -> None:
    """Copy the finished points of other folders; those of `out` stay. Raises TcplabError."""
    wanted = f"select {_NAMES} from points where status in {_KNOWN}"
    adding = f"insert or ignore into points ({_NAMES}) values (?{', ?' * _NAMES.count(',')})"
    for file in (folder / FILE for folder in folders):
        with results(out) as memory:
            if not file.is_file():
                remedy = "Name the folder of runs that the other sweep wrote to (its --out)."
                raise UsageError(f"{file} does not exist.", remedy)
            try:
                address = f"{file.resolve().as_uri()}?mode=ro"
                with closing(sqlite3.connect(address, uri=True)) as other, memory.connection:
                    memory.connection.executemany(adding, other.execute(wanted))
            except sqlite3.Error as error:
                remedy = "Copy the folder again when the other sweep, by this version, has ended."
                raise TcplabError(f"{file} cannot be read: {error}.", remedy) from error


def _check(connection: sqlite3.Connection, file: Path) -> None:
    (version,) = connection.execute("pragma user_version").fetchone()
    if version > _FORMAT:
        raise TcplabError(
            f"{file} was written by a newer tcplab.",
            "Update tcplab, or use --out with another folder.",
        )
    with connection:
        connection.execute(_SCHEMA)
        names = {row[1] for row in connection.execute("pragma table_info(points)")}
        for name in (each for each in _LATER if each not in names):
            connection.execute(f"alter table points add column {name} text default ''")
        connection.execute(f"pragma user_version = {_FORMAT}")
