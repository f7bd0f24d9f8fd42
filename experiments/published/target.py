"""A published number and how ours is measured, and what a study says of all of its numbers."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Target:
    """A published number and how ours is measured.

    `settings` make the point of `experiment`; `condition` is the name of today's condition, to
    which `_period` is added for the other. `metric` is a column of the sweep's rows, taken of
    `flow`, or of the run if that is empty (the sum over flows if the metric is a flow's); `scale`
    brings it to `unit`. `x` and `series` place it in a plot. If it is `captured`, `metric` is a key
    of analysis.measures.trial_measures and comes from the captures. `then` is what this row had
    in the study's time, other than its settings and the profile's path say.
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

    @property
    def period_condition(self) -> str:
        """The same condition under the profile of its time (experiments.definition.profiles)."""
        return f"{self.condition}_period"


@dataclass(frozen=True)
class PublishedStudy:
    """What a reproduction says of a study, and how often it repeats it.

    `short_form` is a sentence for a short form that is not as long as what was published. `plot`
    is the `plot` of reproduction.json. `seeds` is their number in the short and in the full form.
    Studies are listed by `order`, those of the same order by name.
    """

    source: str
    order: int = 100
    short_form: str = ""
    plot: dict[str, str] = field(default_factory=lambda: {"kind": "bars"})
    seeds: tuple[int, int] = (3, 10)
