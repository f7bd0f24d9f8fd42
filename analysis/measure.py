"""The measures of one trial, each with its unit and with the file and field that it was read from."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from analysis import capture, counters, every_flow, iperf, order, sockets, tcptrace, xplot
from analysis.every_flow import FlowMeasures
from analysis.jsonfile import Object, inner, read_object, text
from analysis.problems import Problems
from analysis.rundirectory import Run, Trial, run_of
from topologies.errors import TcplabError

PAUSE = 0.25
"""Seconds without a data segment that count as a pause: more than the published path's round trip of 80 ms, and
less than that and the kernel's least retransmission time-out (200 ms) together."""

TCPTRACE_COLUMNS = (
    "total_packets", "unique_bytes_sent", "actual_data_pkts", "actual_data_bytes", "rexmt_data_pkts",
    "rexmt_data_bytes", "outoforder_pkts", "initial_window_bytes", "data_xmit_time", "idletime_max", "throughput",
    "min_segm_size", "max_segm_size", "RTT_min", "RTT_avg", "RTT_max",
)  # fmt: skip


@dataclass(frozen=True)
class Drawn:
    """tcptrace's graphs of the data direction at the sender: RTT samples are (seconds since 1970, milliseconds)."""

    sequence: xplot.TimeSequence | None
    rtts: tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class Measured:
    """A trial with its `values` by key; what could not be read has no key. Times of samples are seconds since 1970.

    Keys: `client.*` and `server.*` (iperf: rate in kbit/s, transfer in KByte, interval in s), `nstat.*` (the
    sender's counters), `receiver.*` and `sender.*` (tcptrace's columns for the data direction in that host's
    capture), `receiver.back.*` (its columns for the ACKs), `path.*` (the port's counters), `pauses.*` (s), and those
    of all flows (every_flow.values_of) and of the order of packets (order.values_of; `late` only where it is drawn).
    """

    trial: Trial
    values: dict[str, float]
    flows: tuple[FlowMeasures, ...]
    late: tuple[order.Late, ...]
    sequence: xplot.TimeSequence | None
    rtts: tuple[tuple[float, float], ...]
    graphs: dict[str, str]

    @property
    def samples(self) -> tuple[sockets.Sample, ...]:
        """Those of the first flow's socket."""
        return self.flows[0].samples if self.flows else ()


def measure(run: Run, trial: Trial, problems: Problems, draw: bool) -> Measured:
    """All that `trial`'s files tell; with `draw` also what the graphs need."""
    flows = every_flow.read_flows(run, trial, problems, draw)
    values = _iperf(run, trial, problems) | _counters(run, trial, problems) | every_flow.values_of(flows)
    traces, data = {}, {}
    for role, host in (("sender", run.flow.sender), ("receiver", run.flow.receiver)):
        data[role] = _capture(run, trial, host, problems)
        traces[role] = _trace(run, trial, role, host, problems, draw)
        values |= _columns(traces[role], role, run.flow.port)
    arrived = order.order(data["sender"], data["receiver"])
    values |= _pauses(data["sender"]) | order.values_of(arrived)
    drawn = _drawn(traces["sender"], run, trial, problems)
    return Measured(
        trial, values, flows, arrived.late if draw else (), drawn.sequence, drawn.rtts, _graphs(run, traces)
    )


def measure_raw(raw: Path, spec: Object) -> dict[tuple[str, str], dict[str, float]]:
    """The values of each condition whose raw files are in `raw`, by condition and flow: what a sweep measures.

    Raises TcplabError where a condition's captures gave nothing, as without tcptrace.
    """
    run, problems = run_of(raw, spec), Problems()
    found = [measure(run, trial, problems, draw=False) for trial in run.trials]
    if not all(any(key.startswith("receiver.") for key in one.values) for one in found):
        raise TcplabError(" ".join(problems.found), "Run the experiment alone and look at its report.")
    return {(one.trial.condition.name, run.flow.name): one.values for one in found}


def _iperf(run: Run, trial: Trial, problems: Problems) -> dict[str, float]:
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


def _counters(run: Run, trial: Trial, problems: Problems) -> dict[str, float]:
    nstat = read_object(trial.folder / "counters.json", problems, f"{trial.name}/counters.json")
    values = {f"nstat.{name}": value for name, value in counters.growth(nstat, run.flow.sender).items()}
    port = counters.data_port(read_object(trial.folder / "qdiscs.json", problems, f"{trial.name}/qdiscs.json"))
    if port and text(inner(run.spec, "topology"), "segmentation") != "on":  # else netem and tc count different things
        values |= {"path.lost": port.lost, "path.dropped": port.dropped, "path.share": 100 * port.share}
    return values


