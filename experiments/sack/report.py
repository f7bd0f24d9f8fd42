"""SACK off against SACK on, next to the figures published in 2014."""

from contextlib import suppress
from pathlib import Path
from statistics import median

from analysis.fmt import NOTHING, spread, written
from analysis.measures.metrics import PAUSE, metric
from analysis.measures.results import RunResults
from analysis.reporting import studies
from analysis.reporting.answers import Answer
from analysis.reporting.studies import StudyReport, answers_from, notes_from
from analysis.reporting.tables import Q as q
from analysis.reporting.tables import ReportQuantity, ReportTable, build_row, read_published
from topologies.errors import UsageError
from topologies.units import Duration, Quantity, Rate, Share, Size

Pair = tuple[float, float]  # a value with SACK off and one with SACK on, under one seed
CONDITIONS = ("sack_off", "sack_on")
PUBLISHED_PATH: dict[str, Quantity] = {
    "bw": Rate.parse("1mbit"),
    "delay": Duration.parse("40ms"),
    "loss": Share.parse("10%"),
    "window": Size.parse("128KiB"),
    "jitter": Duration.parse("0s"),
}
"""Parameters of the published experiment."""
_PUBLISHED = Path(__file__).with_name("published.csv")
published_rates = read_published(_PUBLISHED)["iperf client"].values
PUBLISHED_SECONDS = 10  # duration of the published experiment, iperf's default


def is_sack(results: RunResults) -> bool:
    return tuple(condition.name for condition in results.run.conditions) == CONDITIONS


def repeats(sent: list[Pair], unique: list[Pair]) -> list[Pair]:
    """Return the share of repeats among the bytes sent, in percent."""
    rest = [(a[0] - b[0], a[1] - b[1]) for a, b in zip(sent, unique, strict=True)]
    return shares(rest, unique)


def shares(parts: list[Pair], others: list[Pair]) -> list[Pair]:
    """Return the share of each part in the sum with the other, in percent."""
    wholes = added(parts, others)
    return [
        (100 * part[0] / (whole[0] or 1), 100 * part[1] / (whole[1] or 1))
        for part, whole in zip(parts, wholes, strict=True)
    ]


def added(first: list[Pair], second: list[Pair]) -> list[Pair]:
    return [(a[0] + b[0], a[1] + b[1]) for a, b in zip(first, second, strict=True)]


def pairs(results: RunResults, quantity: ReportQuantity) -> list[Pair]:
    """Return a quantity with SACK off and on under each seed that has both."""
    rows = results.pairs(quantity.key, results.run.conditions[:2])
    return [(row[0], row[1]) for row in rows if len(row) == 2]


def medians(pairs: list[Pair]) -> Pair:
    return median(off for off, _ in pairs), median(on for _, on in pairs)


def from_to(pairs: list[Pair], unit: str = "") -> str:
    off, on = medians(pairs)
    return f"{written(off)}{unit} (SACK off) and {written(on)}{unit} (SACK on)"


def differing(parameters: dict[str, str]) -> list[str]:
    """Return the parameters that are not the published ones, or unreadable, as `name value`."""
    unlike = []
    for name, asked in PUBLISHED_PATH.items():
        value = parameters.get(name, "")
        with suppress(UsageError):
            if type(asked).parse(value) == asked:
                continue
        unlike.append(f"{name} {value or 'unknown'}")
    return unlike


def table(results: RunResults) -> ReportTable:
    """Return the published table, without published values for another path; else the plain one."""
    if not is_sack(results):
        return studies.plain_table(results)
    labels = tuple(condition.label for condition in results.run.conditions)
    unlike = differing(results.run.spec.parameters)
    published = {} if unlike else read_published(_PUBLISHED)
    rows = tuple(build_row(results, each, published.get(each.name)) for each in q.group("TRANSFER"))
    if unlike:
        note = (
            "The published figures are for another path and are left out. Different here:"
            f" {', '.join(unlike)}."
        )
        return ReportTable("What was measured", labels, rows, (note,))
    return ReportTable("Published in 2014, and measured here", labels, rows, _NOTES(results))


def factors(results: RunResults) -> list[float]:
    """Return how many times the throughput without SACK each seed has with it."""
    rates = results.pairs(metric("client.rate"), results.run.conditions)
    return [row[1] / row[0] for row in rates if row[0] > 0]


def _median(results: RunResults, key: str) -> float | None:
    conditions = results.run.conditions
    values = [value for each in conditions for value in results.values(metric(key), each)]
    return median(values) if values else None


def drawn_losses(results: RunResults) -> str:
    """Return the share of packets lost towards the receiver by condition; empty if unknown."""
    shares = {
        condition.label: spread(results.values(metric("path.share"), condition))
        for condition in results.run.conditions
    }
    if NOTHING in shares.values():
        return ""
    return ", ".join(f"{share} % ({label})" for label, share in shares.items())


_NOTES = notes_from(__file__, {**vars(), "median_of": _median})
_ANSWERS = answers_from(__file__, {**vars(), "pause": PAUSE})


def answers(results: RunResults) -> tuple[Answer, ...]:
    """Answer the assignment's questions; under other conditions those of any experiment."""
    return _ANSWERS(results) if is_sack(results) else studies.plain_answers(results)


REPORT = StudyReport(table=table, answers=answers)
