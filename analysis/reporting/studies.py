"""Report of a study: its module `report` has it as `REPORT`; the plain report is for all others.

Answers may come from a template, answers.j2 next to the module. A question is a line that begins
with `## `; a blank line ends a paragraph, of which lines are joined. `facts(...)` names the
quantities of an answer's table. A template has the names of the report's module, `results`,
`conditions`, and the functions of analysis.reporting.answers without their argument `results`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, StrictUndefined, Template
from msgspec import structs

from analysis.flows.columns import table_rows
from analysis.fmt import NOTHING, listed, spread, written
from analysis.graphs.layers import GraphGroup
from analysis.measures.expressions import parse
from analysis.measures.metrics import metric
from analysis.measures.results import RunResults, expressions
from analysis.measures.selection import RunFacts
from analysis.records.json_reader import Problems
from analysis.records.run_directory import RunRecord
from analysis.records.spec_file import RunCondition
from analysis.reporting import answers, run_graphs
from analysis.reporting.answers import Answer, claim_of_run
from analysis.reporting.tables import Listing, Q, ReportQuantity, ReportTable, build_row
from analysis.statistics.claims import ClaimVerdict
from topologies.units import Duration

if TYPE_CHECKING:
    from analysis.reporting.effects import MakeEffect, MakeListings


_OF_A_RUN = ("called", "causes", "each", "middle", "more_repetitions", "parameter", "ratios")
_TABLE = re.compile(r"\0(\d+)")
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


def plain_table(results: RunResults) -> ReportTable:
    """Return all quantities that were measured, without published values."""
    labels = tuple(condition.label for condition in results.run.conditions)
    flow, several = results.run.flow, Q.group("FLOWS") if len(results.run.flows) > 1 else ()
    # A UDP sender has no counters of TCP.
    counted = (Q["DATAGRAMS_LOST"], Q["JITTER"]) if flow.protocol == "udp" else Q.group("KERNEL")
    of_flow = [
        replace(quantity, source=quantity.source.replace("flow1", flow.name))
        for quantity in (*Q.group("TRANSFER"), *counted)
    ]
    quantities = (*several, *of_flow, *Q.group("ROUND_TRIPS"), *Q.group("CAUSES"))
    rows = (build_row(results, quantity, None) for quantity in quantities)
    measured = tuple(row for row in rows if set(row.ours) != {NOTHING})
    title = f"What was measured: all flows, then {flow.name}" if several else "What was measured"
    return ReportTable(title, labels, measured, ())


GOODPUT = ReportQuantity(
    "Goodput of all flows", "kbit/s", metric("flows.total"), "last lines of all .server.txt"
)


plain_answers = answers_from(__file__, {**Q, "Q": Q, "GOODPUT": GOODPUT})
"""Returns the answers to the questions of any run, as far as it has measurements."""


@dataclass(frozen=True)
class StudyReport:
    """Functions from an experiment's results to its tables, graphs and answers.

    `verdict` is by default that of the spec's headline. Of `listings` and `graphs` the clearest
    comes first. `effect` leads the page and `short` the terminal; both have a default if empty.
    The last two are for a sweep's page.
    """

    verdict: Callable[[RunResults], ClaimVerdict | None] = claim_of_run
    table: Callable[[RunResults], ReportTable] = plain_table
    answers: Callable[[RunResults], tuple[Answer, ...]] = plain_answers
    listings: Callable[[RunResults], tuple[Listing, ...]] = lambda _: ()
    graphs: Callable[[RunResults], list[GraphGroup]] = run_graphs.all_graphs
    short: tuple[ReportQuantity, ...] = ()
    effect: Callable[[RunResults], str] = lambda _: ""
    sweep_listings: MakeListings | None = None
    sweep_effect: MakeEffect | None = None


ReportOf = Callable[[str], StudyReport]
"""Returns the report of the study of a name: who starts the analysis passes it in."""


def plain(_experiment: str) -> StudyReport:
    return StudyReport()


def with_metrics(run: RunRecord, texts: Sequence[str]) -> RunRecord:
    """Return the run with these metrics too. Raises UsageError, UnknownMetric."""
    if not texts:
        return run
    ends = [
        Duration.parse(flow.start).seconds + Duration.parse(flow.duration).seconds
        for flow in run.flows
        if flow.duration
    ]
    network, end = run.spec.topology.network(), max(ends, default=inf)
    facts = RunFacts(run.flows, run.conditions, network, run.captures, end)
    for text in texts:
        facts.require(parse(text))
    metrics = tuple(dict.fromkeys((*run.spec.metrics, *texts)))
    return replace(run, spec=structs.replace(run.spec, metrics=metrics))


def expressions_of(results: RunResults) -> tuple[ReportQuantity, ...]:
    metrics = [each.metric for each in expressions(results.run, Problems())]
    return tuple(ReportQuantity(each.title, each.unit, each, each.source) for each in metrics)


def with_rows(table: ReportTable, results: RunResults) -> ReportTable:
    rows = (build_row(results, quantity, None) for quantity in expressions_of(results))
    return replace(table, rows=(*rows, *table.rows))


_SETTINGS = {row["parameter"]: row for row in table_rows(Path(__file__).with_name("settings.csv"))}
"""Words around a parameter's value; a value that is usual is not shown."""
_OF_MANY = ("spread", "processing")


def setting_words(parameters: Mapping[str, str]) -> list[tuple[str, str, str]]:
    """Return each setting as the words before its value, the value, and the words after it."""
    is_alone = parameters.get("streams") == "1" and parameters.get("beside") in (None, "none")
    shown = []
    for name, value in parameters.items():
        row = _SETTINGS.get(name, {"words": f"{name} {{}}", "usual": ""})
        if value and value != row["usual"] and not (is_alone and name in _OF_MANY):
            before, _, after = row["words"].partition("{}")
            shown.append((before, value, after))
    return shown
