"""Comparison of kernels: comparison.json as records, kernels.html and the terminal."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import isnan
from pathlib import Path
from statistics import fmean, median
from typing import Any, Literal

from msgspec import Struct, structs
from msgspec.structs import asdict

from analysis import rendering
from analysis.fmt import probability, with_unit, written
from analysis.graphs import distributions
from analysis.graphs.inline import board
from analysis.graphs.layers import BLUE, GREY, VERMILLION, GraphGroup, caption
from analysis.records.json_reader import read_main
from analysis.records.spec_file import Provenance
from analysis.rendering import Terminal, text_table
from analysis.statistics.paired_tests import (
    DifferenceVerdict,
    Paired,
    estimate,
    holm,
    interval,
    paired,
    verdict_of,
)


class ComparedKernel(Struct, frozen=True):
    """One of the two kernels."""

    name: str = "unnamed"
    release: str = ""
    digest: str = ""


LEAST = 0.01  # share by which a figure must differ to count as larger or smaller


class KernelFigure(Struct, frozen=True):
    """A figure on both kernels: its value under each seed, and how the second differs.

    `low` and `high` are the ends of the interval over `count` seeds, or the value on which all
    seeds agree. A value is NaN if it is missing, and left out when a file is read.
    """

    of: str = ""
    metric: str = ""
    title: str = ""
    unit: str = ""
    old: tuple[float, ...] = ()
    new: tuple[float, ...] = ()
    scale: Literal["ratio", "difference"] = "ratio"
    count: int = 0
    estimate: float | None = None
    low: float | None = None
    high: float | None = None
    p: float = 1.0
    verdict: str = DifferenceVerdict.UNSHOWN

    @property
    def pair(self) -> Paired | None:
        """The difference of the second kernel; None if no seed has both."""
        if self.estimate is None:
            return None
        return Paired(self.scale, self.estimate, self.low, self.high, self.count, self.p)

    def data(self) -> dict[str, Any]:
        values = {
            name: [None if isnan(value) else value for value in getattr(self, name)]
            for name in ("old", "new")
        }
        return asdict(self) | values


def compared(figures: Iterable[KernelFigure]) -> list[KernelFigure]:
    """Return figures with their differences, each p corrected for all of them."""
    measured = tuple(figures)
    pairs = [paired(figure.old, figure.new) for figure in measured]
    corrected = holm([pair.p if pair else 1.0 for pair in pairs])
    return [
        _compared(figure, pair, p) if pair else figure
        for figure, pair, p in zip(measured, pairs, corrected, strict=True)
    ]


def _compared(figure: KernelFigure, pair: Paired, p: float) -> KernelFigure:
    ends = (pair.estimate, pair.estimate) if pair.copies else (pair.low, pair.high)
    same = {name: getattr(pair, name) for name in ("scale", "count", "estimate")}
    verdict = _verdict(pair, p, ends, figure.old)
    return structs.replace(figure, **same, low=ends[0], high=ends[1], p=p, verdict=verdict)


def _verdict(
    pair: Paired, p: float, ends: tuple[float | None, float | None], old: Sequence[float]
) -> DifferenceVerdict:
    """Return larger or smaller if `p` shows a difference above `LEAST`, alike below it."""
    low, high = ends
    least, most = 1 / (1 + LEAST), 1 + LEAST
    if pair.scale == "difference":
        most = LEAST * fmean(abs(value) for value in old if not isnan(value))
        least = -most
    if low is not None and high is not None:
        if least <= low and high <= most:
            return DifferenceVerdict.ALIKE
        if not pair.copies and not least < pair.estimate < most:
            return verdict_of(pair, p)
    return DifferenceVerdict.UNSHOWN


class ComparedCase(Struct, frozen=True):
    """A case of the standing set with its figures."""

    name: str = "unnamed"
    sentence: str = ""
    figures: tuple[KernelFigure, ...] = ()


class ScriptsOnBoth(Struct, frozen=True):
    """The kernels' own packetdrill scripts: how many were run, and which pass on one or on none."""

    cases: int = 0
    only_old: tuple[str, ...] = ()
    only_new: tuple[str, ...] = ()
    neither: tuple[str, ...] = ()


class ComparisonFile(Provenance, frozen=True):
    """comparison.json; `least` is the share by which figures must differ to count."""

    kernels: tuple[ComparedKernel, ...] = (ComparedKernel(), ComparedKernel())
    seeds: tuple[int, ...] = ()
    least: float = LEAST
    cases: tuple[ComparedCase, ...] = ()
    scripts: ScriptsOnBoth = ScriptsOnBoth()
    left_out: tuple[str, ...] = ()
    failures: tuple[str, ...] = ()

    @property
    def figures(self) -> list[KernelFigure]:
        return [figure for case in self.cases for figure in case.figures]


_WAYS = 3  # each script is run over IPv4, IPv6, and IPv4 in addresses of IPv6


def _listed(cases: Sequence[str], most: int | None) -> str:
    ways: dict[str, list[str]] = {}
    for case in cases:
        script, _, way = case.partition(" ")
        ways.setdefault(script, []).append(way)
    names = [
        script if len(taken) == _WAYS else f"{script} {' '.join(taken)}".rstrip()
        for script, taken in ways.items()
    ]
    rest = len(names) - len(names[:most])
    more = f", and {rest} more scripts: see the page" if rest else ""
    return ", ".join(names[:most]) + more


