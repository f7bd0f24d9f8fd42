"""Published numbers of studies as data: values, their runs, and reasons for differences.

A study has them in one of three forms: published.csv with a column of settings (the TCP assignment
of the GENI project), TARGETS with a law.toml, or a module `targets` that makes them of its table.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from analysis.measures.expressions import parse
from analysis.measures.metrics import columns
from experiments.study.catalogue import Experiment, catalogue, find
from experiments.study.grid import combination
from topologies.errors import UsageError
from topologies.notation import toml_file

if TYPE_CHECKING:
    from analysis.measures.results import Among


Row = dict[str, str]
"""A row of a published table, by column."""
_LAST = 99  # laws come after all published numbers, before the studies of others
_KBYTE = 1024 * 8e-6  # Mbit
_SHORT = 60  # seconds
_HALF_AN_HOUR = "half an hour of traffic: 1 to 6 minutes of a processor for each run"
_DATAGRAMS = (
    ("datagrams lost", "%", "udp_lost_percent", "lost_percent"),
    ("jitter of datagrams", "ms", "udp_jitter_ms", "jitter_ms"),
)
"""Quantity, unit, metric, and column of published_datagrams.csv."""


@dataclass(frozen=True)
class Target:
    """A published number and how a run measures it.

    `settings` make the point of `experiment`, `then` those of the study's time. `metric` is a
    column of the sweep's rows, of `flow` or the whole run (`among` picks the least or the most), or
    if `captured` a key of analysis.measures.results; `scale` converts it to `unit`. `x` and
    `series` place it in a plot. It is the mean of `mean_of` published runs. `needs` is the cost of
    the full form, `listed` why no run measures a row, `allowed` the range of a law.
    """

    experiment: str
    where: str
    quantity: str
    unit: str
    published: float | None
    settings: tuple[tuple[str, str], ...]
    condition: str
    metric: str
    scale: float = 1.0
    flow: str = ""
    low: float | None = None
    high: float | None = None
    note: str = ""
    series: str = ""
    x: float | None = None
    why: str = ""
    captured: bool = False
    then: tuple[tuple[str, str], ...] = ()
    among: Among = ""
    mean_of: int = 1
    group: str = ""
    needs: str = ""
    listed: str = ""
    allowed: tuple[float | None, float | None] | None = None

    @property
    def is_run(self) -> bool:
        """True if a run gives the number, in this form."""
        return not (self.needs or self.listed)

    @property
    def expression(self) -> str:
        """The metric if runs measure it for this target only; empty for a column or a capture."""
        return "" if self.captured or self.metric in columns() else self.metric

    @property
    def period_condition(self) -> str:
        """The condition under the profile of its time (definition.profiles)."""
        return f"{self.condition}_period"


@dataclass(frozen=True)
class PublishedKernel:
    """The kernel of a published study, the source for it, and the lab's `nearest` kernels."""

    linux: str
    known: str
    nearest: tuple[str, ...] = ()


@dataclass(frozen=True)
class PublishedStudy:
    """Facts about all published numbers of a study, and how often a reproduction repeats them.

    `kernel` is None if it is unknown. `short_form` is a sentence about a form that is shorter than
    the published runs, `plot` that of reproduction.json. `seeds` are as many in the short and in
    the full form, from `first_seed` on: a study whose range was chosen after runs is judged with
    other seeds. Studies are listed by `order`, then by name. `reasons` are pairs of a pattern for
    rows and a text; the first match counts.
    """

    source: str = ""
    order: int = 100
    kernel: PublishedKernel | None = None
    short_form: str = ""
    plot: dict[str, str] = field(default_factory=lambda: {"kind": "bars"})
    seeds: tuple[int, int] = (6, 10)
    first_seed: int = 1
    notes: tuple[str, ...] = ()
    reasons: tuple[tuple[str, str], ...] = ()


def published(file: str, part: str = "") -> list[Row]:
    table = Path(file).with_name(f"published{part}.csv")
    return list(csv.DictReader(table.read_text(encoding="utf-8").splitlines()))


def study(file: str) -> PublishedStudy:
    """Read published.toml next to a module's `file`. Raises UsageError."""
    table = Path(file).with_name("published.toml")
    try:
        content = toml_file(table)
        reasons = {
            row: why.replace("{counts} ", _COUNTS)
            for row, why in content.pop("reasons", {}).items()
        }
        made = msgspec.convert(content, PublishedStudy)
    except ValueError as error:
        remedy = "docs/guides/own-studies.md lists its parts."
        raise UsageError(f"{table} cannot be read: {error}.", remedy) from error
    return replace(made, reasons=tuple(reasons.items()))


