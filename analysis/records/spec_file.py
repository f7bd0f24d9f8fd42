"""spec.json, manifest.json and reproduction.json as frozen records."""

from collections import Counter
from pathlib import Path
from typing import Any, Literal, cast

from msgspec import Struct, field
from msgspec.structs import asdict, replace

from analysis.records.json_reader import NO_LOG, LogPath, Problems, number, read_main, text, typed
from topologies.data import from_data
from topologies.errors import UsageError
from topologies.spec import ETHERNET, TopologySpec

_LARGEST = 1e300  # largest value that sums without an overflow; no measurement is larger


class RowEntry(Struct, frozen=True):
    """A row as it was written; `checked_row` checks its numbers."""

    where: str = "unnamed"
    quantity: str = "value"
    unit: str = ""
    series: str = ""
    x: float | None = None
    published: Any = None
    published_low: float | None = None
    published_high: float | None = None
    published_note: str = ""
    mean_of: int = 1
    group: str = ""
    setting: str = ""
    line_rate: bool = False
    allowed_low: float | None = None
    allowed_high: float | None = None
    needs: str = ""
    listed: str = ""
    period_kernel: Any = None
    period: Any = None
    today: Any = None
    seeds: tuple[str, ...] = ()
    why: str = ""
    command: str = ""


class PublishedRow(RowEntry, frozen=True):
    """One published number, and a measured one for each seed.

    The seeds ran on a kernel of its time (`period_kernel`), with settings of its time on the
    lab's own kernel (`period`), and with today's (`today`). `published` is None if the source does
    not state it; `printed` are its digits. It is one run, or the mean of `mean_of`, whose ends are
    `published_low` and `published_high`. `needs` says what the full form takes if the short one
    leaves the row out, `listed` why no measured value compares. Rows of one `setting` share network
    and condition; any TCP gives a number at `line_rate`. A law allows a range, None for no end.
    """

    published: float | None = None
    printed: str = ""
    period_kernel: tuple[float, ...] = ()
    period: tuple[float, ...] = ()
    today: tuple[float, ...] = ()


def checked_row(entry: RowEntry, study: str, problems: Problems) -> PublishedRow:
    published, row = number(entry.published), asdict(entry)
    if published is None and entry.published is not None:
        why = "is no finite number; it counts as not stated."
        problems.add(f"The published number of '{entry.where}' in study {study} {why}")
    for way in ("period_kernel", "period", "today"):
        row[way] = _values(row[way], entry.where, problems)
    row |= {"published": published, "mean_of": max(entry.mean_of, 1)}
    row["printed"] = "" if published is None else text(entry.published) or ""
    names = PublishedRow.__struct_fields__
    return PublishedRow(**{name: value for name, value in row.items() if name in names})


def _values(content: object, where: str, problems: Problems) -> tuple[float, ...]:
    listed = content if isinstance(content, list) else []
    numbers = (number(entry) for entry in listed)
    values = tuple(value for value in numbers if value is not None and abs(value) <= _LARGEST)
    given = sum(entry is not None for entry in listed)
    if len(values) < given or not isinstance(content, list | None):
        problems.add(f"Some values of '{where}' are no finite numbers: they are left out.")
    return values


class TopologyEntry(Struct, frozen=True):
    """The network as written, which `network` understands, with its diagram."""

    name: str = ""
    diagram: str = ""
    segmentation: str = ""
    mtu: str = str(ETHERNET)
    nodes: tuple[Any, ...] = ()
    links: tuple[Any, ...] = ()
    reordering: tuple[Any, ...] = ()
    shaping_hosts: tuple[str, ...] = ()

    def network(self) -> TopologySpec | None:
        """The network that was asked for; None if what is written is none."""
        written = {name: value for name, value in asdict(self).items() if value}
        written.pop("diagram", None)
        try:
            return cast(TopologySpec, from_data(TopologySpec, written))
        except (UsageError, TypeError, ValueError, IndexError):
            return None


class RunFlow(Struct, frozen=True):
    """An iperf connection, or one of a `program`; `port` is the receiver's.

    One with a `rate` is of UDP. One with a `window` was given socket buffers (iperf -w), which are
    meant to limit it. One with an `amount` had its `duration` for that. `traffic` is what an
    application sent instead; calls and pings are of UDP.
    """

    name: str = "flow1"
    sender: str = "h1"
    receiver: str = "h2"
    port: int = 5001
    rate: Any = None
    window: Any = None
    amount: Any = None
    start: str = "0s"
    duration: str = ""
    congestion_control: str = ""
    program: Any = None
    traffic: str = ""

    @property
    def protocol(self) -> str:
        if isinstance(self.program, dict):
            return "udp" if self.program.get("protocol") == "udp" else "tcp"
        return "udp" if self.rate or self.traffic.startswith(("call", "ping")) else "tcp"


class RunCondition(Struct, frozen=True):
    """A case that the experiment compares; it sets `sysctls`, names and values, on every host."""

    name: str = ""
    label: str = ""
    sysctls: tuple[tuple[str, str], ...] = ()


class MeasuredEntry(RowEntry, frozen=True):
    """A published number and its measure (as value_of has it), which `scale` brings to its unit."""

    metric: str = ""
    flow: str = ""
    among: str = ""
    scale: float | None = None
    condition: str = ""
    period_condition: str = ""


class SubjectEntry(Struct, frozen=True):
    """The subject of a value: a condition, or one flow under it."""

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


