"""Counts of a trial's kernels and tools next to its captures, in the order of trust.

First the sender's own count of retransmissions, then the bytes that the sending program
handed over, then the switch's drops and the duplicates that the receiver reported.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from analysis import flows
from analysis.flows.ends import MatchedConnection
from analysis.records import output
from analysis.records.json_reader import Problems
from analysis.records.run_directory import RunRecord, Trial
from analysis.records.spec_file import RunFlow
from analysis.records.trial_files import CountersFile
from tests.analysis.captures import match_captures

_PRINTED = 1.0  # percent: iperf prints three digits, and counts what the kernel still held back
_KBYTE = 1024


@dataclass(frozen=True)
class Truth:
    """One figure of `trial`: by the count of `source` and in the captures."""

    trial: str
    name: str
    source: str
    counted: float
    shown: float
    percent: float = 0.0  # the difference that is allowed

    @property
    def agrees(self) -> bool:
        larger = max(self.counted, self.shown)
        return abs(self.counted - self.shown) <= self.percent / 100 * larger


def truths(run: RunRecord, problems: Problems) -> tuple[Truth, ...]:
    """Compare every figure of every trial that has the files for it."""
    return tuple(truth for trial in run.trials for truth in _trial(run, trial, problems))


def _trial(run: RunRecord, trial: Trial, problems: Problems) -> Iterator[Truth]:
    nstat = trial.files.counters(problems)
    paths = [_capture(run, trial, host) for host in (run.flow.sender, run.flow.receiver)]
    hosts = {flow.sender for flow in run.flows} | {flow.receiver for flow in run.flows}
    if paths[0] is None or hosts != {run.flow.sender, run.flow.receiver}:
        return  # a host's counters cover all its flows, and only these two have captures
    near = flows.read(paths[0])
    yield from _sender(run, trial, nstat, near)
    yield from _bytes(run, trial, near)
    if paths[1] is not None:
        yield from _path(run, trial, problems, match_captures(paths[0], paths[1]))
        yield from _duplicates(run, trial, nstat, near, flows.read(paths[1]))


def _capture(run: RunRecord, trial: Trial, host: str) -> Path | None:
    interface = run.capture_of(host)
    path = trial.folder / f"{interface}.pcap"
    return path if interface and path.is_file() else None


def _sent(read: flows.Reading, port: int, column: str, back: bool = False) -> float:
    """Add up a column over all connections: towards `port`, or with `back` from it."""
    rows, total = read.connection_table, 0.0
    for side, towards in (
        ("port_b", "b2a" if back else "a2b"),
        ("port_a", "a2b" if back else "b2a"),
    ):
        at_port = rows.rows(rows[side].values == port)
        total += float(at_port[f"{column}_{towards}"].known.sum())
    return total


def _sender(
    run: RunRecord, trial: Trial, nstat: CountersFile, near: flows.Reading
) -> Iterator[Truth]:
    counted = nstat.growth(run.flow.sender)
    if "TcpOutSegs" not in counted:
        return
    shown = sum(
        _sent(near, flow.port, name)
        for flow in _ports(run)
        for name in ("retransmissions", "syns_again", "fins_again")
    )
    source = f"{run.flow.sender} TcpRetransSegs"
    yield Truth(
        trial.name, "segments retransmitted", source, counted.get("TcpRetransSegs", 0.0), shown
    )


def _ports(run: RunRecord) -> list[RunFlow]:
    return list({flow.port: flow for flow in run.flows}.values())


def _bytes(run: RunRecord, trial: Trial, near: flows.Reading) -> Iterator[Truth]:
    for flow in run.flows:
        name = f"{flow.name}.client.txt"
        summary = output.read_summary(trial.files.printed(flow.name, "client"))
        if summary and len(_ports(run)) == len(run.flows):
            shown = _sent(near, flow.port, "unique_bytes_sent")
            yield Truth(
                trial.name,
                f"bytes of {flow.name}",
                f"iperf, {name}",
                summary.transfer * _KBYTE,
                shown,
                _PRINTED,
            )


def _path(
    run: RunRecord, trial: Trial, problems: Problems, matched: tuple[MatchedConnection, ...]
) -> Iterator[Truth]:
    qdiscs = trial.files.qdiscs(problems)
    port, ports = qdiscs.data_port(), list(qdiscs.after)
    if port is None or len(ports) != 2:
        return  # a path of one switch has two ports: one each way
    other = qdiscs.port_loss(next(name for name in ports if name != port.port))
    for way, seen in (("forward", port), ("back", other)):
        lost = sum(int(getattr(pair, way).packets["lost"].filled(True).sum()) for pair in matched)
        towards = run.flow.receiver if way == "forward" else run.flow.sender
        counted = seen.lost + seen.dropped
        yield Truth(
            trial.name, f"packets lost towards {towards}", f"drops of {seen.port}", counted, lost
        )


def _duplicates(
    run: RunRecord, trial: Trial, nstat: CountersFile, near: flows.Reading, far: flows.Reading
) -> Iterator[Truth]:
    ends = ((run.flow.receiver, "sent", far, "Sent"), (run.flow.sender, "received", near, "Recv"))
    for host, verb, read, ending in ends:
        grown = nstat.growth(host)
        counted = sum(grown.get(name, 0.0) for name in _dsack_counters(ending))
        shown = sum(_sent(read, flow.port, "dsacks", back=True) for flow in _ports(run))
        yield Truth(trial.name, f"DSACKs {verb}", f"{host} TCPDSACK*{ending}", counted, shown)


def _dsack_counters(ending: str) -> tuple[str, str]:
    """Linux counts reports below the cumulative ACK and out of order apart (tcp_input.c)."""
    old = "Old" if ending == "Sent" else ""
    return f"TcpExtTCPDSACK{old}{ending}", f"TcpExtTCPDSACKOfo{ending}"
