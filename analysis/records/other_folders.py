"""reproduction.json and comparison.json (of two kernels) as frozen records."""

from collections import Counter
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct, field
from msgspec.structs import replace

from analysis.records.json_reader import NO_LOG, LogPath, Problems, read_main, typed
from analysis.records.spec_file import Provenance, RowEntry, checked_row

Kind = Literal["loglog", "bars", "none", ""]


class ProfileSetting(Struct, frozen=True):
    """One setting of a study's time, and why it is needed."""

    name: str = ""
    value: str = ""
    reason: str = ""


class PeriodKernel(Struct, frozen=True):
    """The kernel that a study had: `linux`, as far as it is known, and how it is `known`.

    `taken` is the kernel on which it was repeated, empty if none could be had, and `remarks` say
    why no nearer one was taken.
    """

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
    """reproduction.json; `only` names the studies and `rows` the rows that were chosen.

    None are all.
    """

    mode: str = ""
    only: tuple[str, ...] = ()
    rows: tuple[str, ...] = ()
    digests: dict[str, str] = field(default_factory=dict)
    studies: tuple[StudyEntry, ...] = ()

    @property
    def failures(self) -> int:
        return sum(len(study.failures) for study in self.studies)


def read_reproduction(path: Path, problems: Problems) -> ReproductionFile:
    """Return the reproduction in `path`, with each study's rows as PublishedRow.

    Raises UsageError if there is none, TcplabError if it cannot be used.
    """
    name, command = "reproduction.json", "./tcplab reproduce"
    facts = read_main(ReproductionFile, path, name, command)
    studies = tuple(_study(entry, problems) for entry in facts.studies)
    if not studies:
        problems.add("reproduction.json lists no study to compare.")
    return replace(facts, studies=studies)


def _study(entry: StudyEntry, problems: Problems) -> StudyEntry:
    rows = tuple(
        checked_row(typed(RowEntry, row), entry.name, problems)
        for row in entry.rows
        if isinstance(row, dict)
    )
    if not rows or len(rows) < len(entry.rows):
        problems.add(
            f"Study {entry.name} has {'rows' if rows else 'no row'} that can be"
            f" read{' in part' if rows else ''}."
        )
    twice = [
        name
        for name, count in Counter((row.where, row.quantity) for row in rows).items()
        if count > 1
    ]
    if twice:
        problems.add(
            f"Study {entry.name} has several rows for '{twice[0][0]}', {twice[0][1]}; all are"
            " shown."
        )
    return replace(entry, rows=rows)


class ComparedKernel(Struct, frozen=True):
    """One of the two kernels."""

    name: str = "unnamed"
    release: str = ""
    digest: str = ""


class KernelFigure(Struct, frozen=True):
    """A figure on both kernels: the known values, and how the second differs over `count` seeds."""

    of: str = ""
    title: str = ""
    unit: str = ""
    old: tuple[float, ...] = ()
    new: tuple[float, ...] = ()
    scale: str = "ratio"
    count: int = 0
    estimate: float | None = None
    low: float | None = None
    high: float | None = None
    p: float = 1.0
    verdict: str = "not shown to differ"


class ComparedCase(Struct, frozen=True):
    """A case of the standing set with its figures."""

    name: str = "unnamed"
    sentence: str = ""
    figures: tuple[KernelFigure, ...] = ()


class ScriptsOnBoth(Struct, frozen=True):
    """The kernels' own packetdrill scripts: how many were run, and which pass on one alone."""

    cases: int = 0
    only_old: tuple[str, ...] = ()
    only_new: tuple[str, ...] = ()
    neither: tuple[str, ...] = ()


class ComparisonFile(Provenance, frozen=True):
    """comparison.json; `least` is the share by which figures must differ to count."""

    kernels: tuple[ComparedKernel, ...] = (ComparedKernel(), ComparedKernel())
    seeds: tuple[int, ...] = ()
    least: float = 0.01
    cases: tuple[ComparedCase, ...] = ()
    scripts: ScriptsOnBoth = ScriptsOnBoth()
    left_out: tuple[str, ...] = ()
    failures: tuple[str, ...] = ()

    @property
    def figures(self) -> list[KernelFigure]:
        return [figure for case in self.cases for figure in case.figures]


def read_comparison(path: Path) -> ComparisonFile:
    """Return the comparison in `path`.

    Raises UsageError if there is none, TcplabError if it cannot be used.
    """
    command = "./tcplab kernel compare"
    return read_main(ComparisonFile, path, "comparison.json", command)
