"""Terminal output of analyze: connections, UDP, response times, and definitions of columns."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from heapq import nlargest
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from analysis import fmt
from analysis.analyze import reported
from analysis.analyze.facts import CALLED, LIMITS, ConnectionFacts, DirectionFacts
from analysis.analyze.listed import MOST, ListedCapture, attempts, show_many
from analysis.analyze.verdict import verdict, why
from analysis.flows.columns import EXCHANGES, ICMP_ERRORS, INTERVALS, KINDS, OURS, PACKETS, TCPTRACE

FEW = 3  # connections up to which each has a block of its own
_MOST_FLOWS = 10  # flows of UDP that the terminal shows
_Flow = Mapping[str, Any]  # one flow, as analysis.flows.reader.Reading.udp has it
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
    console.print(Text(capture.file.path, style="bold"), soft_wrap=True)
    for facts in capture.facts():
        console.print(Text(f"\nConnection {facts.number}: {verdict(facts).reason}", style="bold"))
        for line in why(facts):
            console.print(Text(f"  {line}"), soft_wrap=True)


def show(capture: ListedCapture, console: Console, sort: str = "bytes", most: int = MOST) -> None:
    """Print connections, above FEW only those that opened, and the file."""
    console.print(Text(capture.file.path, style="bold"), soft_wrap=True)
    places, counted = list(range(capture.height)), list[str]()
    if capture.height > FEW:
        places, counted = attempts(capture)
    if not capture.height:
        console.print("No TCP connection is in it.")
    if len(places) > FEW:
        show_many(capture, places, console, sort, most)
        counted += reported.about_many(capture)
    else:
        joined = reported.subflows(capture)
        for facts in capture.facts(places):
            _block(facts, joined, console)
    for at, sentence in enumerate(counted):
        console.print(Text(sentence if at else f"\n{sentence}"))
    _show_datagrams(capture, console)
    for sentence in file_sentences(capture):
        console.print(Text(sentence))


def _block(facts: ConnectionFacts, joined: reported.Subflows, console: Console) -> None:
    main = facts.directions[0]
    title = f"\nConnection {facts.number}: {main.source} {_ARROW} {main.target}"
    console.print(Text(title, style="bold cyan"))
    console.print(Text(verdict(facts).sentence, style="bold"))
    network = f"In {facts.row['network']}." if facts.row["network"] else ""
    place = f"{facts.vantage} {fmt.seconds(facts.duration)}, {facts.ended}."
    extensions = [*reported.sentences(facts, joined), *reported.about_connection(facts.errors)]
    silence = "" if facts.shown else facts.silence
    for sentence in filter(None, (network, place, facts.opened, *extensions, silence)):
        console.print(Text(sentence))
    if not facts.shown:
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
    is_closed = closed or direction["probes"]
    reordering = "not visible at the sender" if direction.place == "sender" else "none seen"
    if direction["reordered"]:
        most = fmt.counted(direction["reordering_packets"], "packet")
        reordering = f"{fmt.counted(direction['reordered'], 'packet')}, overtaken by at most {most}"
    limits, limited = direction.limits, ""
    if direction.answered and not direction.is_request:
        whole = sum(limits.values())
        shares = (f"{LIMITS[state]} {fmt.share(time, whole)}" for state, time in limits.items())
        limited = ", ".join(shares) or fmt.NOTHING
    return {
        "Bytes (each once)": fmt.size(direction.carried),
        "Segments with data": f"{direction['actual_data_pkts']:,}",
        "Goodput": fmt.rate(direction["goodput"]),
        "RTT median, 95 %": _rtt(direction),
        "Retransmissions": again,
        "Loss episodes": episodes,
        "Gaps and copies": gaps,
        "Reordering": reordering,
        "ECN marks (CE)": f"{direction['ce_packets']:,}" if direction["ce_packets"] else "",
        "Closed window": f"{fmt.seconds(closed)}, {probes} of it" if is_closed else "",
        "Keep-alives": f"{direction['keepalives']:,}" if direction["keepalives"] else "",
        "Limited by": limited,
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
    counts = (("late", "gap filled", "gaps filled"), ("copies", "copy", "copies"))
    found = [fmt.counted(direction[name], *words) for name, *words in counts if direction[name]]
    filled = ", ".join(found)
    if not direction.again:
        seen = "none seen; losses before this place show as gaps"
        return _NEXT_TO_IT if direction.place == "receiver" else seen, "", filled or "none"
    kinds = ", ".join(f"{number:,} {CALLED[kind]}" for kind, number in direction.kinds.items())
    again = f"{direction.again}: {kinds}" if kinds else direction.again
    return again, f"{direction['loss_episodes']:,}", filled


def file_sentences(capture: ListedCapture) -> list[str]:
    """Return the facts of the file, damage and doubts."""
    file = capture.file
    number = capture.height if capture.in_all is None else capture.in_all
    packed = f", {file.compression}" if file.compression else ""
    begin = ""
    if file.first is not None and file.timeless < file.packets:
        begin = f", from {datetime.fromtimestamp(file.first // 10**9, UTC):%Y-%m-%d %H:%M:%S} UTC"
    counts = ((file.packets, "packet"), (file.tcp_segments, "TCP segment"))
    packets, segments = (fmt.counted(*each) for each in counts)
    connections = fmt.counted(number, "connection")
    counted = f"{packets}, {segments} in {connections}{begin}."
    sentences = [f"\nFile: {file.format}{packed}, {fmt.size(file.bytes)}, {counted}"]
    if file.ignored:
        left_out = ((number, _LEFT_OUT.get(why, why)) for why, number in file.ignored.items())
        sentences.append(f"Left out: {', '.join(f'{count:,} {why}' for count, why in left_out)}.")
    sentences += [reported.fault_sentence(file)] if file.fault else []
    return sentences + [f"Note: {sentence}" for sentence in reported.doubts(capture)]


def print_columns(console: Console) -> None:
    tables = {
        "Connections, as tcptrace names them": TCPTRACE,
        "Connections, further columns": OURS,
        "Packets": PACKETS,
        "Limits": INTERVALS,
        "Errors of ICMP": ICMP_ERRORS,
        "Requests and answers": EXCHANGES,
    }
    definitions = {
        title: [(x.name + "_a2b, _b2a" * x.directed, x.unit, x.definition) for x in columns]
        for title, columns in tables.items()
    }
    kinds = [(f"{at} {name}", "", text) for at, (name, text) in enumerate(KINDS)]
    for title, rows in (definitions | {"Kinds of packets": kinds}).items():
        table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
        table.add_column("Name", overflow="fold", max_width=36)
        table.add_column("Unit")
        table.add_column("Meaning", ratio=1)
        for row in rows:
            table.add_row(*map(Text, row))
        console.print(table)


def _show_datagrams(capture: ListedCapture, console: Console) -> None:
    """Print the largest flows of UDP, each in two lines."""
    flows = capture.udp
    if not flows:
        return
    quic = sum(bool(flow["quic_version"]) for flow in flows)
    title = f"\nUDP: {fmt.counted(len(flows), 'flow')}" + (f", {quic:,} of QUIC" if quic else "")
    console.print(Text(title, style="bold cyan"))
    for flow in nlargest(_MOST_FLOWS, flows, key=_size):
        quoted = reported.about_flow(capture.icmp, flow)
        console.print(Text(", ".join([*_udp_figures(flow), *quoted])))
        a, b = (fmt.end(flow[f"host_{end}"], flow[f"port_{end}"]) for end in "ab")
        identifier = f", DCID {flow['quic_identifier']}" if flow["quic_identifier"] else ""
        console.print(Text(f"  {a} {_ARROW} {b}{identifier}", style="cyan"))
    if len(flows) > _MOST_FLOWS:
        console.print(f"And {len(flows) - _MOST_FLOWS:,} smaller ones; --json has them all.")


def _size(flow: _Flow) -> int:
    return int(flow["bytes_a2b"]) + int(flow["bytes_b2a"])


def _udp_figures(flow: _Flow) -> Iterator[str]:
    """Yield size, rates, gap, and the round trips of handshake and spin bit that are known."""
    name = f"QUIC {flow['quic_version']}" if flow["quic_version"] else "UDP"
    yield f"{name}: {fmt.size(_size(flow))} in {fmt.seconds(flow['duration'])}"
    if flow["duration"]:
        rates = (8e9 * flow[f"bytes_{way}"] / flow["duration"] for way in ("a2b", "b2a"))
        yield "{} and {} back".format(*map(fmt.rate, rates))
    yield f"longest gap {fmt.seconds(max(flow['longest_gap_a2b'], flow['longest_gap_b2a']))}"
    if flow["handshake_outer"] is not None:
        trip = flow["handshake_outer"] + (flow["handshake_inner"] or 0)
        yield f"handshake {fmt.milliseconds(trip)}"
    if flow["spin_samples"]:
        yield f"spin bit {fmt.milliseconds(flow['spin_p50'])}"


_MOST = 20  # servers that the terminal shows
_Rows = list[dict[str, Any]]


def _times(rows: _Rows, name: str) -> list[int]:
    return sorted(row[name] for row in rows if row[name] is not None)


def show_responses(rows: _Rows, console: Console) -> None:
    """Print the times by server, those with most time in responses first, and each's slowest."""
    servers: dict[tuple[str, str, int], _Rows] = {}
    for row in rows:
        servers.setdefault((row["protocol"], row["server"], row["server_port"]), []).append(row)
    if not servers:
        console.print("No request with an answer was found.")
        return
    slowest = sorted(servers.items(), key=lambda each: -sum(_times(each[1], "response_time")))
    console.print(Text("\n" + _line("Times in ms", "Count", *_HEADS), style="bold"))
    for (protocol, host, port), found in slowest[:_MOST]:
        _print_server(protocol, fmt.end(host, port), found, console)
    if left := slowest[_MOST:]:
        count = sum(len(found) for _, found in left)
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
    name, *figures = cells
    padded = map(str.rjust, figures, _WIDTHS[1:])
    return "  ".join([name.ljust(_WIDTHS[0]), *padded])


