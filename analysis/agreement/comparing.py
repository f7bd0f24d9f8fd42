"""One capture read by tcptrace and twice by us: by its definitions (compatible) and by ours."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from analysis import flows
from analysis.agreement import tcptrace
from analysis.agreement.policy import Policy, policy
from analysis.flows.installed_engines import Engine
from topologies.foundation.errors import TcplabError

_ENDINGS = ("_a2b", "_b2a")
_TIMES, _HOSTS = ("first_packet", "last_packet"), ("host_a", "host_b")
_IDENTITY = ("host_a", "port_a", "host_b", "port_b", "total_packets_a2b", "total_packets_b2a")


@dataclass(frozen=True)
class Field:
    """One field of one direction as all three print it, and whether that is right.

    `way` is "" for a field of the whole connection.
    """

    connection: int
    name: str
    way: str
    theirs: str
    compatible: str
    ours: str
    policy: Policy
    faults: tuple[str, ...]

    @property
    def agrees(self) -> bool:
        return not self.faults

    @property
    def same(self) -> bool:
        return self.theirs == self.compatible == self.ours


@dataclass(frozen=True)
class CaptureComparison:
    """Every field of every connection of `capture`.

    `strangers` are connections that only one reader has.

    `fault` says what is wrong with the file; both read what precedes it. `divided` counts the
    connections of tcptrace that are others by our definition: their fields stand for no values of
    ours (docs/analysis.md, "Which packets are one connection").
    """

    capture: Path
    fields: tuple[Field, ...]
    strangers: tuple[str, ...]
    fault: str | None
    divided: int = 0

    @property
    def disagreements(self) -> list[Field]:
        return [field for field in self.fields if not field.agrees]

    @property
    def sound(self) -> bool:
        return not self.disagreements and not self.strangers


def compare(capture: Path, engine: Engine = "auto") -> CaptureComparison:
    """Reads `capture` three times and judges each field by its policy.

    Raises TcplabError where it cannot be read.
    """
    read = flows.read(capture, engine=engine, compatible=True)
    if read.file.format == "pcapng":
        raise TcplabError(
            f"{capture} is pcapng, which tcptrace cannot read.",
            "Convert it with Wireshark's editcap -F pcap IN OUT.",
        )
    theirs = {_their_identity(row): row for row in tcptrace.long_report(capture)}
    compatible = {_identity(row): row for row in read.connection_table.as_rows()}
    ours = {
        _identity(row): row for row in flows.read(capture, engine=engine).connection_table.as_rows()
    }
    strangers = [
        f"{len(only)} of the connections have these ends, this begin and as many packets for"
        f" {who} alone"
        for who, only in (
            ("tcptrace", theirs.keys() - compatible.keys()),
            ("us", compatible.keys() - theirs.keys()),
        )
        if only
    ]
    fields: list[Field] = []
    for identity in theirs.keys() & compatible.keys():
        row = compatible[identity]
        fields += _fields(theirs[identity], row, ours.get(identity, row))
    fields.sort(key=lambda field: field.connection)
    divided = len(compatible.keys() - ours.keys())
    return CaptureComparison(capture, tuple(fields), tuple(strangers), read.file.fault, divided)


def _identity(row: dict[str, Any]) -> tuple[object, ...]:
    """Its ends, its packets, and the microsecond of the first."""
    return *(str(row[name]) for name in _IDENTITY), row["first_packet"] // 1000


def _their_identity(row: dict[str, str]) -> tuple[object, ...]:
    microseconds = round(tcptrace.seconds(row["first_packet"]) * 1e6)
    return *(_tidied(row[name], name) for name in _IDENTITY), microseconds


def _fields(
    theirs: dict[str, str], compatible: dict[str, Any], ours: dict[str, Any]
) -> Iterable[Field]:
    for column in filter(None, theirs):
        name, way = _split(column)
        judged = policy(name)
        their = _tidied(theirs[column], name)
        one, other = (_printed(row[column], name, their) for row in (compatible, ours))
        faults = tuple(_faults(their, one, other, judged))
        yield Field(int(theirs["conn_#"]), name, way, their, one, other, judged, faults)


def _tidied(printed: str, name: str) -> str:
    """What tcptrace prints, but times with all their zeros and IPv6 addresses without.

    It pads no times, and all addresses, and prints `:0001` for ::1.
    """
    if name in _TIMES:
        return f"{tcptrace.seconds(printed):.6f}"
    if name not in _HOSTS:
        return printed
    begins_with_one_colon = printed.startswith(":") and not printed.startswith("::")
    return str(ipaddress.ip_address(f":{printed}" if begins_with_one_colon else printed))


def _split(column: str) -> tuple[str, str]:
    if column.endswith(_ENDINGS):
        return column[:-4].replace(" ", "_"), column[-3:]  # one name is misprinted
    return column, ""


def _printed(value: object, name: str, like: str) -> str:
    """Our value as tcptrace prints one: with as many decimals as `like`, NA for none."""
    if value is None:
        return "NA"
    if name in _TIMES and isinstance(value, int):
        seconds, rest = divmod(value // 1000, 10**6)
        return f"{seconds}.{rest:06d}"
    if isinstance(value, float):
        return f"{value:.{len(like.partition('.')[2])}f}"
    if isinstance(value, int) and value < 0 and not like.startswith("-"):
        return str(value % 2**64)  # tcptrace prints it as unsigned
    return str(value)


def _faults(theirs: str, compatible: str, ours: str, judged: Policy) -> Iterable[str]:
    """Why a field is a disagreement.

    With tcptrace's definitions it must be tcptrace's value, whatever the policy.
    """
    if judged.kind != "broken" and not _close(theirs, compatible, judged.allowed):
        yield "with tcptrace's definitions it is not tcptrace's value"
    if judged.kind in ("exact", "tolerance") and not _close(theirs, ours, judged.allowed):
        yield "it is not tcptrace's value"


def _close(value: str, other: str, allowed: float) -> bool:
    if value == other:
        return True
    try:
        return abs(float(value) - float(other)) <= allowed * 1.0001
    except ValueError:
        return False