_UNSHOWN = "alike, or not shown to differ"
_LOOKS = {
    "larger": distributions.look(VERMILLION, "triangle"),
    "smaller": distributions.look(BLUE, "diamond"),
}
_ROW = 36


@dataclass(frozen=True)
class KernelReport:
    """A comparison, and its page."""

    facts: ComparisonFile
    page: Path

    @property
    def sound(self) -> bool:
        """True if all points ran and were proved."""
        return self.facts.status == "complete" and not self.facts.failures

    @property
    def names(self) -> tuple[str, str]:
        old, new = self.facts.kernels
        return old.name, new.name

    @property
    def headline(self) -> str:
        counts = Counter(figure.verdict for figure in self.facts.figures)
        old, new = self.names
        shown = f"{counts['larger']} larger and {counts['smaller']} smaller"
        if not counts["larger"] + counts["smaller"]:
            shown = "none that is shown to differ"
        open_ones = counts["not shown to differ"]
        undecided = f"; the seeds do not decide about {open_ones}" if open_ones else ""
        return (
            f"Of {len(self.facts.figures)} figures, Linux {new} has {shown} compared with Linux"
            f" {old}; {counts['alike']} are alike within {100 * self.facts.least:g} %{undecided}."
        )

    def scripts(self, most: int | None = None) -> list[str]:
        """Say how the kernels' packetdrill scripts ended, at most `most` names of a kind."""
        scripts, (old, new) = self.facts.scripts, self.names
        if not scripts.cases:
            return []
        named = {
            f"pass on {old} only": scripts.only_old,
            f"pass on {new} only": scripts.only_new,
            "pass on neither": scripts.neither,
        }
        both = scripts.cases - sum(map(len, named.values()))
        kinds = [(len(cases), what, _listed(cases, most)) for what, cases in named.items() if cases]
        return [
            f"Of {scripts.cases} packetdrill scripts {both} pass on both kernels.",
            *(f"{count} {what}: {listed}." for count, what, listed in kinds),
        ]


def make_kernel_report(path: Path, out: Path | None = None) -> KernelReport:
    """Write kernels.html into `out`, or into `path`. Raises UsageError, TcplabError."""
    facts = read_main(ComparisonFile, path, "comparison.json", "./tcplab kernel compare")
    folder = out or path
    report = KernelReport(facts, folder / "kernels.html")
    group = _ratios(report)
    context = {
        "report": report,
        "group": group,
        **board([group]),
        "cases": [(case, [row(figure) for figure in case.figures]) for case in facts.cases],
    }
    page = rendering.render("kernels.html", context).encode()
    rendering.write(folder, [("kernels.html", page)], "report FOLDER")
    return report


def row(figure: KernelFigure) -> dict[str, str]:
    pair = figure.pair
    return {
        "of": figure.of,
        "title": with_unit(figure.title, figure.unit, ", {}"),
        "old": written(median(figure.old)) if figure.old else "-",
        "new": written(median(figure.new)) if figure.new else "-",
        "estimate": estimate(pair, figure.unit) if pair else "",
        "interval": interval(pair).removeprefix("95 % interval ") if pair else "",
        "p": probability(figure.p).removeprefix("= "),
        "verdict": figure.verdict,
    }


def _ratios(report: KernelReport) -> GraphGroup | None:
    drawn = []
    every = ((case, figure) for case in report.facts.cases for figure in case.figures)
    for of, figure in every:
        pair, name = figure.pair, of.name.replace("_", " ")
        if pair and pair.scale == "ratio" and pair.low and pair.high:
            verdict = figure.verdict if figure.verdict in _LOOKS else _UNSHOWN
            words, ends = f"{name}, {figure.of}: {figure.title}", (pair.low, pair.high)
            drawn.append(
                (verdict, distributions.RangedValue(0, pair.estimate, interval=ends, name=words))
            )
    if not drawn:
        return None
    old, new = report.names
    numbers = distributions.extremes([value for _, value in drawn])
    axis = distributions.ratio_axis(f"Linux {new} divided by Linux {old}", numbers)
    looks = {word: (seen, f"{word} on {new}") for word, seen in _LOOKS.items()}
    looks[_UNSHOWN] = distributions.look(GREY, "circle"), _UNSHOWN
    panels = tuple(
        distributions.verdict_rows(f"ratios_{at}", axis, panel, looks, _ROW)
        for at, panel in enumerate(distributions.in_panels(drawn))
    )
    return GraphGroup("ratios", f"How Linux {new} differs from {old}", caption("kernels"), panels)


_MOST = 10  # scripts of a kind


def print_kernels(report: KernelReport) -> None:
    terminal, facts = Terminal(), report.facts
    terminal.say(report.headline, *facts.left_out, *report.scripts(_MOST))
    terminal.check(facts.failures, len(facts.failures))
    different = [
        (case.name, *(row(figure)[name] for name in _CELLS))
        for case in facts.cases
        for figure in case.figures
        if figure.verdict in _LOOKS
    ]
    if different:
        head = ("Case", "Of", "Figure", *report.names, "New against old", "Verdict")
        terminal.print(text_table(head, different, "Differences"))
    terminal.end(report.page, facts.status, "This comparison is marked {}: it is incomplete.")


_CELLS = ("of", "title", "old", "new", "estimate", "verdict")
