"""Bytes that a student's receiver wrote, held against the packets that can have carried them.

The marks do not believe programs: what two of them exchange without the network gains no points.
The bytes to be sent are random, so no packet carries more of them than its length.
"""

from collections.abc import Iterator, Mapping
from ipaddress import IPv4Address

import numpy as np

from analysis.measures.packets import TrialTraffic
from analysis.measures.readings import TrialReadings
from analysis.records.run_directory import RunRecord
from analysis.records.spec_file import RunFlow

_HEADERS = 34
"""Bytes of Ethernet and IPv4, the only ones that a program cannot fill."""
_SLACK = 20_000_000
"""Nanoseconds by which the time of a file may be off: two ticks of the guest's clock."""
_PORT = 0xFFFF


def carried_values(readings: TrialReadings) -> dict[str, float]:
    """Return for each flow of programs what was written, in how long, and what was carried."""
    values: dict[str, float] = {}
    for each in readings.by_flow:
        if each.flow.program and each.server and readings.traffic:
            seconds = each.server["interval"]
            named = {
                "written_bytes": round(1024 * each.server["transfer"]),
                "written_seconds": seconds,
                "carried_bytes": _carried(readings.run, readings.traffic, each.flow, seconds),
            }
            values |= {f"{each.flow.name}.{name}": value for name, value in named.items()}
    return values


def _carried(run: RunRecord, traffic: TrialTraffic, flow: RunFlow, seconds: float) -> int:
    """Return the bytes that packets brought to the receiver until it had written all."""
    arrived = traffic.at(flow.receiver)
    if arrived is None:
        return 0
    ends = (traffic.network.address(name) for name in (flow.sender, flow.receiver))
    source, target = (int(IPv4Address(address)) for address in ends)
    came = arrived.between(source, target)
    others = [other.port for other in run.flows if other.name != flow.name]
    came = came.only(
        ((came.flags > 0) == (flow.protocol == "tcp")) & ~np.isin(came.ports & _PORT, others)
    )
    if not len(came):
        return 0
    in_time = came.time <= came.time[0] + round(1e9 * seconds) + _SLACK
    return int((came.length[in_time].astype(np.int64) - _HEADERS).sum())


def not_carried(values: Mapping[str, float]) -> Iterator[str]:
    """Yield a sentence about each flow whose packets cannot have carried what was written."""
    for key, written in values.items():
        flow, _, name = key.rpartition(".")
        if name != "written_bytes":
            continue
        carried, seconds = values[f"{flow}.carried_bytes"], values[f"{flow}.written_seconds"]
        if carried < written:
            yield (
                f"{flow}: its receiver wrote {written:,.0f} bytes in {seconds:.3g} s, and packets"
                f" brought {carried:,.0f} bytes until then; the rest did not pass the network"
            )
