"""Terminal output of analyze: connections, UDP, response times, and definitions of columns."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from heapq import nlargest
from typing import Any, NamedTuple

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from analysis import fmt
from analysis.analyze.facts import CALLED, LIMITS, ConnectionFacts, DirectionFacts
from analysis.analyze.listed import USUAL, ListedCapture, ManyShown, attempts, show_many
from analysis.analyze.reported import (
    Subflows,
    about_connection,
    about_flow,
    about_many,
    doubts,
    fault_sentence,
    sentences,
    subflows,
)
from analysis.analyze.verdict import verdict, why
from analysis.flows.columns import EXCHANGES, ICMP_ERRORS, INTERVALS, KINDS, OURS, PACKETS, TCPTRACE

FEW = 3
"""Connections up to which each has a block of its own."""
_MOST_FLOWS = 10
"""Flows of UDP that the terminal shows."""
_Flow = Mapping[str, Any]
"""One flow, as analysis.flows.reader.Reading.udp has it."""
_ARROW = "\N{RIGHTWARDS ARROW}"
_NEXT_TO_IT = "not visible at the receiver"
_LEFT_OUT = {
    "fragment": "IP fragments of packets that are not whole: their bytes are missing above",
    "joined fragment": "IP fragments, counted as the whole packets that they make",
    "link type not known": "of a link type that is not read",
    "TCP header cut off": "with the TCP header cut off",
}
"""The words for packets that are not read; the other reasons are their own words."""


def show_why(capture: ListedCapture, console: Console) -> None:
    """Print the features and rules behind each connection's verdict."""
    console.print(Text(capture.file.path, style="bold"), soft_wrap=True)
    for facts in capture.facts():
        console.print(Text(f"\nConnection {facts.number}: {verdict(facts).reason}", style="bold"))
        for line in why(facts):
            console.print(Text(f"  {line}"), soft_wrap=True)


def show(
    capture: ListedCapture, console: Console, in_all: int | None = None, table: ManyShown = USUAL
) -> None:
    """Print connections of a capture, then the facts of its file, which may have more `in_all`.

    Of more than FEW connections those that opened are shown, and the others counted.
    """
    console.print(Text(capture.file.path, style="bold"), soft_wrap=True)
    places, counted = list(range(capture.height)), list[str]()
    if capture.height > FEW:
        places, counted = attempts(capture)
    if not capture.height:
        console.print("No TCP connection is in it.")
    if len(places) > FEW:
        show_many(capture, places, console, table)
        counted += about_many(capture)
    else:
        joined = subflows(capture)
        for facts in capture.facts(places):
            _block(facts, joined, console)
    for at, sentence in enumerate(counted):
        console.print(Text(sentence if at else f"\n{sentence}"))
    show_datagrams(capture, console)
    for sentence in file_sentences(capture, in_all):
        console.print(Text(sentence))


def _block(facts: ConnectionFacts, joined: Subflows, console: Console) -> None:
    main = facts.directions[0]
    console.print(
        Text(
            f"\nConnection {facts.number}: {main.source} {_ARROW} {main.target}", style="bold cyan"
        )
    )
    console.print(Text(verdict(facts).sentence, style="bold"))
    if facts.row["network"]:
        console.print(Text(f"In {facts.row['network']}."))
    console.print(Text(f"{facts.vantage} {fmt.seconds(facts.duration)}, {facts.ended}."))
    if facts.opened:
        console.print(Text(facts.opened))
    for sentence in [*sentences(facts, joined), *about_connection(facts.errors)]:
        console.print(Text(sentence))
    if not facts.shown:
        console.print(Text(facts.silence))
        return
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("")
    for direction in facts.shown:
        table.add_column(Text(f"{_ARROW} {direction.target}"), overflow="fold")
    columns = [figures(direction) for direction in facts.shown]
    for name in columns[0]:
        if any(column[name] for column in columns):
            table.add_row(name, *(Text(column[name] or fmt.NOTHING) for column in columns))
    console.print(table)


