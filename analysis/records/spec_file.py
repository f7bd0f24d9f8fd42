"""spec.json: what a run was asked to do."""

from __future__ import annotations

from typing import Any

from msgspec import Struct, field

from analysis.records.published_row import RowEntry


class TopologyEntry(Struct, frozen=True):
    """The network as a diagram; `segmentation` is `on` if hosts leave it to the network card."""

    diagram: str = ""
    segmentation: str = ""


class FlowEntry(Struct, frozen=True):
    """An iperf connection; one with a `rate` is of UDP."""

    name: str = "flow1"
    sender: str = "h1"
    receiver: str = "h2"
    port: float | None = None
    rate: Any = None


class ConditionEntry(Struct, frozen=True):
    """A case that the experiment compares; `sysctls` are pairs of names and values."""

    name: str = ""
    label: str = ""
    sysctls: tuple[tuple[str, ...], ...] = ()


class MeasuredEntry(RowEntry, frozen=True):
    """A published number, and which measure of which condition and flow it is compared with.

    `flow` is as in analysis.measures.flow_rows.value_of; `scale` brings the measure to the unit.
    """

    metric: str = ""
    flow: str = ""
    scale: float | None = None
    condition: str = ""
    period_condition: str = ""


class SubjectEntry(Struct, frozen=True):
    """Whose value of a measure is meant: a condition's, or that of one flow under it."""

    condition: str = ""
    flow: str = ""


class HeadlineEntry(Struct, frozen=True):
    """The claim that is judged; experiments.spec.Headline says what the fields mean."""

    question: str = ""
    metric: str = ""
    what: str = ""
    subject: SubjectEntry = SubjectEntry()
    direction: str = ""
    against: SubjectEntry | None = None
    margin: str = "5%"
    low: float | None = None
    high: float | None = None
    expected: float = 1.0
    expectation: str = ""
    repetitions: int = 1


class SpecFile(Struct, frozen=True):
    """spec.json. `settings` are what `--set` was given for anything but a parameter."""

    name: str = ""
    claim: str = ""
    parameters: dict[str, str] = field(default_factory=dict)
    settings: tuple[str, ...] = ()
    topology: TopologyEntry = TopologyEntry()
    flows: tuple[FlowEntry, ...] = ()
    conditions: tuple[ConditionEntry, ...] = ()
    captures: tuple[str, ...] = ()
    published: tuple[MeasuredEntry, ...] = ()
    headline: HeadlineEntry | None = None
