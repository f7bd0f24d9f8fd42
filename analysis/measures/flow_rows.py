"""The rows of a run: one for each condition and flow, by what iperf, sockets and qdiscs said.

They are computed where the run was made and are all that a sweep keeps of it, so captures are
not read here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean, median, quantiles
from typing import Any, Literal

from analysis.measures import metric_keys
from analysis.records import iperf, row_columns
from analysis.records.counters import CountersFile
from analysis.records.problems import Problems
from analysis.records.row_columns import METRICS, Metric, Row
from analysis.records.run_directory import RunFlow, RunRecord, Trial, run_of
from analysis.records.socket_samples import SocketSample
from analysis.records.trial_files import TrialFiles

Samples = Mapping[str, Mapping[str, Sequence[SocketSample]]]
"""The samples of sockets by the sending host and the receiver's port."""
Among = Literal["", "least", "most"]
"""Which of several flows is meant, by its value; empty for all of them."""
_Values = dict[Metric, float]

# A sender may notice reordering by SACK or DSACK, without SACK by the number of duplicate ACKs, or
# by timestamps.
_ORDER = {
    row_columns.REORDERINGS: (
        "TcpExtTCPSACKReorder",
        "TcpExtTCPRenoReorder",
        "TcpExtTCPTSReorder",
    ),
    row_columns.OUT_OF_ORDER: ("TcpExtTCPOFOQueue",),
    row_columns.DSACKS: ("TcpExtTCPDSACKRecv",),
}


def rows_of(raw: Path, spec: dict[str, Any]) -> list[Row]:
    """The rows of the run of one seed.

    Its raw files are in `raw` (a `raw/seed-N`), and `spec` is what spec.json holds.
    """
    run = run_of(raw, spec)
    return [row for trial in run.trials for row in rows_of_trial(run, trial)]


def rows_of_trial(run: RunRecord, trial: Trial, samples: Samples | None = None) -> Iterator[Row]:
    """The rows of one trial, a row for each flow. Raises ValueError for a broken file of samples.

    `samples` are those of every sender's sockets; without them the files are read.
    """
    senders = sorted({flow.sender for flow in run.flows})
    if samples is None:
        samples = {sender: trial.files.samples(sender) for sender in senders}
    measured = [
        _flow(trial.files, flow) | _socket(samples[flow.sender].get(str(flow.port), ()))
        for flow in run.flows
    ]
    of_run = _of_run(trial.files, senders, measured)
    if not run.counts_segments:
        of_run.pop(row_columns.LOST, None)
    for flow, of_flow in zip(run.flows, measured, strict=True):
        values = of_flow | of_run
        row: Row = {"condition": trial.condition.name, "flow": flow.name}
        yield row | {column.name: values.get(column) for column in METRICS}


def _flow(files: TrialFiles, flow: RunFlow) -> _Values:
    """What iperf's server and client said of the flow."""
    server, client = files.printed(flow.name, "server"), files.printed(flow.name, "client")
    values: _Values = {}
    if summary := iperf.read_summary(server):
        values |= {
            row_columns.GOODPUT: summary.rate,
            row_columns.TRANSFER: summary.transfer,
            row_columns.SECONDS: summary.seconds,
        }
    if datagrams := iperf.read_datagrams(server):
        values |= {
            row_columns.UDP_LOST: datagrams.share,
            row_columns.UDP_JITTER: datagrams.jitter,
        }
    if sent := iperf.read_summary(iperf.sent_part(client)):
        values |= {row_columns.SENDER_RATE: sent.rate, row_columns.SENDER_SECONDS: sent.seconds}
    if seconds := [interval.rate for interval in iperf.read_intervals(client)]:
        values |= {
            row_columns.MEAN_SECOND: fmean(seconds),
            row_columns.SLOWEST_SECOND: min(seconds),
            row_columns.FASTEST_SECOND: max(seconds),
        }
    return values


def _socket(samples: Sequence[SocketSample]) -> _Values:
    """Round-trip times and windows of the samples of a connection, and its totals at the end."""
    established = [sample for sample in samples if sample.rtt > 0]
    if not established or not established[-1].bytes_sent:
        return {}
    last, rtts = established[-1], [1000 * sample.rtt for sample in established]
    return {
        row_columns.RETRANSMITTED_BYTES: 100 * last.bytes_retrans / last.bytes_sent,
        row_columns.RETRANSMITTED_SEGMENTS: last.segments_retrans,
        row_columns.RTT_MEDIAN: median(rtts),
        row_columns.RTT_P95: quantiles(rtts, n=20)[-1] if len(rtts) > 1 else rtts[0],
        row_columns.CWND_MEDIAN: median(sample.cwnd for sample in established),
    }