def _capture(run: Run, trial: Trial, host: str, problems: Problems) -> list[capture.Segment]:
    """The data of the first flow that passed `host`; none without a capture there."""
    interface = run.capture_of(host)
    content = _read(trial, f"{interface}.pcap", problems) if interface else None
    if content is None:
        return []
    read = capture.read_capture(content)
    if read.fault:
        problems.add(f"{trial.name}/{interface}.pcap: {read.fault}. What precedes that is analysed; repeat the run.")
    return capture.data_towards(read, run.flow.port)


def _pauses(data: list[capture.Segment]) -> dict[str, float]:
    if not data:
        return {}
    gaps = capture.pauses(data, PAUSE)
    longest = max(gaps, default=0.0)
    return {
        "pauses.count": len(gaps),
        "pauses.total": sum(gaps),
        "pauses.longest": longest,
        "sender.resent": capture.resent(data),
    }


def _trace(run: Run, trial: Trial, role: str, host: str, problems: Problems, draw: bool) -> tcptrace.Trace | None:
    interface = run.capture_of(host)
    path = trial.folder / f"{interface}.pcap"
    if interface is None and run.captures:
        problems.add(f"spec.json names no capture at the {role}, {host}: tcptrace's columns for it are left out.")
    if interface is None or not path.is_file() or path.stat().st_size < 24:
        return None  # the problem is noted already, by whoever read the file
    try:
        found = tcptrace.trace(path, graphs=draw)
    except TcplabError as error:
        problems.add(str(error))
        return None
    _note_oddities(found, f"{trial.name}/{interface}.pcap", run.flow.port, problems)
    return found


def _note_oddities(found: tcptrace.Trace, name: str, port: int, problems: Problems) -> None:
    if found.fault:
        problems.add(f"{name}: tcptrace stopped early: {found.fault}.")
    count = len(found.towards(port))
    if count != 1:
        problems.add(f"{name}: tcptrace sees {count} connections at port {port}, not one.")


def _columns(trace: tcptrace.Trace | None, role: str, port: int) -> dict[str, float]:
    connections = trace.towards(port) if trace else []
    if not connections:
        return {}
    forward, back = connections[0].towards(port)
    values = {f"{role}.{column}": forward.number(column) for column in TCPTRACE_COLUMNS}
    values |= {f"{role}.back.{column}": back.number(column) for column in ("total_packets", "max_win_adv")}
    values[f"{role}.both.total_packets"] = connections[0].packets
    return {key: value for key, value in values.items() if value is not None}


def _plot(trace: tcptrace.Trace | None, kind: str, port: int) -> str:
    """tcptrace's graph of the data direction, or an empty text where it drew none."""
    connections = trace.towards(port) if trace else []
    return trace.graphs.get(connections[0].graph(kind, port), "") if trace and connections else ""


def _drawn(trace: tcptrace.Trace | None, run: Run, trial: Trial, problems: Problems) -> Drawn:
    sequence, rtts = _plot(trace, "tsg", run.flow.port), _plot(trace, "rtt", run.flow.port)
    try:
        meant = xplot.time_sequence(xplot.read_xplot(sequence)) if sequence else None
        return Drawn(meant, tuple(xplot.dots(xplot.read_xplot(rtts))))
    except ValueError as error:
        problems.add(f"{trial.name}: a graph of tcptrace does not parse ({error}): it is not drawn.")
        return Drawn(None, ())


def _graphs(run: Run, traces: dict[str, tcptrace.Trace | None]) -> dict[str, str]:
    names = {"a2b_tsg": "time_sequence", "a2b_rtt": "rtt"}
    hosts = {"sender": run.flow.sender, "receiver": run.flow.receiver}
    return {
        f"{run.capture_of(hosts[role])}.{names[name]}.xpl": content
        for role, trace in traces.items() if trace for name, content in trace.graphs.items() if name in names
    }  # fmt: skip


def _read(trial: Trial, name: str, problems: Problems) -> bytes | None:
    path: Path = trial.folder / name
    try:
        return path.read_bytes()
    except FileNotFoundError:
        problems.add(f"{trial.name}/{name} is missing: what it would have told is left out.")
    except OSError as error:
        problems.add(f"{trial.name}/{name} cannot be read ({error.strerror}): what it would have told is left out.")
    return None
