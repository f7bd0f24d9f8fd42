"""Sentences on errors of ICMP about connections and flows of UDP."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from analysis.analyze import short_numbers
from analysis.analyze.listed import ListedCapture
from analysis.flows.icmp import IcmpError


def named(error: IcmpError) -> str:
    """Return what an error reports, with its MTU."""
    mtu = f" (MTU {error['mtu']:,})" if error["mtu"] else ""
    return f"{error['error']}{mtu}"


def about_connection(errors: Sequence[IcmpError]) -> list[str]:
    """Return a sentence on each kind of error and reporter."""
    kinds = dict[tuple[str, str], list[int]]()
    for error in errors:
        kinds.setdefault((error["reporter"], named(error)), []).append(error["packet"])
    return [
        f"ICMP: {reporter} reports {name} {_times(len(packets))}, {_places(packets)}."
        for (reporter, name), packets in kinds.items()
    ]


def about_flow(errors: Sequence[IcmpError], flow: Mapping[str, Any]) -> list[str]:
    """Return what is reported about a flow of UDP."""
    ends = {(flow[f"host_{end}"], flow[f"port_{end}"]) for end in "ab"}
    found = Counter(
        named(error)
        for error in errors
        if error["protocol"] == "UDP"
        and {(error[end], error[f"{end}_port"]) for end in ("source", "target")} == ends
    )
    return [f"{name} {_times(count)}" for name, count in found.items()]


def about_many(capture: ListedCapture) -> list[str]:
    """Return a sentence on all errors about connections, if there are any."""
    errors = [error for errors in capture.errors.values() for error in errors]
    if not errors:
        return []
    kinds = Counter(map(named, errors)).most_common()
    counts = short_numbers.listed([f"{name} {_times(count)}" for name, count in kinds])
    about = short_numbers.counted(len(capture.errors), "connection")
    return [f"ICMP reports about {about}: {counts}; --events lists them."]


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count:,} times"


def _places(packets: Sequence[int]) -> str:
    first, last = min(packets), max(packets)
    return f"packets {first:,} to {last:,}" if last > first else f"packet {first:,}"
