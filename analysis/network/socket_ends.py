"""The first and the last samples of sockets: what they add up is told by these alone.

A file has ten lines a second, each with all sockets of a host, so the middle is not parsed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from pathlib import Path

from analysis.records import socket_samples
from analysis.records.socket_samples import SocketSample
from topologies.foundation import untrusted

_Samples = dict[str, list[SocketSample]]


def socket_ends(folder: Path, host: str, ports: Collection[str]) -> _Samples:
    """Of each remote port the first samples, until data is outstanding, and the last ones.

    These go back until less time had been spent sending. Lines that are broken are left out.
    """
    try:
        lines = untrusted.text_if_any(folder, f"{host}.sockets.jsonl").splitlines()
    except (OSError, untrusted.StrangeFile):
        return {}
    first = _gathered(lines, ports, lambda samples: samples[-1].busy > 0)
    last = _gathered(reversed(lines), ports, lambda samples: samples[-1].busy < samples[0].busy)
    return {port: [*first[port], *reversed(last[port])] for port in ports if first[port]}


def _gathered(
    lines: Iterable[str], ports: Collection[str], enough: Callable[[list[SocketSample]], bool]
) -> _Samples:
    """The samples of each port, line by line, until those of every port are enough."""
    gathered: _Samples = {port: [] for port in ports}
    waiting = set(ports)
    for line in lines:
        if not waiting:
            break
        for port, samples in _of_line(line).items():
            if port in waiting:
                gathered[port] += samples
                if enough(gathered[port]):
                    waiting.remove(port)
    return gathered


def _of_line(line: str) -> _Samples:
    try:
        return socket_samples.by_port([line])
    except (ValueError, RecursionError):
        return {}