def figures(direction: DirectionFacts) -> dict[str, str]:
    """Return the figures of one direction by name; empty if the capture does not show one."""
    closed = int(direction.back("zero_window_time") or 0)
    again, episodes, gaps = _again(direction)
    probes = fmt.counted(direction["probes"], "probe")
    has_limit = direction.answered and not direction.is_request
    return {
        "Bytes (each once)": fmt.size(direction.carried),
        "Segments with data": f"{direction['actual_data_pkts']:,}",
        "Goodput": fmt.rate(direction["goodput"]),
        "RTT median, 95 %": _rtt(direction),
        "Retransmissions": again,
        "Loss episodes": episodes,
        "Gaps and copies": gaps,
        "Reordering": _reordering(direction),
        "ECN marks (CE)": f"{direction['ce_packets']:,}" if direction["ce_packets"] else "",
        "Closed window": f"{fmt.seconds(closed)}, {probes} of it"
        if closed or direction["probes"]
        else "",
        "Keep-alives": f"{direction['keepalives']:,}" if direction["keepalives"] else "",
        "Limited by": _limited(direction) if has_limit else "",
    }


def _rtt(direction: DirectionFacts) -> str:
    if direction.place == "receiver":
        return _NEXT_TO_IT
    if not direction["rtt_samples"]:
        return fmt.NOTHING
    values = [fmt.milliseconds(direction[name]) for name in ("rtt_p50", "rtt_p95")]
    return ", ".join(values) + (" (capture to receiver)" if direction.place == "middle" else "")


def _again(direction: DirectionFacts) -> tuple[str, str, str]:
    """Return retransmissions and loss episodes, if the capture can tell, and gaps and copies."""
    filled = ", ".join(
        fmt.counted(direction[name], thing, several)
        for name, thing, several in (
            ("late", "gap filled", "gaps filled"),
            ("copies", "copy", "copies"),
        )
        if direction[name]
    )
    if not direction.sees_sending and not direction["retransmissions"]:
        seen = "none seen; losses before this place show as gaps"
        return _NEXT_TO_IT if direction.place == "receiver" else seen, "", filled or "none"
    kinds = ", ".join(f"{number:,} {CALLED[kind]}" for kind, number in direction.kinds.items())
    again = f"{direction['retransmissions']:,}"
    episodes = f"{direction['loss_episodes']:,}"
    return f"{again}: {kinds}" if kinds else again, episodes, filled


def _reordering(direction: DirectionFacts) -> str:
    if not direction["reordered"]:
        return "not visible at the sender" if direction.place == "sender" else "none seen"
    most = fmt.counted(direction["reordering_packets"], "packet")
    return f"{fmt.counted(direction['reordered'], 'packet')}, overtaken by at most {most}"


def _limited(direction: DirectionFacts) -> str:
    limits = direction.limits
    total = sum(limits.values())
    shares = {state: fmt.share(time, total) for state, time in limits.items()}
    words = ", ".join(f"{LIMITS[state]} {share}" for state, share in shares.items())
    return words or fmt.NOTHING


def file_sentences(capture: ListedCapture, in_all: int | None = None) -> list[str]:
    """The facts of the file, and what is doubtful in these connections, of perhaps more `in_all`.

    Format, counts, what was left out, and the place where a damaged file stopped being readable.
    """
    file = capture.file
    number = capture.height if in_all is None else in_all
    packed = f", {file.compression}" if file.compression else ""
    begin = ""
    if file.first is not None and file.timeless < file.packets:
        begin = f", from {datetime.fromtimestamp(file.first // 10**9, UTC):%Y-%m-%d %H:%M:%S} UTC"
    sentences = [
        f"\nFile: {file.format}{packed}, {fmt.size(file.bytes)},"
        f" {fmt.counted(file.packets, 'packet')},"
        f" {fmt.counted(file.tcp_segments, 'TCP segment')} in"
        f" {fmt.counted(number, 'connection')}{begin}."
    ]
    if file.ignored:
        why = ", ".join(
            f"{number:,} {_LEFT_OUT.get(reason, reason)}" for reason, number in file.ignored.items()
        )
        sentences.append(f"Left out: {why}.")
    sentences += [fault_sentence(file)] if file.fault else []
    return sentences + [f"Note: {sentence}" for sentence in doubts(capture)]


