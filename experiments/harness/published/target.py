"""Published numbers of studies: each with the run that gives ours, and why they differ."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING

from experiments.harness.definition.catalogue import catalogue, part
from topologies.foundation.errors import UsageError

if TYPE_CHECKING:
    from analysis.measures.flow_rows import Among


@dataclass(frozen=True)
class Target:
    """A published number and how ours is measured.

    `settings` make the point of `experiment`; `condition` is the name of today's condition, to
    which `_period` is added for the other. `metric` is a column of the sweep's rows, taken of
    `flow`, or of the run if that is empty (the sum over flows if the metric is a flow's); `scale`
    brings it to `unit`. `x` and `series` place it in a plot. If it is `captured`, `metric` is a key
    of analysis.measures.trial_measures and comes from the captures. `then` is what this row had
    in the study's time, other than its settings and the profile's path say.

    With `among` it is the least or the most of the flows. A number that is the mean of several
    published runs has `mean_of`. `group` is the part of the study's table that it is in. A row of
    the full form has in the short one `needs`, what it takes; one with `listed` is nothing that a
    run measures, and it says why. Neither is run.
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

    @property
    def is_run(self) -> bool:
        """Whether a run gives the number, in this form."""
        return not (self.needs or self.listed)

    @property
    def period_condition(self) -> str:
        """The condition under the profile of its time (see definition.profiles)."""
        return f"{self.condition}_period"


@dataclass(frozen=True)
class PublishedKernel:
    """The kernel that a published study had.

    `linux` is its version as far as it is known, and `known` says how: from its text, or deduced
    from what. `nearest` are kernels of the lab, the nearest first.
    """

    linux: str
    known: str
    nearest: tuple[str, ...]


@dataclass(frozen=True)
class PublishedStudy:
    """What a reproduction says of a study, and how often it repeats it.

    `kernel` is what it was measured on, None if nobody can tell. `notes` are sentences about its
    published numbers. `short_form` is one for a short form that is not as long as what was
    published. `plot` is the `plot` of reproduction.json. `seeds` is their number in the short and
    in the full form: six at least, or its rows are not judged. `processor_seconds` is what one seed
    of everything takes in each form on the computer that docs/scale.md names; the full form's is
    the short one's by its longer runs. Studies are listed by `order`, those of the same order by
    name.
    """

    source: str
    order: int = 100
    kernel: PublishedKernel | None = None
    short_form: str = ""
    plot: dict[str, str] = field(default_factory=lambda: {"kind": "bars"})
    seeds: tuple[int, int] = (6, 10)
    notes: tuple[str, ...] = ()
    processor_seconds: tuple[float, float] | None = None
    reasons: tuple[tuple[str, str], ...] = ()


def as_number(printed: str) -> float:
    """A published number: whole if it was printed so, which tells how exact it is."""
    return int(printed) if printed.isdigit() else float(printed)


COUNTS = (
    "With SACK today's settings know losses by time (RACK, RFC 8985), also that of a"
    " retransmission. Those of the time count three duplicate ACKs (RFC 6675) on Linux 7.2; if so"
    " few segments follow that three cannot come, or if a retransmission is lost, they wait for the"
    " time-out: 200 ms or more on Linux (TCP_RTO_MIN in include/net/tcp.h; RFC 6298 asks for 1 s). "
)
"""A reason of studies on paths that lose packets at random."""


def reason(experiment: str, row: str) -> str:
    """Return why the row, `where: quantity`, may differ; empty if that is unknown."""
    pairs = published_study(experiment).reasons
    return next((text for pattern, text in pairs if re.search(pattern, row)), "")


def published_study(experiment: str) -> PublishedStudy:
    """What the study says of its published numbers; the usual if it has none."""
    module = part(experiment, "targets")
    study: PublishedStudy = module.STUDY if module else PublishedStudy("")
    return study


@cache
def targets(quick: bool) -> tuple[Target, ...]:
    """Every target: all published numbers, study by study."""
    return tuple(target for name in _in_order() for target in targets_of(name, quick))


@cache
def targets_of(study: str, quick: bool) -> tuple[Target, ...]:
    """The published numbers of one study; none if it has no `targets`."""
    rows = (
        (target, f"{target.where}: {target.quantity}")
        for target in _with_repetitions(tuple(_of_study(study, quick)))
    )
    return tuple(
        replace(target, why=target.why or reason(target.experiment, row)) for target, row in rows
    )


def _in_order() -> list[str]:
    names = [named.name for named in catalogue() if part(named.name, "targets")]
    return sorted(names, key=lambda name: (published_study(name).order, name))


def _of_study(name: str, quick: bool) -> Iterable[Target]:
    module = part(name, "targets")
    rows: Iterable[Target] = module.targets(quick) if module else ()
    return rows


def _with_repetitions(published: Sequence[Target]) -> Iterator[Target]:
    """If the same was measured several times and each is a row: the range of all in each."""
    groups: dict[object, list[float]] = {}
    for target in published:
        if target.published is not None and not target.listed:
            groups.setdefault(_measured(target), []).append(target.published)
    for target in published:
        values = [] if target.listed else groups.get(_measured(target), [])
        yield replace(target, low=min(values), high=max(values)) if len(values) > 1 else target


def _measured(target: Target) -> object:
    run = target.experiment, target.settings, target.condition
    return *run, target.metric, target.flow, target.among, target.mean_of


def chosen(quick: bool, names: Sequence[str], texts: Sequence[str] = ()) -> list[Target]:
    """The targets of these experiments whose place has one of the texts, or all.

    Raises UsageError for an experiment or a text that has none.
    """
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
