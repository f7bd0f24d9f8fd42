"""Comparison with tcptrace, field by field, and with the kernel's counts.

    .venv/bin/python -m tests.tools.agreement CAPTURE
    .venv/bin/python -m tests.tools.agreement runs/sack/latest

A capture is read by tcptrace, by us with tcptrace's definitions (compatible), and by us. The exit
status is 1 if a field that should agree does not.
"""

import ipaddress
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from analysis import flows
from analysis.flows.columns import TCPTRACE, Column
from analysis.records.json_reader import Problems
from analysis.records.run_directory import read_run
from tests.tools import tcptrace
from topologies.errors import TcplabError

_ENDINGS = ("_a2b", "_b2a")
_TIMES, _HOSTS = ("first_packet", "last_packet"), ("host_a", "host_b")
_IDENTITY = ("host_a", "port_a", "host_b", "port_b", "total_packets_a2b", "total_packets_b2a")
_COLUMNS = {column.name: column for column in TCPTRACE}


@dataclass(frozen=True)
class Field:
    """One field as all three print it, with the reasons for which that is wrong.

    `way` is the direction's ending, empty for a field of the whole connection.
    """

    connection: int
    name: str
    way: str
    theirs: str
    compatible: str
    ours: str
    column: Column
    faults: tuple[str, ...]

    @property
    def same(self) -> bool:
        return self.theirs == self.compatible == self.ours


@dataclass(frozen=True)
class CaptureComparison:
    """Every field of every connection of `capture`.

    `strangers` are sentences about connections that only one reader has, `fault` the damage of the
    file. `divided` counts connections of tcptrace that are others by our definition
    (docs/concepts/capture-analysis.md, "Which packets are one connection").
    """

    capture: Path
    fields: tuple[Field, ...]
    strangers: tuple[str, ...]
    fault: str | None
    divided: int = 0

    @property
    def disagreements(self) -> list[Field]:
        return [field for field in self.fields if field.faults]

    @property
    def sound(self) -> bool:
        return not self.disagreements and not self.strangers


def compare(capture: Path) -> CaptureComparison:
    """Read `capture` three times and judge each field. Raises TcplabError if it is unreadable."""
    read = flows.read(capture, compatible=True)
    if read.file.format == "pcapng":
        raise TcplabError(
            f"{capture} is pcapng, which tcptrace cannot read.",
            "Convert it with Wireshark's editcap -F pcap IN OUT.",
        )
    theirs = {_their_identity(row): row for row in tcptrace.long_report(capture)}
    compatible = {_identity(row): row for row in read.connection_table.as_rows()}
    ours = {_identity(row): row for row in flows.read(capture).connection_table.as_rows()}
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
    """The ends, the numbers of packets, and the microsecond of the first."""
    return *(str(row[name]) for name in _IDENTITY), row["first_packet"] // 1000


def _their_identity(row: dict[str, str]) -> tuple[object, ...]:
    microseconds = round(tcptrace.seconds(row["first_packet"]) * 1e6)
    return *(_tidied(row[name], name) for name in _IDENTITY), microseconds


def _fields(
    theirs: dict[str, str], compatible: dict[str, Any], ours: dict[str, Any]
) -> Iterable[Field]:
    for name in filter(None, theirs):
        # One name is misprinted with a space.
        base, way = (name[:-4], name[-3:]) if name.endswith(_ENDINGS) else (name, "")
        base = base.replace(" ", "_")
        their = _tidied(theirs[name], base)
        one, other = (_printed(row[name], base, their) for row in (compatible, ours))
        column = _COLUMNS[base]
        faults = tuple(_faults(their, one, other, column))
        yield Field(int(theirs["conn_#"]), base, way, their, one, other, column, faults)


def _tidied(printed: str, name: str) -> str:
    """Pad times, and write IPv6 addresses as usual: tcptrace prints `:0001` for ::1."""
    if name in _TIMES:
        return f"{tcptrace.seconds(printed):.6f}"
    if name not in _HOSTS:
        return printed
    begins_with_one_colon = printed.startswith(":") and not printed.startswith("::")
    return str(ipaddress.ip_address(f":{printed}" if begins_with_one_colon else printed))


def _printed(value: object, name: str, like: str) -> str:
    """Print our value as tcptrace does: with as many decimals as `like`, NA for none."""
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


def _faults(theirs: str, compatible: str, ours: str, column: Column) -> Iterable[str]:
    if not _close(theirs, compatible, column.allowed):
        yield "with tcptrace's definitions it is not tcptrace's value"
    if column.agreement != "repaired" and not _close(theirs, ours, column.allowed):
        yield "it is not tcptrace's value"


def _close(value: str, other: str, allowed: float) -> bool:
    if value == other:
        return True
    try:
        return abs(float(value) - float(other)) <= allowed * 1.0001
    except ValueError:
        return False


def main(path: Path) -> int:
    """Print disagreements, the kernel's counts of a run, and the fields that differ."""
    from tests.tools.kernel_counts import truths

    problems = Problems()
    run = read_run(path, problems) if path.is_dir() else None
    counts = truths(run, problems) if run else ()
    folders = [trial.folder for trial in run.trials] if run else []
    captures = sorted(file for folder in folders for file in folder.glob("*.pcap")) or [path]
    comparisons = [compare(capture) for capture in captures]
    for one in comparisons:
        print(f"{one.capture}: {len(one.fields)} fields, {len(one.disagreements)} disagreements")
        for sentence in (*one.strangers, *filter(None, [one.fault])):
            print(f"  {sentence}")
        for field in one.fields:
            if not field.same:
                why = "; ".join(field.faults) or f"{field.column.agreement}: {field.column.why}"
                values = f"tcptrace {field.theirs}, compatible {field.compatible}, {field.ours}"
                print(f"  {field.connection} {field.name} {field.way}: {values} ({why})")
    for truth in counts:
        verdict = "agrees" if truth.agrees else "DISAGREES"
        print(f"{truth.trial}: {truth.name}: {truth.counted:,.0f} by {truth.source},", end=" ")
        print(f"{truth.shown:,.0f} in captures: {verdict}")
    print(*problems.found, sep="\n")
    sound = all(one.sound for one in comparisons) and all(truth.agrees for truth in counts)
    return 0 if sound else 1


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
