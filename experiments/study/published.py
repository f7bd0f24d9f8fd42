"""Published numbers of studies as data: values, their runs, and reasons for differences.

A study has them in one of two forms: published.csv, whose columns `numbers` of published.toml
names, or TARGETS with a law.toml.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from analysis.measures.expressions import parse
from analysis.measures.metrics import columns
from experiments.study.catalogue import Experiment, catalogue, find, known
from experiments.study.grid import combination
from topologies.errors import UsageError
from topologies.notation import toml_file

if TYPE_CHECKING:
    from analysis.measures.results import Among


_LAST = 99  # laws come after all published numbers, before the studies of others


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


def facts_beside(file: Path) -> tuple[PublishedStudy, Mapping[str, Any]]:
    """Return the facts in published.toml next to `file`, and its `numbers`. Raises UsageError."""
    table = file.with_name("published.toml")
    if not table.exists():
        return PublishedStudy(), {}
    try:
        content = toml_file(table)
        reasons = {
            row: why.replace("{counts} ", _COUNTS)
            for row, why in content.pop("reasons", {}).items()
        }
        rules = content.pop("numbers", {})
        if isinstance(rules, str):
            rules = toml_file(Path(__file__).with_name(f"{rules}.toml"))
        made = msgspec.convert(content, PublishedStudy)
    except ValueError as error:
        remedy = "docs/guides/own-studies.md lists its parts."
        raise UsageError(f"{table} cannot be read: {error}.", remedy) from error
    return replace(made, reasons=tuple(reasons.items())), rules


def seeds_of(experiment: str, quick: bool) -> range:
    study = published_study(experiment)
    return range(study.first_seed, study.first_seed + study.seeds[not quick])


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
    if named.targets():
        content = law_file(named.file.with_name("law.toml"))
        note = f"The numbers follow from a law, and each claim has its range: {content['reason']}"
        law = {"source": content["source"], "order": _LAST, "notes": [note]}
        return msgspec.convert(law | content["reproduction"], PublishedStudy)
    return facts_beside(named.file)[0]


@cache
def targets(quick: bool) -> tuple[Target, ...]:
    names = sorted((published_study(named.name).order, named.name) for named in catalogue())
    return tuple(target for _, name in names for target in targets_of(name, quick))


@cache
def targets_of(study: str, quick: bool) -> tuple[Target, ...]:
    """Return the published numbers of one study; its name may come from an untrusted file."""
    named = known(study)
    rows = tuple(_rows(named, quick)) if named else ()
    return tuple(
        replace(target, why=target.why or reason(study, f"{target.where}: {target.quantity}"))
        for target in _with_repetitions(rows)
    )


def _rows(named: Experiment, quick: bool) -> Iterator[Target]:
    if laws := named.targets():
        yield from (_by_law(named.name, row) for row in laws)
    elif rules := facts_beside(named.file)[1]:
        yield from _of_table(named, rules, quick)


def law_file(file: Path) -> dict[str, Any]:
    """Read a law.toml, with its tables `report` and `reproduction`. Raises UsageError."""
    try:
        return toml_file(file)
    except ValueError as error:
        raise UsageError(f"{file} cannot be read: {error}.", "Correct that line.") from None


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


def _of_table(named: Experiment, rules: Mapping[str, Any], quick: bool) -> Iterator[Target]:
    """Yield each number of published.csv by the rules `all` and `each`, and `quick` of either.

    Texts have the row's columns in braces. `column` has the number, which is skipped if empty, and
    `rows` is how the first column begins.
    """
    text = named.file.with_name("published.csv").read_text(encoding="utf-8")
    for row in csv.DictReader(text.splitlines()):
        for each in rules["each"]:
            facts = rules["all"] | each
            if quick:
                facts |= rules["all"].get("quick", {}) | each.get("quick", {})
            begins = next(iter(row.values())).startswith(facts.get("rows", ""))
            if begins and row[facts["column"]]:
                yield _number(named.name, row, facts)


def _number(study: str, row: Mapping[str, str], facts: Mapping[str, Any]) -> Target:
    made: dict[str, Any] = {
        name: value.format_map(row) if isinstance(value, str) else value
        for name, value in facts.items()
        if name not in ("column", "rows", "quick")
    }
    for name in ("settings", "then"):
        words = made.get(name, "").split()
        made[name] = tuple(tuple(word.partition("=")[::2]) for word in words)
    for name in {"scale", "x", "low", "high"} & made.keys():
        above, _, below = str(made[name]).partition("/")
        made[name] = float(above) / float(below or 1)
    printed = row[facts["column"]]
    published = int(printed) if printed.isdigit() else float(printed)  # which shows its precision
    return Target(experiment=study, published=published, **made)


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
        problem = f"No published study is named '{unknown[0][:40]}'."
        raise UsageError(problem, f"There are {', '.join(studies)}.")
    named = [target for target in every if not names or target.experiment in names]
    wanted = [
        target for target in named if not texts or any(text in target.where for text in texts)
    ]
    if not wanted:
        remedy = f"Such as '{named[0].where}': the page of a reproduction has all."
        raise UsageError(f"No published row has '{texts[0][:40]}' in its place.", remedy)
    return wanted
