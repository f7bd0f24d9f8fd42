"""The graphs of a trial's captures: the page, the files for xplot, the lines of the pictures."""

from __future__ import annotations

from collections.abc import Iterator

from analysis import graphs
from analysis.graphs.all_graphs import Samples
from analysis.graphs.capture import CaptureDirection, directions
from analysis.graphs.xplot_files import text
from analysis.measures.captures import End, at_port
from analysis.measures.results import Measured

_FILES = {"time_sequence": "tsg", "rtt": "rtt"}
"""Our names of the files, and tcptrace's of the graphs: what its options -S and -R write."""


def page(title: str, trial: Measured) -> str:
    """Both ends' captures with all flows, and the congestion windows of the senders' sockets."""
    return graphs.page(title, [_capture(end) for end in trial.ends], _samples(trial))


def xplot(trial: Measured) -> Iterator[tuple[str, bytes]]:
    """File names and contents: the first flow's data in each capture."""
    for end in trial.ends:
        way = _data(end)
        if way:
            yield from (
                (f"{end.interface}.{name}.xpl", text(way, kind)) for name, kind in _FILES.items()
            )


def sent(trial: Measured) -> CaptureDirection | None:
    """The first flow's data as the sender's capture has it; None without one."""
    at_sender = next((end for end in trial.ends if end.role == "sender"), None)
    return _data(at_sender) if at_sender else None


def _data(end: End) -> CaptureDirection | None:
    return next((way for way in directions(_flow(end)) if way.forward == end.by_a), None)


def _capture(end: End) -> graphs.Capture:
    assert end.reading.packet_table is not None
    return graphs.Capture(end.interface, end.reading.packet_table, end.reading.connection_table)


def _flow(end: End) -> graphs.Capture:
    return graphs.Capture(end.interface, end.packets, end.reading.connection_table)


def _samples(trial: Measured) -> Samples:
    """The sockets' samples by the connection's number in the first capture."""
    if not trial.ends:
        return {}
    rows = trial.ends[0].reading.connection_table
    connections = {
        flow.flow.port: at_port(rows, flow.flow.port) for flow in trial.flows if flow.samples
    }
    numbers = {
        port: int(matches["connection"].values[0])
        for port, matches in connections.items()
        if len(matches)
    }
    return {
        numbers[flow.flow.port]: flow.samples
        for flow in trial.flows
        if flow.flow.port in numbers and flow.samples
    }
