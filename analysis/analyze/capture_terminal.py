"""What the terminal shows of a capture; it fits 80 columns."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import polars as pl
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from analysis.analyze import short_numbers
from analysis.analyze.doubts import doubts
from analysis.analyze.facts import CALLED, LIMITS, ConnectionFacts, Side, connection
from analysis.flows import FileFacts, Reading

FEW = 3
"""Connections up to which each has a block of its own."""
MOST = 30
"""Connections of the table of many."""
_ARROW = "\N{RIGHTWARDS ARROW}"
_NEXT_TO_IT = "not visible at the receiver"
_FIGURES = (
    "Bytes (each once)",
    "Segments with data",
    "Goodput",
    "RTT median, 95 %",
    "Retransmissions",
    "Loss episodes",
    "Gaps and copies",
    "Reordering",
    "ECN marks (CE)",
    "Closed window",
    "Keep-alives",
    "Limited by",
)
_LEFT_OUT = {
    "later fragment": "later IP fragments, which hold no TCP header: their bytes are missing above",
    "link type not known": "of a link type that is not read",
    "TCP header cut off": "with the TCP header cut off",
}
"""What is said of packets that are not read; the other reasons say it themselves."""


def show(reading: Reading, console: Console, connections: int) -> None:
    """Prints the connections of a capture, then the facts of its file, which has `connections` in
    all.
    """
    total = reading.connections.height
    console.print(Text(reading.file.path, style="bold"), soft_wrap=True)
    if 0 < total <= FEW:
        for row in reading.connections.iter_rows(named=True):
            _block(connection(row), console)
    elif total:
        _many(reading.connections, console)
    else:
        console.print("No TCP connection is in it.")
    for sentence in file_sentences(reading, connections):
        console.print(Text(sentence))


def _block(one: ConnectionFacts, console: Console) -> None:
    main = one.sides[0]
    console.print(
        Text(f"\nConnection {one.number}: {main.source} {_ARROW} {main.target}", style="bold cyan")
    )
    console.print(Text(f"{one.vantage} {short_numbers.seconds(one.duration)}, {one.ended}."))
    if not one.shown:
        console.print("No data was captured.")
        return
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("")
    for side in one.shown:
        table.add_column(Text(f"{_ARROW} {side.target}"), overflow="fold")
    found = [figures(side) for side in one.shown]
    for name in _FIGURES:
        if any(name in each for each in found):
            table.add_row(name, *(Text(each.get(name, short_numbers.NOTHING)) for each in found))
    console.print(table)


def figures(side: Side) -> dict[str, str]:
    """What is said of one direction, by the names of `_FIGURES`; what its place does not show is
    left out.
    """
    found = {
        "Bytes (each once)": short_numbers.size(side.carried),
        "Segments with data": short_numbers.count(side["actual_data_pkts"]),
        "Goodput": short_numbers.rate(side["goodput"]),
        "RTT median, 95 %": _rtt(side),
        "Reordering": _reordering(side),
    }
    if side["ce_packets"]:
        found["ECN marks (CE)"] = short_numbers.count(side["ce_packets"])
    closed = int(side.back("zero_window_time") or 0)
    if closed or side["probes"]:
        found["Closed window"] = (
            f"{short_numbers.seconds(closed)}, {short_numbers.counted(side['probes'], 'probe')} of it"
        )
    if side["keepalives"]:
        found["Keep-alives"] = short_numbers.count(side["keepalives"])
    if side.place != "receiver" and side.answered:
        found["Limited by"] = _limited(side)
    return found | _again(side)


def _rtt(side: Side) -> str:
    if side.place == "receiver":
        return _NEXT_TO_IT
    if not side["rtt_samples"]:
        return short_numbers.NOTHING
    ours = f"{short_numbers.milliseconds(side['rtt_p50'])}, {short_numbers.milliseconds(side['rtt_p95'])}"
    return f"{ours} (capture to receiver)" if side.place == "middle" else ours


def _again(side: Side) -> dict[str, str]:
    """What was sent again, where the capture can tell; else what it shows of losses and
    reordering.
    """
    filled = ", ".join(
        short_numbers.counted(side[name], thing, several)
        for name, thing, several in (
            ("late", "gap filled", "gaps filled"),
            ("copies", "copy", "copies"),
        )
        if side[name]
    )
    if not side.sees_sending and not side["retransmissions"]:
        said = (
            _NEXT_TO_IT
            if side.place == "receiver"
            else "none seen; losses before this place show as gaps"
        )
        return {"Retransmissions": said, "Gaps and copies": filled or "none"}
    kinds = ", ".join(f"{number:,} {CALLED[kind]}" for kind, number in side.kinds.items())
    found = {
        "Retransmissions": short_numbers.count(side["retransmissions"])
        + (f": {kinds}" if kinds else "")
    }
    found["Loss episodes"] = short_numbers.count(side["loss_episodes"])
    return found | ({"Gaps and copies": filled} if filled else {})


def _reordering(side: Side) -> str:
    if not side["reordered"]:
        return "none seen"
    most = short_numbers.counted(side["reordering_packets"], "packet")
    return f"{short_numbers.counted(side['reordered'], 'packet')}, overtaken by at most {most}"


def _limited(side: Side) -> str:
    limits = side.limits
    total = sum(limits.values())
    return (
        ", ".join(
            f"{LIMITS[state]} {short_numbers.share(time, total)}" for state, time in limits.items()
        )
        or short_numbers.NOTHING
    )


def _many(rows: pl.DataFrame, console: Console) -> None:
    total = pl.col("unique_bytes_sent_a2b") + pl.col("unique_bytes_sent_b2a")
    largest = rows.sort(total, descending=True, maintain_order=True).head(MOST)
    shown = [connection(row) for row in largest.iter_rows(named=True)]
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    table.add_column("No.", justify="right")
    table.add_column("From,\nto", overflow="fold", ratio=1)
    for name in ("Bytes", "Time", "Goodput", "RTT (ms)\nmedian,\n95 %", "Sent\nagain"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("Limited\nby", no_wrap=True)
    for one in shown:
        table.add_row(*map(Text, _line(one)))
    console.print(table)
    left = rows.height - len(shown)
    if left:
        rest = int(rows.select(total.sum()).item()) - sum(one.carried for one in shown)
        console.print(
            f"And {left:,} more, with {short_numbers.size(rest)} together; --out FOLDER writes them all."
        )
        console.print("--connection N shows one of them alone.")
    _endings(rows, console)
    _vantages(rows, console)


def _line(one: ConnectionFacts) -> tuple[str, ...]:
    """One row of the table of many: the direction that carried more."""
    side = one.sides[0]
    known = side.place != "receiver" and side["rtt_samples"]
    rtt = (
        [f"{(side[name] or 0) / 1e6:.3g}" for name in ("rtt_p50", "rtt_p95")]
        if known
        else [short_numbers.NOTHING]
    )
    again = (
        short_numbers.count(side["retransmissions"])
        if side.sees_sending or side["retransmissions"]
        else short_numbers.NOTHING
    )
    limits = side.limits if side.place != "receiver" else {}
    return (
        str(one.number),
        f"{side.source}\n{_ARROW} {side.target}",
        short_numbers.size(side.carried),
        short_numbers.seconds(one.duration),
        short_numbers.rate(side["goodput"]).replace(" ", "\n"),
        "\n".join(rtt),
        again,
        next((_SHORT[state] for state in limits), short_numbers.NOTHING),
    )


_SHORT = {"receiver": "window", "network": "network", "application": "appl."}


def _endings(rows: pl.DataFrame, console: Console) -> None:
    counts = dict(rows.group_by("complete").len().iter_rows())
    said = {
        "yes": "opened and closed in the capture",
        "reset": "by a reset",
        "no": "not in the capture",
    }
    found = ", ".join(f"{said[how]}: {counts[how]:,}" for how in said if how in counts)
    console.print(f"How they ended: {found}.")


def _vantages(rows: pl.DataFrame, console: Console) -> None:
    """Where the capture was taken, of how many connections that is known."""
    counts = dict(rows.group_by("vantage").len().iter_rows())
    said = {
        "a": "at the one that opened it",
        "b": "at the one that was called",
        "middle": "in the middle",
        "unknown": "not known",
    }
    found = ", ".join(f"{said[place]}: {counts[place]:,}" for place in said if place in counts)
    console.print(f"Where the capture was taken, by connection: {found}.")
    if set(counts) & {"a", "b", "middle"}:
        console.print(
            f"{short_numbers.NOTHING}: this cannot be told where data is captured at its receiver."
        )


def file_sentences(reading: Reading, connections: int) -> list[str]:
    """The facts of the file: format, counts, what was left out, where a damaged one stopped, and
    what is doubtful.
    """
    file = reading.file
    packed = f", {file.compression}" if file.compression else ""
    begin = f", from {_clock(file.first)}" if file.first is not None else ""
    whole = [
        f"\nFile: {file.format}{packed}, {short_numbers.size(file.bytes)},"
        f" {short_numbers.counted(file.packets, 'packet')},"
        f" {short_numbers.counted(file.tcp_segments, 'TCP segment')} in"
        f" {short_numbers.counted(connections, 'connection')}{begin}."
    ]
    if file.ignored:
        why = ", ".join(
            f"{number:,} {_LEFT_OUT.get(reason, reason)}" for reason, number in file.ignored.items()
        )
        whole.append(f"Left out: {why}.")
    whole += [fault_sentence(file)] if file.fault else []
    return whole + [f"Note: {sentence}" for sentence in doubts(reading)]


def fault_sentence(file: FileFacts) -> str:
    """Where and why reading a damaged file stopped."""
    return (
        f"{file.path} is damaged: {file.fault}. Reading stopped at byte {file.fault_offset or 0:,},"
        f" after {short_numbers.counted(file.packets, 'packet')}; what precedes is shown."
    )


def _clock(nanoseconds: int) -> str:
    return f"{datetime.fromtimestamp(nanoseconds // 10**9, UTC):%Y-%m-%d %H:%M:%S} UTC"


def columns_table(console: Console) -> None:
    """Prints every column of connections and packets with its type, unit and definition."""
    from analysis.flows.columns import KINDS, OURS, PACKETS, TCPTRACE

    for title, columns in (
        ("Connections, as tcptrace names them", TCPTRACE),
        ("Connections, ours", OURS),
        ("Packets", PACKETS),
    ):
        rows = [
            (one.name + ("_a2b, _b2a" if one.directed else ""), one.unit, one.definition)
            for one in columns
        ]
        _definitions(title, rows, console)
    _definitions(
        "Kinds of packets",
        [(f"{at} {name}", "", text) for at, (name, text) in enumerate(KINDS)],
        console,
    )


def _definitions(title: str, rows: Sequence[tuple[str, str, str]], console: Console) -> None:
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("Name", overflow="fold", max_width=36)
    table.add_column("Unit")
    table.add_column("Meaning", ratio=1)
    for row in rows:
        table.add_row(*map(Text, row))
    console.print(table)
