"""Parts of studies' reports: quantities, tables, and an even share of a link as law."""

from collections.abc import Iterable
from pathlib import Path

from analysis.fmt import spread
from analysis.measures.results import RunResults
from analysis.reporting import answers, laws
from analysis.reporting.tables import Listing, ReportQuantity
from experiments.study.published import law_file

_MBIT = 8e-6


def law(file: str) -> laws.Law:
    """Read the law in law.toml next to a module's `file`, which a report compares with runs."""
    content = law_file(Path(file).with_name("law.toml"))
    return laws.Law(**{name: part for name, part in content.items() if not isinstance(part, dict)})


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
    results: RunResults, law: laws.Law, caption: str, assumptions: tuple[str, ...]
) -> laws.LawComparison:
    """Compare the rate of each flow and repetition with an even share of the link."""
    even = _MBIT * laws.payload_rate(laws.path_of(results)) / len(results.run.flows)
    points = tuple(
        laws.LawPoint(flow.flow.name, number, flow.goodput / 1000, even)
        for measured in results.measured
        for number, flow in enumerate(measured.flows, 1)
        if flow.goodput is not None
    )
    numbers = [point.x for point in points]
    line = laws.LawLine(
        "the law: an even share", [0.5, max(numbers, default=0) + 0.5], [even, even]
    )
    graph = laws.LawGraph(
        ("flow", "rate at its receiver (Mbit/s)"),
        (line,),
        (numbers, [point.measured for point in points]),
        tolerance=law.tolerance,
    )
    head = ("Flow", "Rate (Mbit/s)")
    return laws.LawComparison(law, points, head, graph if points else None, caption, assumptions)
