"""Tables of quantities, published and measured, in the original's units."""

import csv
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

from analysis.fmt import MINUS, NOTHING, spread, with_unit
from analysis.measures.metrics import Metric, metric
from analysis.measures.results import RunResults
from analysis.records.run_directory import RunRecord
from analysis.records.spec_file import RunCondition


def published_rows(file: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(file.read_text(encoding="utf-8").splitlines()))


@dataclass(frozen=True)
class ReportQuantity:
    """A row's name, unit, metric and source; a `total` grows with the time of a flow."""

    name: str
    unit: str
    key: Metric
    source: str
    total: bool = False
    scale: float = 1.0

    @property
    def title(self) -> str:
        return with_unit(self.name, self.unit)

    def scoped(self, run: RunRecord) -> "ReportQuantity":
        """Return the quantity with its scope in its name, if the run has several flows."""
        scope = self.key.scope
        subject = scope.removeprefix("all ").removesuffix("s")
        if len(run.flows) < 2 or not scope or subject in self.name.lower():
            return self
        words = {"flow": run.flow.name, "host": run.flow.sender, "port": "busiest port"}
        return replace(self, name=f"{self.name}, {words.get(scope, scope)}")

    def of(self, results: RunResults, condition: RunCondition) -> list[float]:
        """Return the values under `condition` in `unit`, one per seed that has one."""
        return [self.scale * value for value in results.values(self.key, condition)]

    def pairs(
        self, results: RunResults, conditions: Sequence[RunCondition]
    ) -> list[tuple[float, ...]]:
        """Return the values in `unit` of each seed that has one under every condition."""
        return [
            tuple(self.scale * value for value in row)
            for row in results.pairs(self.key, conditions)
        ]


@dataclass(frozen=True)
class Published:
    """A published quantity by condition; a condition that was not published has no entry."""

    unit: str
    values: dict[str, float]


@dataclass(frozen=True)
class TableRow:
    """One row as text, a cell per condition; the last two are empty without published values."""

    name: str
    unit: str
    source: str
    ours: tuple[str, ...]
    published: tuple[str, ...] = ()
    differences: tuple[str, ...] = ()


@dataclass(frozen=True)
class ReportTable:
    """Rows under the `conditions`' labels; `notes` say what a reader must know to compare."""

    title: str
    conditions: tuple[str, ...]
    rows: tuple[TableRow, ...]
    notes: tuple[str, ...]

    @property
    def compares(self) -> bool:
        return any(row.published for row in self.rows)


@dataclass(frozen=True)
class Listing:
    """A table of any form: rows as long as its `head`, all as text."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()


def read_published(file: Path) -> dict[str, Published]:
    """Return the published figures of a file with a column for each condition, by quantity."""
    rows = published_rows(file)
    about = {"quantity", "unit", "source", "metric"}
    return {
        row["quantity"]: Published(
            row["unit"], {name: float(row[name]) for name in row if name not in about and row[name]}
        )
        for row in rows
    }


def build_row(
    results: RunResults, quantity: ReportQuantity, published: Published | None
) -> TableRow:
    """Return one row; without `published` it holds measured values alone."""
    conditions, scoped = results.run.conditions, quantity.scoped(results.run)
    values = [quantity.of(results, condition) for condition in conditions]
    ours = tuple(map(spread, values))
    if published is None:
        return TableRow(scoped.name, quantity.unit, quantity.source, ours)
    theirs = [published.values.get(condition.name) for condition in conditions]
    cells = tuple(NOTHING if figure is None else spread([figure]) for figure in theirs)
    mark = "†" if quantity.total else ""
    differences = tuple(
        _difference(original, measured, mark)
        for original, measured in zip(theirs, values, strict=True)
    )
    return TableRow(scoped.name, quantity.unit, quantity.source, ours, cells, differences)


def _difference(published: float | None, ours: Sequence[float], mark: str) -> str:
    if not (published and ours):
        return NOTHING
    return f"{100 * (median(ours) / published - 1):+.0f} %{mark}".replace("-", MINUS)


def quantity(
    key: str, name: str = "", unit: str | None = None, scale: float = 1.0
) -> ReportQuantity:
    """Return a metric's quantity, named as it is unless told otherwise. Raises UnknownMetric."""
    each = metric(key)
    source = each.source.replace("FLOW", "flow1")
    return ReportQuantity(
        name or each.title, each.unit if unit is None else unit, each, source, each.total, scale
    )