def seeds_of(experiment: str, quick: bool) -> range:
    study = published_study(experiment)
    return range(study.first_seed, study.first_seed + study.seeds[not quick])


def as_number(printed: str) -> float:
    """Read a published number: whole if it was printed so, which shows its precision."""
    return int(printed) if printed.isdigit() else float(printed)


_COUNTS = (
    "With SACK today's settings know losses by time (RACK, RFC 8985), also that of a"
    " retransmission. Those of the time count three duplicate ACKs (RFC 6675) on Linux 7.2; if so"
    " few segments follow that three cannot come, or if a retransmission is lost, they wait for the"
    " time-out: 200 ms or more on Linux (TCP_RTO_MIN in include/net/tcp.h; RFC 6298 asks for 1 s). "
)
"""`{counts}` in reasons of studies on paths that lose packets at random."""


def reason(experiment: str, row: str) -> str:
    """Return why the row, `where: quantity`, may differ; empty if that is unknown."""
    pairs = published_study(experiment).reasons
    return next((text for pattern, text in pairs if re.search(pattern, row)), "")


def published_study(experiment: str) -> PublishedStudy:
    """Return the facts about a study's published numbers; the defaults if it has none."""
    named = find(experiment)
    if module := named.part("targets"):
        facts: PublishedStudy = module.STUDY
        return facts
    if named.targets():
        return _law_study(named)
    return study(str(named.file)) if _table(named) else PublishedStudy()


@cache
def targets(quick: bool) -> tuple[Target, ...]:
    names = [named.name for named in catalogue() if _has_targets(named)]
    names.sort(key=lambda name: (published_study(name).order, name))
    return tuple(target for name in names for target in targets_of(name, quick))


def _has_targets(named: Experiment) -> bool:
    return bool(named.part("targets") or named.targets() or _table(named))


@cache
def targets_of(study: str, quick: bool) -> tuple[Target, ...]:
    """Return the published numbers of one study; its name may come from an untrusted file."""
    named = next((each for each in catalogue() if each.name == study), None)
    rows = tuple(_rows(named, quick)) if named else ()
    return tuple(
        replace(target, why=target.why or reason(study, f"{target.where}: {target.quantity}"))
        for target in _with_repetitions(rows)
    )


def _rows(named: Experiment, quick: bool) -> Iterator[Target]:
    if module := named.part("targets"):
        yield from module.targets(quick)
    elif laws := named.targets():
        yield from (_by_law(named.name, row) for row in laws)
    else:
        yield from _of_assignment(named, quick)


def law_file(file: Path) -> dict[str, Any]:
    """Read a law.toml, with its tables `report` and `reproduction`. Raises UsageError."""
    try:
        return toml_file(file)
    except ValueError as error:
        raise UsageError(f"{file} cannot be read: {error}.", "Correct that line.") from None


def _law_study(named: Experiment) -> PublishedStudy:
    content = law_file(named.file.with_name("law.toml"))
    note = f"The numbers follow from a law, and each claim has its range: {content['reason']}"
    facts = {"source": content["source"], "order": _LAST, "notes": [note]}
    return msgspec.convert(facts | content["reproduction"], PublishedStudy)


def _by_law(name: str, row: Mapping[str, Any]) -> Target:
    """Return the value that a study's claim expects; `row` has settings, and what else differs."""
    settings = row.get("settings", {})
    headline = combination(find(name), settings).spec.headline
    assert headline
    expected = Target(
        experiment=name,
        where=", ".join(f"{name} {value}" for name, value in settings.items()) or "default",
        quantity=headline.what,
        unit=parse(headline.metric).metric.unit,
        published=float(f"{headline.expected:.4g}"),
        settings=tuple(settings.items()),
        condition=headline.subject.condition,
        metric=headline.metric,
        allowed=headline.ends,
    )
    return replace(expected, **{each: row[each] for each in row.keys() - {"settings"}})


def _table(named: Experiment) -> list[Row]:
    """Return a study's published.csv if its rows have their settings; empty otherwise."""
    has_table = named.file.with_name("published.csv").exists()
    rows = published(str(named.file)) if has_table else []
    return rows if rows and "settings" in rows[0] else []