def print_columns(console: Console) -> None:
    """Print every column of connections and packets with its type, unit and definition."""
    for title, columns in (
        ("Connections, as tcptrace names them", TCPTRACE),
        ("Connections, further columns", OURS),
        ("Packets", PACKETS),
        ("Limits", INTERVALS),
        ("Errors of ICMP", ICMP_ERRORS),
        ("Requests and answers", EXCHANGES),
    ):
        suffix = {True: "_a2b, _b2a", False: ""}
        rows = [
            (column.name + suffix[column.directed], column.unit, column.definition)
            for column in columns
        ]
        _definitions(title, rows, console)
    kinds = [(f"{at} {name}", "", text) for at, (name, text) in enumerate(KINDS)]
    _definitions("Kinds of packets", kinds, console)


def _definitions(title: str, rows: Sequence[tuple[str, str, str]], console: Console) -> None:
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("Name", overflow="fold", max_width=36)
    table.add_column("Unit")
    table.add_column("Meaning", ratio=1)
    for row in rows:
        table.add_row(*map(Text, row))
    console.print(table)


def show_datagrams(capture: ListedCapture, console: Console) -> None:
    """Print the largest flows of UDP, each in two lines."""
    flows = capture.udp
    if not flows:
        return
    quic = sum(bool(flow["quic_version"]) for flow in flows)
    words = f", {quic:,} of QUIC" if quic else ""
    count = fmt.counted(len(flows), "flow")
    console.print(Text(f"\nUDP: {count}{words}", style="bold cyan"))
    for flow in nlargest(_MOST_FLOWS, flows, key=_size):
        console.print(Text(", ".join([_udp_figures(flow), *about_flow(capture.icmp, flow)])))
        console.print(Text(f"  {_udp_ends(flow)}", style="cyan"))
    if len(flows) > _MOST_FLOWS:
        console.print(f"And {len(flows) - _MOST_FLOWS:,} smaller ones; --json has them all.")


def _size(flow: _Flow) -> int:
    return int(flow["bytes_a2b"]) + int(flow["bytes_b2a"])


def _udp_figures(flow: _Flow) -> str:
    name = f"QUIC {flow['quic_version']}" if flow["quic_version"] else "UDP"
    took = fmt.seconds(flow["duration"])
    gap = max(flow["longest_gap_a2b"], flow["longest_gap_b2a"])
    parts = [
        f"{name}: {fmt.size(_size(flow))} in {took}",
        *_rates(flow),
        f"longest gap {fmt.seconds(gap)}",
        *_round_trips(flow),
    ]
    return ", ".join(parts)


def _rates(flow: _Flow) -> list[str]:
    if not flow["duration"]:
        return []
    rates = [8e9 * flow[f"bytes_{way}"] / flow["duration"] for way in ("a2b", "b2a")]
    return ["{} and {} back".format(*map(fmt.rate, rates))]


def _round_trips(flow: _Flow) -> list[str]:
    """Return the round trips of the handshake and of the spin bit, as far as they are known."""
    found = []
    if flow["handshake_outer"] is not None:
        trip = flow["handshake_outer"] + (flow["handshake_inner"] or 0)
        found.append(f"handshake {fmt.milliseconds(trip)}")
    if flow["spin_samples"]:
        found.append(f"spin bit {fmt.milliseconds(flow['spin_p50'])}")
    return found


def _udp_ends(flow: _Flow) -> str:
    a, b = (fmt.end(flow[f"host_{end}"], flow[f"port_{end}"]) for end in "ab")
    identifier = f", DCID {flow['quic_identifier']}" if flow["quic_identifier"] else ""
    return f"{a} {_ARROW} {b}{identifier}"


