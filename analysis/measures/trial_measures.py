"""The measures of one trial, each with its unit and with the file and field that it was read
from.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from analysis.measures import arrival_order, flow_measures, trial_captures
from analysis.measures.flow_measures import FlowMeasures
from analysis.measures.trial_captures import End
from analysis.records import counters, iperf, socket_samples
from analysis.records.jsonfile import Object, inner, read_object, text, why_not
from analysis.records.problems import Problems
from analysis.records.run_directory import RunRecord, Trial, run_of
from topologies import untrusted
from topologies.errors import TcplabError

if TYPE_CHECKING:
    from polars import DataFrame

PAUSE = 0.25
"""Seconds without a data segment that count as a pause: more than the published path's round trip
of 80 ms, and less than that and the kernel's least retransmission time-out (200 ms) together.
"""


@dataclass(frozen=True)
class Measured:
    """A trial with its `values` by key; what could not be read has no key. Times of samples are
    seconds since 1970.

    Keys: `client.*` and `server.*` (iperf: rate in kbit/s, transfer in KByte, interval in s),
    `nstat.*` (the sender's counters), `receiver.*` and `sender.*` (tcptrace's columns for the
    data direction in that host's capture), `receiver.back.*` (its columns for the ACKs),
    `path.*` (the port's counters), `pauses.*` (s), and those of all flows (every_flow.values_of)
    and of the order of packets (order.values_of). Only where it is drawn it has the packets:
    those that came `late` (order.late), and the captures at the `ends`, the sender's first.
    """

    trial: Trial
    values: dict[str, float]
    flows: tuple[FlowMeasures, ...]
    late: DataFrame | None = None
    ends: tuple[End, ...] = ()

    @property
    def samples(self) -> tuple[socket_samples.SocketSample, ...]:
        """Those of the first flow's socket."""
        return self.flows[0].samples if self.flows else ()


def measure(run: RunRecord, trial: Trial, problems: Problems, draw: bool) -> Measured:
    """All that `trial`'s files tell; with `draw` also what the graphs need."""
    flows = flow_measures.read_flows(run, trial, problems, draw)
    values = (
        _iperf(run, trial, problems)
        | _counters(run, trial, problems)
        | flow_measures.values_of(flows)
    )
    hosts = {"sender": run.flow.sender, "receiver": run.flow.receiver}
    found = {
        role: trial_captures.read_end(run, trial, role, host, problems)
        for role, host in hosts.items()
    }
    for end in found.values():
        values |= end.values() if end else ()
    sender, receiver = found["sender"], found["receiver"]
    values |= _pauses(sender.data) if sender else {}
    arrived = arrival_order.order(sender, receiver) if sender and receiver else None
    values |= {} if arrived is None else arrival_order.values_of(arrived)
    if not draw:
        return Measured(trial, values, flows)
    late = None if arrived is None else arrival_order.late(arrived)
    return Measured(trial, values, flows, late, tuple(end for end in found.values() if end))


def measure_raw(raw: Path, spec: Object) -> dict[tuple[str, str], dict[str, float]]:
    """The values of each condition whose raw files are in `raw`, by condition and flow: what a
    sweep measures.

    Raises TcplabError where a condition's captures gave nothing.
    """
    run, problems = run_of(raw, spec), Problems()
    found = [measure(run, trial, problems, draw=False) for trial in run.trials]
    if not all(any(key.startswith("receiver.") for key in one.values) for one in found):
        raise TcplabError(
            " ".join(problems.found), "Run the experiment alone and look at its report."
        )
    return {(one.trial.condition.name, run.flow.name): one.values for one in found}


def _iperf(run: RunRecord, trial: Trial, problems: Problems) -> dict[str, float]:
    values: dict[str, float] = {}
    for side in ("client", "server"):
        name = f"{run.flow.name}.{side}.txt"
        content = _read(trial, name, problems)
        said = (content or b"").decode(errors="replace")
        summary = iperf.read_summary(iperf.sent_part(said) if side == "client" else said)
        if summary:
            rows = {"rate": summary.rate, "transfer": summary.transfer, "interval": summary.seconds}
            values |= {f"{side}.{key}": value for key, value in rows.items()}
        elif content is not None:
            problems.add(f"{trial.name}/{name} holds no iperf summary: its throughput is left out.")
    return values


def _counters(run: RunRecord, trial: Trial, problems: Problems) -> dict[str, float]:
    nstat = read_object(trial.folder / "counters.json", problems, f"{trial.name}/counters.json")
    values = {
        f"nstat.{name}": value for name, value in counters.growth(nstat, run.flow.sender).items()
    }
    port = counters.data_port(
        read_object(trial.folder / "qdiscs.json", problems, f"{trial.name}/qdiscs.json")
    )
    if (
        port and text(inner(run.spec, "topology"), "segmentation") != "on"
    ):  # else netem and tc count different things
        values |= {
            "path.lost": port.lost,
            "path.dropped": port.dropped,
            "path.share": 100 * port.share,
        }
    return values


def _pauses(data: DataFrame) -> dict[str, float]:
    if not data.height:
        return {}
    gaps = trial_captures.pauses(data, PAUSE)
    return {
        "pauses.count": len(gaps),
        "pauses.total": sum(gaps),
        "pauses.longest": max(gaps, default=0.0),
        "sender.resent": trial_captures.resent(data),
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
