"""Answers from a template: answers.j2 next to a study's report.

A question is a line that begins with `## `; a blank line ends a paragraph, of which lines are
joined. `facts(...)` names the quantities of an answer's table. A template has the names of the
report's module, `results`, `conditions`, and the functions of analysis.reporting.answers without
their argument `results`.
"""

import re
from collections.abc import Callable, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any

from jinja2 import Environment, StrictUndefined, Template

from analysis.fmt import listed, spread, written
from analysis.measures.results import RunResults
from analysis.records.spec_file import RunCondition
from analysis.reporting import answers
from analysis.reporting.answers import Answer
from analysis.reporting.tables import ReportQuantity

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
