"""Which run gives which published number: the targets of all studies that have a `targets` part."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache

from experiments.harness.definition.catalogue import catalogue, part
from experiments.harness.published.reasons import reason
from experiments.harness.published.target import PublishedStudy, Target
from topologies.foundation.errors import UsageError


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
