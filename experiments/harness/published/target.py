"""A published number and how ours is measured, and what a study says of all of its numbers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

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


def as_number(printed: str) -> float:
    """A published number: whole if it was printed so, which tells how exact it is."""
    return int(printed) if printed.isdigit() else float(printed)
