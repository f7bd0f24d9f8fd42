"""Comparison of kernels: kernels.html and the terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any, Literal

from rich.console import Console
from rich.table import Table
from rich.text import Text

from analysis.graphs.layers import Axis, Graph, GraphGroup, Layer
from analysis.graphs.ranges import (
    RangedValue,
    extremes,
    in_panels,
    look,
    no_difference,
    ranged,
    ratio_axis,
    rows,
)
from analysis.graphs.stored import board_data
from analysis.measures.results import written
from analysis.records.kernel_folder import (
    ComparedCase,
    KernelComparisonRecord,
    KernelFigure,
    ScriptsOnBoth,
    read_comparison,
)
from analysis.rendering import page_files
from analysis.rendering.colours import BLUE, GREY, VERMILLION
from analysis.statistics.paired_tests import Paired
from analysis.statistics.wording import estimate, interval, probability

_WAYS = 3
"""Each script is run over IPv4, IPv6, and IPv4 in addresses of IPv6."""


def script_sentences(
    scripts: ScriptsOnBoth, old: str, new: str, most: int | None = None
) -> list[str]:
    """Return sentences on the scripts, at most `most` names of a kind; empty if none ran."""
    if not scripts.cases:
        return []
    named = {
        f"pass on {old} only": scripts.only_old,
        f"pass on {new} only": scripts.only_new,
        "pass on neither": scripts.neither,
    }
    both = scripts.cases - sum(map(len, named.values()))
    return [
        f"Of {scripts.cases} packetdrill scripts {both} pass on both kernels.",
        *(
            f"{len(cases)} {what}: {_listed(_by_script(cases), most)}."
            for what, cases in named.items()
            if cases
        ),
    ]


def _by_script(cases: Sequence[str]) -> list[str]:
    """Return each script once, with its ways if these are not all."""
    ways: dict[str, list[str]] = {}
    for case in cases:
        script, _, way = case.partition(" ")
        ways.setdefault(script, []).append(way)
    return [
        script if len(taken) == _WAYS else f"{script} {' '.join(taken)}".rstrip()
        for script, taken in ways.items()
    ]


def _listed(names: Sequence[str], most: int | None) -> str:
    rest = len(names) - len(names[:most])
    more = f", and {rest} more scripts: see the page" if rest else ""
    return ", ".join(names[:most]) + more


DIFFERENT = ("larger", "smaller")
_LOOKS = {"larger": look(VERMILLION, "triangle"), "smaller": look(BLUE, "diamond")}
_UNSHOWN = look(GREY, "circle")
_ROW, _AROUND = 36, 76
"""Pixels of a row, which may hold its name above its mark, and of what is around them."""
Scale = Literal["ratio", "difference"]


@dataclass(frozen=True)
class KernelReport:
    """A comparison, and its page."""

    record: KernelComparisonRecord
    page: Path

    @property
    def sound(self) -> bool:
        """True if all points ran and were proved."""
        facts = self.record.facts
        return facts.status == "complete" and not facts.failures

    @property
    def names(self) -> tuple[str, str]:
        old, new = self.record.facts.kernels
        return old.name, new.name

    @property
    def headline(self) -> str:
        """Number of figures that differ, in a sentence."""
        counts = Counter(figure.verdict for figure in self.record.figures)
        old, new = self.names
        shown = f"{counts['larger']} larger and {counts['smaller']} smaller"
        if not counts["larger"] + counts["smaller"]:
            shown = "none that is shown to differ"
        return (
            f"Of {len(self.record.figures)} figures, Linux {new} has {shown} compared with Linux"
            f" {old}; {counts['alike']} are alike but for"
            f" {100 * self.record.facts.least:g} %, and of {counts['not shown to differ']} the"
            " seeds do not tell."
        )

    def scripts(self, most: int | None = None) -> list[str]:
        """Sentences on the kernels' own packetdrill scripts (script_sentences)."""
        return script_sentences(self.record.facts.scripts, *self.names, most)


def make_kernel_report(path: Path, out: Path | None = None) -> KernelReport:
    """Write kernels.html into `out`, or into the comparison's folder.

    Raises UsageError if there is no comparison, TcplabError if it cannot be used or written.
    """
    record, folder = read_comparison(path), out or path
    report = KernelReport(record, folder / "kernels.html")
    page_files.write(folder, _files(report), "report FOLDER")
    return report


def _files(report: KernelReport) -> Iterator[tuple[str, bytes]]:
    group = _ratios(report)
    context = {
        "report": report,
        "facts": report.record.facts,
        "names": report.names,
        "group": group,
        "graphs": board_data([group] if group else []),
        "cases": [
            (case, [row(figure) for figure in case.figures]) for case in report.record.facts.cases
        ],
    }
    yield "kernels.html", page_files.render("kernels.html", context).encode()


