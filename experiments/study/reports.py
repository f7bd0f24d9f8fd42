"""Parts of studies' reports: answers from a template, and an even share of a link as law.

The template is answers.j2 next to a report. A question is a line that begins with `## `; a blank
line ends a paragraph, of which lines are joined. `facts(...)` names the quantities of an answer's
table. A template has the names of the report's module, `results`, `conditions`, and the functions
of analysis.reporting.answers without their argument `results`.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any

from jinja2 import Environment, StrictUndefined, Template

from analysis.fmt import listed, spread, written
from analysis.measures.results import RunResults
from analysis.records.spec_file import RunCondition
from analysis.reporting import answers
from analysis.reporting.answers import Answer
from analysis.reporting.laws import (
    Law,
    LawComparison,
    LawGraph,
    LawLine,
    LawPoint,
    path_of,
    payload_rate,
)
from analysis.reporting.tables import Listing, ReportQuantity, quantity
from experiments.study.published import law_file
from topologies.notation import toml_file

_OF_A_RUN = ("called", "causes", "each", "middle", "more_repetitions", "parameter", "ratios")
_TABLE = re.compile(r"\0(\d+)")
_MBIT = 8e-6
_UNREAD = "The files that show this could not be read."


def answers_from(file: str, names: Mapping[str, Any]) -> Callable[[RunResults], tuple[Answer, ...]]:
    """Return the answers of a report, by answers.j2 next to its `file` and the module's names."""
    template = _template(file, "answers.j2")

    def made(results: RunResults) -> tuple[Answer, ...]:
        tables: list[tuple[ReportQuantity, ...]] = []

        def facts(*quantities: ReportQuantity) -> bytes:
            tables.append(quantities)
            return b"\0%d" % (len(tables) - 1)  # no text of a run, which `_shown` would clean

        def middles(condition: RunCondition, *quantities: ReportQuantity) -> list[float | None]:
            return [answers.middle(results, quantity, condition) for quantity in quantities]

        own = {"facts": facts, "middles": middles}
        text = template.render({**names, **_common(results), **own})
        return tuple(_answer(results, part, tables) for part in text.split("\n## ")[1:])

    return made


def notes_from(file: str, names: Mapping[str, Any]) -> Callable[[RunResults], tuple[str, ...]]:
    """Return the notes of a report's table, by notes.j2 next to its `file`, a paragraph each."""
    template = _template(file, "notes.j2")
    return lambda results: _paragraphs(template.render({**names, **_common(results)}))


def _template(file: str, name: str) -> Template:
    return _environment().from_string(Path(file).with_name(name).read_text("utf-8"))


def _common(results: RunResults) -> dict[str, Any]:
    bound = {name: partial(getattr(answers, name), results) for name in _OF_A_RUN}
    facts = {"results": results, "conditions": results.run.conditions, "figure": answers.figure}
    return {**bound, **facts, "listed": listed, "written": written, "spread": spread}


def _paragraphs(text: str) -> tuple[str, ...]:
    parts = (part.strip().replace("\n", " ") for part in re.split(r"\n{2,}", text))
    return tuple(filter(None, parts))


def _answer(results: RunResults, text: str, tables: list[tuple[ReportQuantity, ...]]) -> Answer:
    question, _, rest = text.partition("\n")
    parts = _paragraphs(rest)
    named = [tables[int(match[1])] for part in parts if (match := _TABLE.fullmatch(part))]
    paragraphs = tuple(part for part in parts if not _TABLE.fullmatch(part))
    facts = answers.facts(results, *named[0]) if named else ()
    return Answer(question, paragraphs or (_UNREAD,), facts)


@cache
def _environment() -> Environment:
    return Environment(
        undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, finalize=_shown
    )


def _shown(value: object) -> object:
    """Return lists as paragraphs, facts as their mark, and texts of a run in one line."""
    if isinstance(value, bytes):
        return f"\n\n{value.decode()}\n\n"
    if isinstance(value, list | tuple):
        return "\n\n".join(str(_shown(each)) for each in value)
    return value.replace("\n", " ").replace("\0", " ") if isinstance(value, str) else value


def law(file: str) -> Law:
    """Read the law in law.toml next to a module's `file`, which a report compares with runs."""
    content = law_file(Path(file).with_name("law.toml"))
    return Law(**{name: part for name, part in content.items() if not isinstance(part, dict)})


class Quantities(dict[str, ReportQuantity]):
    """The quantities of a report, and groups of them, from quantities.toml next to a `file`."""

    def __init__(self, file: str) -> None:
        content = toml_file(Path(file).with_name("quantities.toml"))
        self._groups = content.pop("group")
        super().__init__({name: quantity(**row) for name, row in content.items()})

    def group(self, name: str) -> tuple[ReportQuantity, ...]:
        return tuple(self[each] for each in self._groups[name])


def by_condition(
    results: RunResults, title: str, shown: Iterable[ReportQuantity], *notes: str
) -> Listing:
    """Return a listing with a row for each quantity, and a column for each condition."""
    conditions = results.run.conditions
    head = ("", *(answers.called(results, condition) for condition in conditions))
    rows = tuple(
        (each.scoped(results.run).title, *(spread(each.of(results, one)) for one in conditions))
        for each in shown
    )
    return Listing(title, head, rows, notes)


def law_texts(file: str, **values: object) -> tuple[str, tuple[str, ...]]:
    """Return caption and assumptions of a law, in law.toml, with these values in their braces."""
    report = law_file(Path(file).with_name("law.toml"))["report"]
    return report["caption"], tuple(text.format(**values) for text in report["assumptions"])


def even_shares(
    results: RunResults, law: Law, caption: str, assumptions: tuple[str, ...]
) -> LawComparison:
    """Compare the rate of each flow and repetition with an even share of the link."""
    even = _MBIT * payload_rate(path_of(results)) / len(results.run.flows)
    points = tuple(
        LawPoint(flow.flow.name, number, flow.goodput / 1000, even)
        for measured in results.measured
        for number, flow in enumerate(measured.flows, 1)
        if flow.goodput is not None
    )
    numbers = [point.x for point in points]
    line = LawLine("the law: an even share", [0.5, max(numbers, default=0) + 0.5], [even, even])
    graph = LawGraph(
        ("flow", "rate at its receiver (Mbit/s)"),
        (line,),
        (numbers, [point.measured for point in points]),
        tolerance=law.tolerance,
    )
    head = ("Flow", "Rate (Mbit/s)")
    return LawComparison(law, points, head, graph if points else None, caption, assumptions)