def _print_server(protocol: str, end: str, rows: _Rows, console: Console) -> None:
    idle = _times(rows, "idle_time")
    cells = [
        protocol,
        f"{len(rows):,}",
        _percentiles(_times(rows, "response_time"), 50, 95, 100),
        _percentiles(_times(rows, "think_time"), 50, 95),
        _percentiles(_times(rows, "transfer_time"), 50, 95),
        fmt.seconds(sum(idle)) if idle else fmt.NOTHING,
    ]
    console.print(Text(_line(*cells)))
    parts, answered = [end], [row for row in rows if row["response_time"] is not None]
    if missing := len(rows) - len(answered):
        parts.append(f"{missing:,} without an answer")
    if answered:
        slowest = max(answered, key=lambda row: row["response_time"])
        what = f" ({slowest['what']})" if slowest["what"] else ""
        parts.append(f"slowest: packet {slowest['answer_packet']:,}{what}")
    console.print(Text("  " + ", ".join(parts), style="cyan"))


def _percentiles(times: Sequence[int], *percents: int) -> str:
    """Write percentiles (nearest rank) with few digits: wider ones leave their column."""
    if not times:
        return fmt.NOTHING
    ranks = (max(-(-len(times) * percent // 100), 1) for percent in percents)
    found = (times[rank - 1] / 1e6 for rank in ranks)
    return " / ".join(f"{time:.2f}" if time < 1 else fmt.digits(time) for time in found)