def _of_run(files: TrialFiles, senders: Sequence[str], flows: Sequence[_Values]) -> _Values:
    problems = Problems()  # whoever reads the trial tells them
    nstat = files.counters(problems)
    grown = [nstat.growth(host) for host in senders]
    rates = [flow[row_columns.GOODPUT] for flow in flows if row_columns.GOODPUT in flow]
    all_known = len(rates) == len(flows)
    return {
        **_timeouts(grown),
        **_retransmitted(grown),
        **_of_ports(files, problems),
        **_reordering(files, nstat),
        **({row_columns.TOTAL_GOODPUT: sum(rates)} if all_known else {}),
        **({row_columns.JAIN_INDEX: jain(rates)} if all_known and any(rates) else {}),
    }


def _sum(grown: Sequence[Mapping[str, float]], counter: str) -> float:
    return sum(host.get(counter, 0.0) for host in grown)


def _timeouts(grown: Sequence[Mapping[str, float]]) -> _Values:
    """Nothing if a kernel counts but a part of them (CountersFile.on_kernel)."""
    name = "TcpExtTCPTimeouts"
    return {row_columns.TIMEOUTS: _sum(grown, name)} if all(name in host for host in grown) else {}


def _retransmitted(grown: Sequence[Mapping[str, float]]) -> _Values:
    sent = _sum(grown, "TcpOutSegs")
    share = 100 * _sum(grown, "TcpRetransSegs") / sent if sent else None
    return {} if share is None else {row_columns.RETRANSMITTED_SHARE: share}


def _of_ports(files: TrialFiles, problems: Problems) -> _Values:
    qdiscs = files.qdiscs(problems)
    ports = [qdiscs.port_loss(port) for port in qdiscs.after]
    offered = sum(port.lost + port.dropped + port.passed for port in ports)
    drops: _Values = {row_columns.QUEUE_DROPS: sum(port.dropped for port in ports)}
    if not offered:
        return drops
    return drops | {row_columns.LOST: 100 * sum(port.lost for port in ports) / offered}


def _reordering(files: TrialFiles, nstat: CountersFile) -> _Values:
    """What TCP's counters of all hosts say of the order of segments, and what hosts dropped."""
    grown = [nstat.growth(host) for host in nstat.after]
    values = {
        column: sum(_sum([host], name) for host in grown for name in names)
        for column, names in _ORDER.items()
    }
    hosts = files.reordering()
    if hosts is None:
        return values
    return values | {row_columns.HOST_DROPS: sum(map(hosts.host_drops, hosts.after))}


_SHARED = {
    column.name for column in (row_columns.GOODPUT, row_columns.SENDER_RATE, row_columns.TRANSFER)
}
_COLUMNS = {column.name for column in METRICS}
_EXTREMES: dict[str, Callable[[Sequence[float]], float]] = {"least": min, "most": max}


def value_of(rows: Iterable[Row], metric: str, flow: str = "", among: str = "") -> float | None:
    """A run's value: of one `flow`, or of those whose names begin so (`tcp*`), or of all if empty.

    `metric` is the name of a column, or of a measure if captures were read for the rows. Rates and
    amounts add up; of what does not the mean is meant; `among` takes the least or most instead.
    None if one of the flows has no value. Raises UnknownMetric.
    """
    if metric not in _COLUMNS:
        metric_keys.metric(metric)
    prefix = flow.removesuffix("*")
    values = [row.get(metric) for row in rows if str(row["flow"]).startswith(prefix)]
    numbers = [float(value) for value in values if value is not None]
    if not numbers or len(numbers) < len(values):
        return None
    if among in _EXTREMES:
        return _EXTREMES[among](numbers)
    return sum(numbers) if metric in _SHARED else fmean(numbers)


def jain(rates: list[float]) -> float:
    """Jain's fairness index: 1 for equal rates, 1/n if one of n has all.

    Jain, Chiu, Hawe: DEC-TR-301, 1984.
    """
    return fmean(rates) ** 2 / fmean(rate**2 for rate in rates)
