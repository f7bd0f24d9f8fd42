"""Laws of the literature, which reports of studies compare with measurements."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

from analysis.measures.expressions import parse
from analysis.theory.law import Law
from experiments.study.catalogue import find
from experiments.study.grid import combination
from experiments.study.published import PublishedStudy, Target

_LAST = 99  # after all published numbers, before the studies of others


def law(file: str) -> Law:
    """Read law.toml next to a module's `file`."""
    text = Path(file).with_name("law.toml").read_text(encoding="utf-8")
    return Law(**tomllib.loads(text))


def law_study(file: str, processor_seconds: float, first_seed: int = 1) -> PublishedStudy:
    """Return the facts of a study whose numbers are those of a law; a seed costs so much."""
    stated = law(file)
    note = f"The numbers follow from a law, and each claim has its range: {stated.reason}"
    return PublishedStudy(
        source=stated.source,
        order=_LAST,
        first_seed=first_seed,
        notes=(note,),
        processor_seconds=(processor_seconds, processor_seconds),
    )


def law_targets(file: str, *points: Mapping[str, str]) -> Iterator[Target]:
    """Yield the value that the claim of a study expects with each of these settings."""
    name = Path(file).parent.name
    for settings in points:
        headline = combination(find(name), dict(settings)).spec.headline
        assert headline
        chosen = ", ".join(f"{name} {value}" for name, value in settings.items())
        yield Target(
            experiment=name,
            where=chosen or "default",
            quantity=headline.what,
            unit=parse(headline.metric).metric.unit,
            published=float(f"{headline.expected:.4g}"),
            settings=tuple(settings.items()),
            condition=headline.subject.condition,
            metric=headline.metric,
            allowed=headline.ends,
        )
