"""Which run gives which published number: one target for each, from the CSVs in
analysis/published.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import analysis
from analysis.reporting.quantities import TRANSFER
from experiments.definition.profiles import DROPPER
from experiments.published.reasons import reason
from topologies.errors import UsageError

Row = dict[str, str]
_NO_MODULE = ((DROPPER, "98.44mbit"),)  # at 0 % the dropping module was not in the router
SHORT_FORMS = {
    "sack_loss_sweep": "Short form: 30 s for each loss rate instead of 300 s.",
    "cubic_vs_reno": "Short form: 120 s where 1800 s were published.",
    "wan_reordering": "Short form: 10 s for each case instead of 60 s.",
}
"""Where the short form of a study, `quick`, is not as long as the published one."""
_PUBLISHED = Path(analysis.__file__).parent / "published"


@dataclass(frozen=True)
class Target:
    """A published number and how ours is measured.

    `settings` make the point of `experiment`; `condition` is the name of today's condition, to
    which `_period` is added for the other. `metric` is a column of the sweep's rows, taken of
    `flow` or where that is empty of the run (the sum over flows where the metric is a flow's);
    `scale` brings it to `unit`. `x` and `series` place it in a plot. Where it is `captured`,
    `metric` is a key of analysis.measures.trial_measures and comes from the captures. `then` is
    what the network of this row had in the study's time, other than the profile's path says.
    """

    experiment: str
    where: str
    quantity: str
    unit: str
    published: float | None
    settings: tuple[tuple[str, str], ...]
    condition: str
    metric: str
    scale: float = 1.0
    flow: str = ""
    low: float | None = None
    high: float | None = None
    note: str = ""
    series: str = ""
    x: float | None = None
    why: str = ""
    captured: bool = False
    then: tuple[tuple[str, str], ...] = ()

    @property
    def period_condition(self) -> str:
        """The same condition under the profile of the study's time
        (experiments.definition.profiles).
        """
        return f"{self.condition}_period"


def published(name: str) -> list[Row]:
    """The rows of a published CSV."""
    with (_PUBLISHED / f"{name}.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def _number(text: str) -> float | None:
    return float(text) if text else None


def sack_table(_quick: bool) -> Iterator[Target]:
    """17 quantities of one transfer without and one with SACK; the server's line without SACK is
    not published.
    """
    measured = {quantity.name: quantity.key for quantity in TRANSFER}
    for row in published("mininet_2014_sack"):
        for condition, word in (("sack_off", "off"), ("sack_on", "on")):
            if row[condition]:
                yield Target(
                    "sack",
                    f"SACK {word}",
                    row["quantity"],
                    row["unit"],
                    float(row[condition]),
                    (("duration", "10s"),),
                    condition,
                    measured[row["quantity"]],
                    captured=True,
                    series=f"SACK {word}",
                )


def loss_sweep(quick: bool) -> Iterator[Target]:
    """The average rate at each of 28 loss rates, without and with SACK, with the slowest and
    fastest second.
    """
    duration = "30s" if quick else "300s"
    for row in published("davids_2017_sack_loss_sweep"):
        word, loss = ("on" if row["sack"] == "1" else "off"), f"{row['netem_loss_percent']}%"
        yield Target(
            "sack_loss_sweep",
            f"SACK {word}, loss {loss}",
            "average rate",
            "Mbit/s",
            float(row["avg_mbit_s"]),
            (("loss", loss), ("duration", duration)),
            f"sack_{word}",
            "mean_second_kbit_s",
            1e-3,
            note=(
                f"seconds from {row['min_mbit_s']} to {row['max_mbit_s']}; "
                f"{row['measured_retransmission_percent']} % of segments sent again"
            ),
            series=f"SACK {word}",
            x=float(row["netem_loss_percent"]),
        )


def dropper(quick: bool) -> Iterator[Target]:
    """The mean of ten times for 100 000 requests at each of 8 shares dropped."""
    for row in published("packet_dropper"):
        times = [float(row[f"elapsed_s_{number}"]) for number in range(1, 11)]
        yield Target(
            "packet_dropper",
            f"{row['drop_percent']} % dropped",
            "elapsed time",
            "s",
            float(row["elapsed_avg_s"]),
            (("loss", f"{row['drop_percent']}%"),),
            "dropping",
            "client_seconds",
            then=() if float(row["drop_percent"]) else _NO_MODULE,
            low=min(times),
            high=max(times),
            series="elapsed",
            x=float(row["drop_percent"]),
        )


def wan(quick: bool) -> Iterator[Target]:
    """The sender's rate in the baseline and nine cases of reordering, each run as a row."""
    for row in published("esnet_2015_reordering"):
        case = "baseline" if row["test_case"] == "0" else row["test_case"]
        where = f"case {case}, run {row['run']}" if case != "baseline" else "baseline"
        yield Target(
            "wan_reordering",
            where,
            "rate at the sender",
            "Mbit/s",
            float(row["sender_mbit_s"]),
            (("case", case), ("duration", "10s" if quick else "60s")),
            "reordering",
            "client_kbit_s",
            1e-3,
            note=f"{row['retransmissions']} segments sent again",
            series="published",
        )


def assignment(quick: bool) -> Iterator[Target]:
    """All rows of the TCP assignment; the name of its section decides on the experiment."""
    for row in published("geni_tcp_assignment"):
        yield _SECTIONS[row["section"]](row, quick)


def _assigned(
    row: Row, experiment: str, settings: dict[str, str], condition: str, flow: str = ""
) -> Target:
    where = (
        f"section {row['section']}: {row['condition']}, {row['congestion_control']},"
        f" {_streams(row)}"
    )
    repeat = f", run {row['repeat']}" if row["section"] == "3.4" else ""
    metric = "client_kbit_s" if row["flow"] == "tcp" else "goodput_kbit_s"
    return Target(
        experiment,
        f"{where}, {row['duration_s']} s{repeat}",
        "rate",
        "Mbit/s",
        _number(row["reported_mbit_s"]),
        tuple(settings.items()),
        condition,
        metric,
        1e-3,
        note=row["note"],
        flow=flow,
    )


def _streams(row: Row) -> str:
    return "1 stream" if row["streams"] == "1" else f"{row['streams']} streams"


def _seconds(row: Row, quick: bool) -> str:
    """Half an hour takes two minutes in short: far longer than slow start."""
    return "120s" if quick and row["duration_s"] == "1800" else f"{row['duration_s']}s"


def _path(text: str) -> dict[str, str]:
    """`300 ms delay and 5 % loss` as settings."""
    delay, loss = re.search(r"(\d+) ms delay", text), re.search(r"(\d+) % loss", text)
    return ({"delay": f"{delay[1]}ms"} if delay else {}) | ({"loss": f"{loss[1]}%"} if loss else {})


def _congestion_control(row: Row, quick: bool) -> Target:
    cc = row["congestion_control"]
    settings = _path(row["condition"]) | {
        "cc": cc,
        "streams": row["streams"],
        "duration": _seconds(row, quick),
    }
    return _assigned(row, "cubic_vs_reno", settings, cc)


def _fairness(row: Row, quick: bool) -> Target:
    queueing = "sfq" if "sfq" in row["condition"] else "fifo"
    settings = {"queueing": queueing, "duration": _seconds(row, quick)}
    flow = "udp" if row["flow"] == "udp" else "tcp*"
    return _assigned(row, "udp_fairness", settings, "together", flow=flow)


def _reordering(row: Row, quick: bool) -> Target:
    varied, threshold = (
        "75 ms" in row["condition"],
        re.search(r"tcp_reordering=(\S+)", row["condition"]),
    )
    value = (
        {"10^14": "2147483647", "10^15": "2147483647"}.get(threshold[1], threshold[1])
        if threshold
        else "3"
    )
    settings = {
        "cc": row["congestion_control"],
        "jitter": "75ms" if varied else "0s",
        "threshold": value,
        "duration": _seconds(row, quick),
    }
    return _assigned(row, "reordering", settings, row["congestion_control"])


def _sack(row: Row, quick: bool) -> Target:
    off = "without SACK" in row["condition"]
    settings = {
        "cc": "cubic",
        "sack": "off" if off else "on",
        "loss": "10%",
        "duration": _seconds(row, quick),
    }
    return _assigned(row, "cubic_vs_reno", settings, "cubic_sack_off" if off else "cubic")


def _own(row: Row, quick: bool) -> Target:
    cc = row["congestion_control"]
    settings = {"delay": "0s", "loss": "0%"} | _path(row["condition"])
    settings |= {"cc": cc, "streams": row["streams"], "duration": _seconds(row, quick)}
    return _assigned(row, "custom_cc", settings, cc)


_SECTIONS = {
    "3.1": _congestion_control,
    "3.2": _fairness,
    "3.3": _reordering,
    "3.4": _sack,
    "3.5": _own,
}


@cache
def targets(quick: bool) -> tuple[Target, ...]:
    """Every target: all published numbers."""
    every = (
        *sack_table(quick),
        *loss_sweep(quick),
        *assignment(quick),
        *wan(quick),
        *dropper(quick),
    )
    rows = ((one, f"{one.where}: {one.quantity}") for one in _with_repetitions(every))
    return tuple(replace(one, why=one.why or reason(one.experiment, row)) for one, row in rows)


def _with_repetitions(found: Sequence[Target]) -> Iterator[Target]:
    """Where the same was measured several times and each is a row: the range of all of them in
    each.
    """
    groups: dict[object, list[float]] = {}
    for target in found:
        if target.published is not None:
            groups.setdefault(_measured(target), []).append(target.published)
    for target in found:
        values = groups.get(_measured(target), [])
        yield replace(target, low=min(values), high=max(values)) if len(values) > 1 else target


def _measured(target: Target) -> object:
    return target.experiment, target.settings, target.condition, target.metric, target.flow


def chosen(quick: bool, names: Sequence[str]) -> list[Target]:
    """The targets of these experiments, or all. Raises UsageError for one that has none."""
    every = targets(quick)
    known = list(dict.fromkeys(target.experiment for target in every))
    if unknown := [name for name in names if name not in known]:
        raise UsageError(
            f"No published study is named '{unknown[0][:40]}'.", f"There are {', '.join(known)}."
        )
    return [target for target in every if not names or target.experiment in names]