def _of_assignment(named: Experiment, quick: bool) -> Iterator[Target]:
    """Yield each rate, those of the slowest and fastest of parallel flows, and UDP's losses.

    A printed line covers the time from a connection's start to the common end: 57 s of 60 is a
    start 3 s late, as a SYN is sent again after 3, 9 and 21 s (RFC 2988, section 2).
    """
    tables = {
        name: published(str(named.file), f"_{name}")
        for name in ("flows", "datagrams")
        if named.file.with_name(f"published_{name}.csv").exists()
    }
    for row in _table(named):
        rate = _assigned(row, named.name)
        if quick and float(row["duration_s"]) > _SHORT:
            rate = replace(rate, needs=_HALF_AN_HOUR)
        yield rate
        if row["flow"] == "udp":
            yield from _of_datagrams(rate, row, tables["datagrams"])
        else:
            yield from _extreme_flows(rate, row, tables.get("flows", ()))


def _assigned(row: Row, experiment: str) -> Target:
    """Return the sender's rate of a row; of several connections iperf's sum."""
    place = f"section {row['section']}: {row['condition']}, {row['congestion_control']}"
    repeat = f", run {row['repeat']}" if row["section"] == "3.4" else ""
    streams = "1 stream" if row["streams"] == "1" else f"{row['streams']} streams"
    metric, scale = "client_kbit_s" if row["flow"] == "tcp" else "goodput_kbit_s", 1e-3
    if row["streams"] != "1":
        metric, scale = "transfer_kbyte", _KBYTE / float(row["duration_s"])
    return Target(
        experiment,
        f"{place}, {streams}, {row['duration_s']} s{repeat}",
        "rate",
        "Mbit/s",
        float(row["reported_mbit_s"]) if row["reported_mbit_s"] else None,
        (*_pairs(row["settings"]), ("duration", f"{row['duration_s']}s")),
        row["measured"],
        metric,
        scale,
        note=row["note"],
        flow=row["flows"],
        then=_pairs(row["then"]),
        group="rates",
    )


def _pairs(text: str) -> tuple[tuple[str, str], ...]:
    return tuple((name, value) for name, _, value in (word.partition("=") for word in text.split()))


def _extreme_flows(rate: Target, row: Row, flows: Iterable[Row]) -> Iterator[Target]:
    """Yield the rates of the slowest and fastest flow, if those of the flows were published."""
    names = ("condition", "congestion_control", "streams", "duration_s")
    rates = [
        float(line["mbit_s"]) for line in flows if all(line[name] == row[name] for name in names)
    ]
    if rates:
        group = "slowest and fastest of parallel flows"
        flow = replace(rate, metric="client_kbit_s", scale=1e-3, note="", group=group)
        yield replace(flow, quantity="slowest flow", published=min(rates), among="least")
        yield replace(flow, quantity="fastest flow", published=max(rates), among="most")


def _of_datagrams(rate: Target, row: Row, lines: Iterable[Row]) -> Iterator[Target]:
    (line,) = (line for line in lines if line["condition"] == row["condition"])
    for quantity, unit, metric, column in _DATAGRAMS:
        plain = replace(rate, scale=1.0, note="", group="datagrams")
        value = as_number(line[column])
        yield replace(plain, quantity=quantity, unit=unit, published=value, metric=metric)


def _with_repetitions(rows: Sequence[Target]) -> Iterator[Target]:
    """Add to each row the range of all rows that repeat the same measurement."""
    groups: dict[object, list[float]] = {}
    for target in rows:
        if target.published is not None and not target.listed:
            groups.setdefault(_measured(target), []).append(target.published)
    for target in rows:
        values = [] if target.listed else groups.get(_measured(target), [])
        yield replace(target, low=min(values), high=max(values)) if len(values) > 1 else target


def _measured(target: Target) -> object:
    run = target.experiment, target.settings, target.condition
    return *run, target.metric, target.flow, target.among, target.mean_of


def chosen(quick: bool, names: Sequence[str], texts: Sequence[str] = ()) -> list[Target]:
    """Return the targets of these studies whose place has one of the texts. Raises UsageError."""
    every = targets(quick)
    studies = list(dict.fromkeys(target.experiment for target in every))
    if unknown := [name for name in names if name not in studies]:
        raise UsageError(
            f"No published study is named '{unknown[0][:40]}'.", f"There are {', '.join(studies)}."
        )
    named = [target for target in every if not names or target.experiment in names]
    wanted = [
        target for target in named if not texts or any(text in target.where for text in texts)
    ]
    if not wanted:
        raise UsageError(
            f"No published row has '{texts[0][:40]}' in its place.",
            f"Such as '{named[0].where}': the page of a reproduction has all.",
        )
    return wanted