TRANSFER = (
    quantity("client.rate"),
    quantity("client.transfer"),
    quantity("client.interval"),
    quantity("server.rate", "iperf server"),
    *(
        quantity(f"receiver.{column}")
        for column in (
            "both.total_packets",
            "total_packets",
            "back.total_packets",
            "unique_bytes_sent",
            "actual_data_bytes",
            "rexmt_data_pkts",
            "rexmt_data_bytes",
            "outoforder_pkts",
            "back.max_win_adv",
            "initial_window_bytes",
            "data_xmit_time",
            "idletime_max",
            "throughput",
        )
    ),
)
"""The rows of the published SACK experiment by its own names; a->b is towards the receiver."""

FLOWS = tuple(quantity(f"flows.{name}") for name in ("total", "least", "most", "jain"))
THROUGHPUT = quantity("server.rate")
ROUND_TRIPS = (
    TRIP := quantity("trips.typical"),
    LEAST_TRIP := quantity("trips.least"),
    WAITING := quantity("trips.above_least"),
)
CAUSES = (
    DROPPED_AT_RANDOM := quantity("drops.random", unit=""),
    DROPPED_FULL := quantity("drops.full_queue", unit=""),
    DROPPED_MANAGED := quantity("drops.active_queue_management", unit=""),
    DROPPED_IN_HOSTS := quantity("drops.hosts", unit=""),
)
DATAGRAMS_LOST, JITTER = quantity("metric.udp_lost_percent"), quantity("metric.udp_jitter_ms")
RESENT, ALL_TIMEOUTS = quantity("metric.resent_percent"), quantity("metric.timeouts")
SENT_AGAIN = quantity("sender.rexmt_data_pkts", "The same, counted in the sender's capture", "")
NEEDLESS = quantity(
    "receiver.rexmt_data_pkts", "Needless copies: data that the receiver had already"
)
UNIQUE = quantity("sender.unique_bytes_sent", "Unique bytes")
ALL_BYTES = quantity("sender.actual_data_bytes", "Bytes sent, repeats included")
LOST, LOSS_SHARE = quantity("path.lost", unit=""), quantity("path.share")
DROP_SHARE = quantity("path.drop_share")
PAUSES, PAUSED, LONGEST = (quantity(f"pauses.{name}") for name in ("count", "total", "longest"))
IDLE = quantity("sender.idletime_max", "Longest idle time")
KERNEL = (
    RETRANSMISSIONS := quantity("nstat.TcpRetransSegs", "Retransmitted segments"),
    TIMEOUTS := quantity("nstat.TcpExtTCPTimeouts", "Retransmission time-outs"),
    SPURIOUS := quantity("nstat.TcpExtTCPSpuriousRTOs", "Time-outs found to be needless (F-RTO)"),
    RENO := quantity("nstat.TcpExtTCPRenoRecovery", "Fast recoveries by counting duplicate ACKs"),
    SACK := quantity("nstat.TcpExtTCPSackRecovery", "Fast recoveries by SACK"),
    RENO_FAILED := quantity(
        "nstat.TcpExtTCPRenoRecoveryFail", "Recoveries of the first kind that ended in a time-out"
    ),
    SACK_FAILED := quantity(
        "nstat.TcpExtTCPSackRecoveryFail", "Recoveries by SACK that ended in a time-out"
    ),
    FAST := quantity("nstat.TcpExtTCPFastRetrans", "Retransmissions in fast recovery"),
    SLOW := quantity(
        "nstat.TcpExtTCPSlowStartRetrans", "Retransmissions in slow start, after a time-out"
    ),
    LOST_AGAIN := quantity(
        "nstat.TcpExtTCPLostRetransmit",
        "Retransmissions that were lost again, as the kernel noticed",
    ),
    PROBES := quantity("nstat.TcpExtTCPLossProbes", "Tail loss probes"),
)
"""The kernel's counters of TCP's recovery."""
