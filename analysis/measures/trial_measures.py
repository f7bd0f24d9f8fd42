"""The measures of one trial; analysis.measures.metric_keys declares them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from analysis.measures import arrival_order, drop_causes, flow_measures, metric_keys, trial_captures
from analysis.measures.flow_measures import FlowMeasures
from analysis.measures.metric_keys import MetricKey, MetricValues
from analysis.measures.trial_captures import End
from analysis.records import iperf, socket_samples
from analysis.records.json_reader import why_not
from analysis.records.problems import Problems
from analysis.records.run_directory import RunRecord, Trial, run_of
from analysis.tabular.column_table import ColumnTable
from topologies.foundation import untrusted
from topologies.foundation.errors import TcplabError


@dataclass(frozen=True)
class Measured:
    """A trial with its `values`; what could not be read has none.

    Only if it is drawn it has the packets: those that came `late` (arrival_order.late), and the
    captures at the `ends`, the sender's first.
    """

    trial: Trial
    values: MetricValues
    flows: tuple[FlowMeasures, ...]
    late: ColumnTable | None = None
    ends: tuple[End, ...] = ()

    def value(self, key: MetricKey) -> float | None:
        """The value, or None if there is none. Raises TypeError for anything but a MetricKey."""
        if not isinstance(key, MetricKey):
            raise TypeError(f"{key!r} is no MetricKey: analysis.measures.metric_keys has them.")
        return self.values.get(key)

    @property
    def by_name(self) -> dict[str, float]:
        """The values by the names of their keys, as sweeps and labs keep them."""
        return {key.name: value for key, value in self.values.items()}

    @property
    def samples(self) -> tuple[socket_samples.SocketSample, ...]:
        """Those of the first flow's socket, in seconds since 1970."""
        return self.flows[0].samples if self.flows else ()


def measure(run: RunRecord, trial: Trial, problems: Problems, draw: bool) -> Measured:
    """All that `trial`'s files tell; with `draw` also what the graphs need."""
    flows = flow_measures.read_flows(run, trial, problems, draw)
    values = _iperf(run, trial, problems) | _counters(run, trial, problems)
    values |= flow_measures.values_of(flows) | drop_causes.values_of(run, trial)
    sender = trial_captures.read_end(run, trial, "sender", run.flow.sender, problems)
    receiver = trial_captures.read_end(run, trial, "receiver", run.flow.receiver, problems)
    ends = tuple(end for end in (sender, receiver) if end)
    for end in ends:
        values |= end.values()
    values |= _pauses(sender.data) if sender else {}
    arrived = arrival_order.order(sender, receiver) if sender and receiver else None
    values |= {} if arrived is None else arrival_order.values_of(arrived)
    if not draw:
        return Measured(trial, values, flows)
    late = None if arrived is None else arrival_order.late(arrived)
    return Measured(trial, values, flows, late, ends)


def measure_raw(raw: Path, spec: dict[str, Any]) -> dict[tuple[str, str], dict[str, float]]:
    """What a sweep measures: values by name, of each condition and its first flow.

    The raw files are in `raw`; `spec` is what spec.json holds. Raises TcplabError if a condition's
    captures gave nothing.
    """
    run, problems = run_of(raw, spec), Problems()
    measured = [measure(run, trial, problems, draw=False) for trial in run.trials]
    if any(trial.value(metric_keys.RECEIVER.both_total_packets) is None for trial in measured):
        raise TcplabError(
            " ".join(problems.found), "Run the experiment alone and look at its report."
        )
    return {(trial.trial.condition.name, run.flow.name): trial.by_name for trial in measured}


def _iperf(run: RunRecord, trial: Trial, problems: Problems) -> dict[MetricKey, float]:
    client, server = (_summary(run, trial, side, problems) for side in ("client", "server"))
    values: dict[MetricKey, float] = {}
    if client:
        values |= {
            metric_keys.CLIENT_RATE: client.rate,
            metric_keys.CLIENT_TRANSFER: client.transfer,
            metric_keys.CLIENT_INTERVAL: client.seconds,
        }
    if server:
        values |= {
            metric_keys.SERVER_RATE: server.rate,
            metric_keys.SERVER_TRANSFER: server.transfer,
            metric_keys.SERVER_INTERVAL: server.seconds,
        }
    return values


def _summary(
    run: RunRecord, trial: Trial, side: str, problems: Problems
) -> iperf.IperfSummary | None:
    """What iperf's client or server printed at its end."""
    name = f"{run.flow.name}.{side}.txt"
    content = _read(trial, name, problems)
    output = (content or b"").decode(errors="replace")
    summary = iperf.read_summary(iperf.sent_part(output) if side == "client" else output)
    if summary is None and content is not None:
        problems.add(f"{trial.name}/{name} holds no iperf summary: its throughput is left out.")
    return summary


def _counters(run: RunRecord, trial: Trial, problems: Problems) -> dict[MetricKey, float]:
    grown = trial.files.counters(problems).growth(run.flow.sender)
    values = {metric_keys.counted(name): value for name, value in grown.items()}
    port = trial.files.qdiscs(problems).data_port()
    if port and run.counts_segments:  # else netem and tc count different things
        values |= {
            metric_keys.PATH_LOST: port.lost,
            metric_keys.PATH_DROPPED: port.dropped,
            metric_keys.PATH_SHARE: 100 * port.share,
        }
    return values


def _pauses(data: ColumnTable) -> dict[MetricKey, float]:
    if not len(data):
        return {}
    gaps = trial_captures.pauses(data, metric_keys.PAUSE)
    return {
        metric_keys.PAUSE_COUNT: len(gaps),
        metric_keys.PAUSE_TOTAL: sum(gaps),
        metric_keys.PAUSE_LONGEST: max(gaps, default=0.0),
        metric_keys.SENDER_RESENT: trial_captures.resent(data),
    }


def _read(trial: Trial, name: str, problems: Problems) -> bytes | None:
    try:
        return untrusted.content(trial.folder, name)
    except FileNotFoundError:
        problems.add(f"{trial.name}/{name} is missing: what it would have told is left out.")
    except (OSError, untrusted.StrangeFile) as error:
        problems.add(
            f"{trial.name}/{name} cannot be read ({why_not(error)}): what it would have told is"
            " left out."
        )
    return None