_MOST = 20
"""Servers that the terminal shows."""
_NS = 1e6


class ServerTimes(NamedTuple):
    """Requests to one server by one protocol, as rows of EXCHANGES."""

    protocol: str
    server: str
    port: int
    rows: list[dict[str, Any]]

    def times(self, name: str) -> list[int]:
        """Return the known times in a column, the shortest first."""
        return sorted(row[name] for row in self.rows if row[name] is not None)

    @property
    def answered(self) -> int:
        return len(self.times("response_time"))

    @property
    def slowest(self) -> dict[str, Any] | None:
        """The exchange with the longest response time."""
        known = [row for row in self.rows if row["response_time"] is not None]
        return max(known, key=lambda row: row["response_time"], default=None)


def by_server(rows: Sequence[dict[str, Any]]) -> list[ServerTimes]:
    """Group exchanges by protocol and server, those with most time in responses first."""
    groups: dict[tuple[str, str, int], list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault((row["protocol"], row["server"], row["server_port"]), []).append(row)
    found = [ServerTimes(*key, of_it) for key, of_it in groups.items()]
    return sorted(found, key=lambda server: -sum(server.times("response_time")))


def percentile(times: Sequence[int], percent: int) -> int:
    """Return the least of sorted times that so many percent do not exceed (nearest rank)."""
    return times[max(-(-len(times) * percent // 100), 1) - 1]


def show_responses(rows: Sequence[dict[str, Any]], console: Console) -> None:
    """Print the times by server, and the slowest answer of each."""
    servers = by_server(rows)
    if not servers:
        console.print("No request with an answer was found.")
        return
    console.print(Text("\n" + _line("Times in ms", "Count", *_HEADS), style="bold"))
    for server in servers[:_MOST]:
        _print_server(server, console)
    if left := servers[_MOST:]:
        count = sum(len(server.rows) for server in left)
        console.print(f"And {count:,} requests to {len(left):,} more; --json has them all.")
    console.print(
        Text(
            "\nResponse: from the last packet of a request to the first of its answer. Think:"
            " without the round trip to the server. Transfer: of the answer. Idle: until the"
            " next request, the sum."
        )
    )


_HEADS = ("Response 50/95/max", "Think 50/95", "Transf. 50/95", "Idle")
_WIDTHS = (13, 6, 18, 13, 13, 7)


def _line(*cells: str) -> str:
    name, *figures = (
        cell.ljust(width) if not at else cell.rjust(width)
        for at, (cell, width) in enumerate(zip(cells, _WIDTHS, strict=True))
    )
    return "  ".join([name, *figures])


def _print_server(server: ServerTimes, console: Console) -> None:
    idle = server.times("idle_time")
    cells = [
        server.protocol,
        f"{len(server.rows):,}",
        _percentiles(server.times("response_time"), 50, 95, 100),
        _percentiles(server.times("think_time"), 50, 95),
        _percentiles(server.times("transfer_time"), 50, 95),
        fmt.seconds(sum(idle)) if idle else fmt.NOTHING,
    ]
    console.print(Text(_line(*cells)))
    parts = [fmt.end(server.server, server.port)]
    if missing := len(server.rows) - server.answered:
        parts.append(f"{missing:,} without an answer")
    if slowest := server.slowest:
        what = f" ({slowest['what']})" if slowest["what"] else ""
        parts.append(f"slowest: packet {slowest['answer_packet']:,}{what}")
    console.print(Text("  " + ", ".join(parts), style="cyan"))


def _percentiles(times: Sequence[int], *percents: int) -> str:
    if not times:
        return fmt.NOTHING
    return " / ".join(_milliseconds(percentile(times, each)) for each in percents)


def _milliseconds(time: int) -> str:
    """Return three digits, or two places below a millisecond: wider figures leave their column."""
    return f"{time / _NS:.2f}" if time < _NS else fmt.digits(time / _NS)