class ChangeEntry(Struct, frozen=True):
    """A change of the link during the run."""

    at: str = ""
    port: str = ""


class SpecFile(Struct, frozen=True):
    """spec.json; `settings` are of `--set`, but parameters, and `metrics` of `--metric`."""

    name: str = ""
    claim: str = ""
    parameters: dict[str, str] = field(default_factory=dict)
    settings: tuple[str, ...] = ()
    metrics: tuple[str, ...] = ()
    topology: TopologyEntry = TopologyEntry()
    flows: tuple[RunFlow, ...] = ()
    conditions: tuple[RunCondition, ...] = ()
    captures: tuple[str, ...] = ()
    published: tuple[MeasuredEntry, ...] = ()
    headline: HeadlineEntry | None = None
    changes: tuple[ChangeEntry, ...] = ()


class KernelFacts(Struct, frozen=True):
    """The kernel that a run had; `digest` is None unless it is a lab kernel."""

    release: str = ""
    digest: str | None = None


class ImageFacts(Struct, frozen=True):
    """The guest's image."""

    digest: str = ""


class Provenance(Struct, frozen=True):
    """Time, versions and duration of a run, sweep or reproduction; duration by three clocks."""

    format: float | None = None
    id: str = ""
    tcplab: str = ""
    started: str = ""
    status: str = "unknown"
    kernel: KernelFacts = KernelFacts()
    virtual_seconds: float | None = None
    wall_seconds: float | None = None
    cpu_seconds: float | None = None

    @property
    def durations(self) -> list[tuple[str, str]]:
        """The duration by each clock that was read."""
        clocks = ("virtual time", "wall time", "CPU time")
        times = (self.virtual_seconds, self.wall_seconds, self.cpu_seconds)
        read = zip(clocks, times, strict=True)
        return [(label, f"{value:.1f} s") for label, value in read if value is not None]


class RunManifest(Provenance, frozen=True):
    """manifest.json as written; `files` are SHA-256, and no file agrees with another text."""

    experiment: str = ""
    claim: str = ""
    testbed: str = ""
    seeds: tuple[Any, ...] = ()
    failures: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    code_digest: str = ""
    lab_digest: str | None = None
    image: ImageFacts | None = None
    tools: dict[str, str] = field(default_factory=dict)
    files: dict[str, Any] = field(default_factory=dict)


Kind = Literal["loglog", "bars", "none", ""]


class ProfileSetting(Struct, frozen=True):
    """One setting of a study's time, and why it is needed."""

    name: str = ""
    value: str = ""
    reason: str = ""


class PeriodKernel(Struct, frozen=True):
    """The kernel of a study: `taken` is what repeated it, and `remarks` why none nearer."""

    linux: str = ""
    known: str = ""
    taken: str = ""
    remarks: tuple[str, ...] = ()


class Plot(Struct, frozen=True):
    """The plot of a study; its fields are empty if the study names none."""

    kind: Kind = ""
    x: str = ""
    x_unit: str = ""
    series: str = ""


class TargetFailure(Struct, frozen=True):
    """A target that could not be run."""

    where: str = "unnamed"
    problem: str = "no reason was given"
    log: LogPath = NO_LOG


class StudyEntry(Struct, frozen=True):
    """A published study. Its `rows` are as they were written until `read_reproduction`."""

    name: str = "unnamed study"
    claim: str = ""
    source: str = ""
    year: str = ""
    profile: tuple[ProfileSetting, ...] = ()
    profile_differs: str = ""
    kernel: PeriodKernel | None = None
    notes: tuple[str, ...] = ()
    plot: Plot = Plot()
    rows: tuple[Any, ...] = ()
    failures: tuple[TargetFailure, ...] = ()


class ReproductionFile(Provenance, frozen=True):
    """reproduction.json; `only` are the chosen studies and `rows` the rows, None for all."""

    mode: str = ""
    only: tuple[str, ...] = ()
    rows: tuple[str, ...] = ()
    digests: dict[str, str] = field(default_factory=dict)
    studies: tuple[StudyEntry, ...] = ()

    @property
    def failures(self) -> int:
        return sum(len(study.failures) for study in self.studies)


def read_reproduction(path: Path, problems: Problems) -> ReproductionFile:
    """Return a reproduction with PublishedRows. Raises UsageError, TcplabError."""
    name, command = "reproduction.json", "./tcplab reproduce"
    facts = read_main(ReproductionFile, path, name, command)
    studies = tuple(_study(entry, problems) for entry in facts.studies)
    if not studies:
        problems.add("reproduction.json lists no study to compare.")
    return replace(facts, studies=studies)


def _study(entry: StudyEntry, problems: Problems) -> StudyEntry:
    written = [typed(RowEntry, row) for row in entry.rows if isinstance(row, dict)]
    rows = tuple(checked_row(row, entry.name, problems) for row in written)
    if not rows or len(rows) < len(entry.rows):
        has = ("rows", " in part") if rows else ("no row", "")
        problems.add(f"Study {entry.name} has {has[0]} that can be read{has[1]}.")
    named = Counter((row.where, row.quantity) for row in rows)
    if twice := [name for name, count in named.items() if count > 1]:
        where, quantity = twice[0]
        several = f"several rows for '{where}', {quantity}; all are shown."
        problems.add(f"Study {entry.name} has {several}")
    return replace(entry, rows=rows)
