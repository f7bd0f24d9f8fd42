"""A reproduction folder's reproduction.json as frozen records; what is missing or broken is told in
one sentence.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from analysis.records.jsonfile import Object, inner, number, objects, read_main, text, texts
from analysis.records.problems import Problems

NEWEST_FORMAT = 1
"""The newest reproduction.json format that this analysis understands."""

Kind = Literal["loglog", "bars", "none", ""]
_KINDS: dict[str, Kind] = {"loglog": "loglog", "bars": "bars", "none": "none"}
_LOG = re.compile(r"failures/[A-Za-z0-9_][A-Za-z0-9_.-]{0,79}")
"""A log's path on the page: inside the folder, and nothing that a browser would take for more."""


@dataclass(frozen=True)
class PublishedRow:
    """One published number, and ours for each seed: with the settings of its time and with today's.

    `published` is None where the source does not state it; `printed` are its digits. `low` and
    `high` are the least and greatest of the published repetitions, None where there are none.
    All are in `unit`.
    """

    where: str
    quantity: str
    unit: str
    series: str
    x: float | None
    published: float | None
    printed: str
    low: float | None
    high: float | None
    note: str
    period: tuple[float, ...]
    today: tuple[float, ...]
    seeds: tuple[str, ...]
    why: str
    command: str


@dataclass(frozen=True)
class ProfileSetting:
    """One setting of a study's time, and why it is needed."""

    name: str
    value: str
    reason: str


@dataclass(frozen=True)
class FailedTarget:
    """What could not be run; `log` is a path inside the folder or empty."""

    where: str
    problem: str
    log: str


@dataclass(frozen=True)
class Plot:
    """How a study wants to be drawn; empty where it does not say."""

    kind: Kind
    x: str
    x_unit: str
    series: str


@dataclass(frozen=True)
class ReproducedStudy:
    """One published study with all of its numbers."""

    name: str
    claim: str
    source: str
    year: str
    profile: tuple[ProfileSetting, ...]
    notes: tuple[str, ...]
    plot: Plot
    rows: tuple[PublishedRow, ...]
    failures: tuple[FailedTarget, ...]


@dataclass(frozen=True)
class Reproduction:
    """What reproduction.json says."""

    path: Path
    facts: Object
    studies: tuple[ReproducedStudy, ...]

    @property
    def status(self) -> str:
        return text(self.facts, "status", "unknown")

    @property
    def mode(self) -> str:
        return text(self.facts, "mode")

    @property
    def failures(self) -> int:
        return sum(len(study.failures) for study in self.studies)


def read_reproduction(path: Path, problems: Problems) -> Reproduction:
    """The reproduction in `path`.

    Raises UsageError where there is none, TcplabError where it cannot be used.
    """
    facts = read_main(path, "reproduction.json", "./tcplab reproduce", NEWEST_FORMAT)
    studies = tuple(_study(entry, problems) for entry in objects(facts, "studies"))
    if not studies:
        problems.add("reproduction.json lists no study: there is nothing to compare.")
    return Reproduction(path, facts, studies)


def _study(entry: Object, problems: Problems) -> ReproducedStudy:
    name = text(entry, "name", "unnamed study")
    listed = entry.get("rows")
    rows = tuple(read_row(one, name, problems) for one in objects(entry, "rows"))
    if not rows or len(rows) < len(listed if isinstance(listed, list) else ()):
        problems.add(
            f"Study {name} has {'rows' if rows else 'no row'} that can be"
            f" read{' in part' if rows else ''}."
        )
    _tell_doubles(rows, name, problems)
    profile = (
        ProfileSetting(text(one, "name"), text(one, "value"), text(one, "reason"))
        for one in objects(entry, "profile")
    )
    failures = tuple(_failure(one) for one in objects(entry, "failures"))
    return ReproducedStudy(
        name,
        text(entry, "claim"),
        text(entry, "source"),
        text(entry, "year"),
        tuple(profile),
        texts(entry, "notes"),
        _plot(inner(entry, "plot")),
        rows,
        failures,
    )


def _tell_doubles(rows: tuple[PublishedRow, ...], study: str, problems: Problems) -> None:
    twice = [
        name
        for name, count in Counter((row.where, row.quantity) for row in rows).items()
        if count > 1
    ]
    if twice:
        problems.add(
            f"Study {study} has several rows for '{twice[0][0]}', {twice[0][1]}; all are shown."
        )


def read_row(entry: Object, study: str, problems: Problems) -> PublishedRow:
    """The row that a JSON object describes; what of it cannot be used is a problem."""
    where, published = text(entry, "where", "unnamed"), number(entry, "published")
    if published is None and entry.get("published") is not None:
        problems.add(
            f"The published number of '{where}' in study {study} is no finite number; it counts as"
            " not stated."
        )
    return PublishedRow(
        where,
        text(entry, "quantity", "value"),
        text(entry, "unit"),
        text(entry, "series"),
        number(entry, "x"),
        published,
        "" if published is None else text(entry, "published"),
        number(entry, "published_low"),
        number(entry, "published_high"),
        text(entry, "published_note"),
        _values(entry, "period", where, problems),
        _values(entry, "today", where, problems),
        texts(entry, "seeds"),
        text(entry, "why"),
        text(entry, "command"),
    )


def _values(entry: Object, key: str, where: str, problems: Problems) -> tuple[float, ...]:
    """The finite numbers of the list at `key`, null for a seed that gave none."""
    found = entry.get(key)
    listed = found if isinstance(found, list) else []
    values = [number({"value": one}, "value") for one in listed]
    kept = tuple(value for value in values if value is not None)
    if len(kept) < sum(one is not None for one in listed) or not isinstance(found, list | None):
        problems.add(f"Some values of '{where}' are no finite numbers: they are left out.")
    return kept


def _plot(entry: Object) -> Plot:
    return Plot(
        _KINDS.get(text(entry, "kind"), ""),
        text(entry, "x"),
        text(entry, "x_unit"),
        text(entry, "series"),
    )


def _failure(entry: Object) -> FailedTarget:
    log = text(entry, "log")
    problem = text(entry, "problem", "no reason was given")
    return FailedTarget(
        text(entry, "where", "unnamed"), problem, log if _LOG.fullmatch(log) else ""
    )