def row(figure: KernelFigure) -> dict[str, Any]:
    """Return a line of a table."""
    pair = pair_of(figure)
    return {
        "of": figure.of,
        "title": figure.title + (f", {figure.unit}" if figure.unit else ""),
        "old": _median(figure.old),
        "new": _median(figure.new),
        "estimate": estimate(pair, figure.unit) if pair else "",
        "interval": interval(pair).removeprefix("95 % interval ") if pair else "",
        "p": probability(figure.p),
        "verdict": figure.verdict,
    }


def pair_of(figure: KernelFigure) -> Paired | None:
    """Return the difference of the second kernel; None if no seed has both."""
    if figure.estimate is None:
        return None
    scale: Scale = "difference" if figure.scale == "difference" else "ratio"
    return Paired(scale, figure.estimate, figure.low, figure.high, figure.count, figure.p)


def _median(values: Sequence[float]) -> str:
    return written(median(values)) if values else "-"


def _ratios(report: KernelReport) -> GraphGroup | None:
    """Return all ratios on one axis; what is compared by differences is in the tables only."""
    drawn = [
        (
            figure,
            _label(case, figure),
            RangedValue(0, pair.estimate, interval=(pair.low, pair.high)),
        )
        for case in report.record.facts.cases
        for figure in case.figures
        if (pair := pair_of(figure)) and pair.scale == "ratio" and pair.low and pair.high
    ]
    if not drawn:
        return None
    old, new = report.names
    caption = (
        "A mark is the typical ratio over the seeds, its bar the 95 % interval. Triangles: shown to"
        " be larger on the second kernel; diamonds: smaller; dots: alike, or not shown to differ."
    )
    numbers = extremes([value for *_, value in drawn])
    axis = ratio_axis(f"Linux {new} divided by Linux {old}", numbers)
    panels = tuple(
        _panel(f"ratios_{at}", axis, panel, new) for at, panel in enumerate(in_panels(drawn))
    )
    return GraphGroup("ratios", f"What Linux {new} does otherwise than {old}", caption, panels)


def _panel(
    key: str, axis: Axis, drawn: Sequence[tuple[KernelFigure, str, RangedValue]], new: str
) -> Graph:
    layers = (*_layers(drawn, new), no_difference("no difference"))
    names = rows([name for _, name, _ in drawn])
    height = _AROUND + _ROW * len(drawn)
    return Graph(key, "", "", axis, names, layers, over_time=False, height=height)


def _layers(drawn: Sequence[tuple[KernelFigure, str, RangedValue]], new: str) -> list[Layer]:
    values = {word: list[RangedValue]() for word in (*DIFFERENT, "")}
    for place, (figure, name, value) in enumerate(drawn):
        word = figure.verdict if figure.verdict in DIFFERENT else ""
        values[word].append(replace(value, at=-place, name=name))
    return [
        layer
        for word, of in values.items()
        for layer in ranged(
            of,
            _LOOKS.get(word, _UNSHOWN),
            f"{word} on {new}" if word else "alike, or not shown to differ",
            "x",
        )
    ]


def _label(case: ComparedCase, figure: KernelFigure) -> str:
    return f"{case.name.replace('_', ' ')}, {figure.of}: {figure.title}"


_MOST = 10  # scripts of a kind


def print_kernels(report: KernelReport) -> None:
    """Print what differs, what failed or was left out, and the page's path."""
    console = Console(highlight=False, soft_wrap=True)
    facts = report.record.facts
    console.print(Text(report.headline))
    for sentence in facts.left_out:
        console.print(Text(sentence))
    for sentence in report.scripts(_MOST):
        console.print(Text(sentence))
    for failure in facts.failures:
        console.print(Text(f"Check: {failure}", style="yellow"))
    if any(figure.verdict in DIFFERENT for figure in report.record.figures):
        console.print(_table(report))
    if facts.status != "complete":
        console.print(
            Text(f"This comparison is marked {facts.status}: it is not whole.", style="bold red")
        )
    console.print(Text(f"Report: {report.page}"))


def _table(report: KernelReport) -> Table:
    old, new = report.names
    table = Table(title=Text("What differs"))
    for name in ("Case", "Of", "Figure", old, new, "New against old", "Verdict"):
        table.add_column(Text(name))
    for case in report.record.facts.cases:
        for figure in case.figures:
            if figure.verdict in DIFFERENT:
                cells = row(figure)
                shown = ("of", "title", "old", "new", "estimate", "verdict")
                table.add_row(case.name, *(Text(cells[name]) for name in shown))
    return table
