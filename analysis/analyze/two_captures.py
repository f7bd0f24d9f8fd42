"""Two captures: a fast and a slow one compared, or both ends of one flow matched."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from heapq import nlargest
from typing import Any, NamedTuple

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from analysis import fmt
from analysis.analyze.causes import Cause, Features, features
from analysis.analyze.facts import ConnectionFacts, DirectionFacts
from analysis.analyze.listed import ListedCapture, attempts
from analysis.analyze.verdict import verdict
from analysis.flows.ends import MatchedConnection
from analysis.flows.matching import DirectionMatch, PathSummary, summary
from analysis.table import ColumnTable
from topologies.errors import TcplabError

_ALIKE = 1.25  # figures that differ by less than this factor are alike
_EQUAL = 1.1  # the same for the rates, which the sentence compares
_REASONS = 3  # differences that the sentence names
_ENDS = ("host_a", "port_a", "host_b", "port_b")
_LIKENESS = (
    (_ENDS, "both ends"),
    (("host_b", "port_b"), "address and port of the server"),
    (("port_b",), "port of the server"),
)
"""Columns in which two connections are alike, and their words; the first that fits counts."""


class ComparedFlow(NamedTuple):
    """One of the two connections."""

    facts: ConnectionFacts
    features: Features

    @property
    def main(self) -> DirectionFacts:
        return self.facts.directions[0]

    def both(self, name: str) -> tuple[Any, Any]:
        return self.main[name], self.main.back(name)


@dataclass(frozen=True)
class FlowFigure:
    """A number or word; if it `explains`, a difference of more than `least` may be a reason."""

    name: str
    value: Callable[[ComparedFlow], Any]
    text: Callable[[Any], str] = str
    explains: bool = True
    least: Callable[[ComparedFlow], float] = lambda _flow: 0.0


@dataclass(frozen=True)
class ComparedRow:
    """A figure of both connections; both `texts` are a dash for an unknown value."""

    figure: FlowFigure
    values: tuple[Any, Any]
    texts: list[str]
    differs: bool

    @staticmethod
    def of(figure: FlowFigure, flows: tuple[ComparedFlow, ComparedFlow]) -> "ComparedRow":
        values = figure.value(flows[0]), figure.value(flows[1])
        texts = [fmt.NOTHING if each is None else figure.text(each) for each in values]
        differs = None not in values and texts[0] != texts[1]
        if differs and not isinstance(values[0], str):
            least, most = sorted(values)
            differs = most >= _ALIKE * least and most - least > figure.least(flows[1])
        return ComparedRow(figure, values, texts, differs)

    @property
    def against(self) -> str:
        return f"{self.texts[1]} against {self.texts[0]}"


def _lost(flow: ComparedFlow) -> float | None:
    sent = int(flow.main["actual_data_pkts"])
    share = flow.features.lost / sent if sent else None
    return share if share is None or share >= 0.0005 else 0.0


def _asked(name: str, place: int = 0) -> Callable[[ComparedFlow], str | None]:
    """Return whether both ends asked for an option: the letter at a place of a column."""

    def value(flow: ComparedFlow) -> str | None:
        is_asked = all(str(each)[place] == "Y" for each in flow.both(name))
        return ("yes" if is_asked else "no") if all(flow.both("options_known")) else None

    return value


def _kibibytes(value: float) -> str:
    return f"{value / 1024:,.3g} KiB" if value < 2**20 else f"{value / 2**20:,.3g} MiB"


def _time(
    name: str,
    value: Callable[[ComparedFlow], int | None],
    least: Callable[[ComparedFlow], float] = lambda flow: flow.facts.duration / 20,
) -> FlowFigure:
    return FlowFigure(name, value, fmt.seconds, least=least)


FIGURES = (
    FlowFigure("Goodput", lambda flow: flow.main["goodput"], fmt.rate, False),
    FlowFigure("Bytes", lambda flow: flow.main.carried, fmt.size, False),
    FlowFigure("Time", lambda flow: flow.facts.duration, fmt.seconds, False),
    FlowFigure("Slow because", lambda flow: str(verdict(flow.facts).cause), explains=False),
    FlowFigure("Window scaling", _asked("req_1323_ws/ts")),
    FlowFigure("SACK", _asked("req_sack")),
    FlowFigure("Timestamps", _asked("req_1323_ws/ts", 2)),
    FlowFigure(
        "MSS",
        lambda flow: min(filter(None, flow.both("mss_requested")), default=None),
        lambda value: f"{value:,} B",
    ),
    FlowFigure("Segments lost", _lost, lambda value: fmt.share(value, 1)),
    _time("Waiting for timers", lambda flow: flow.features.timeouts),
    _time("Shortest round trip", lambda flow: flow.features.trip or None, lambda _flow: 1e6),
    _time(
        "Queueing delay (95 %)",
        lambda flow: flow.features.queue_p95,
        lambda flow: max(1e6, flow.features.trip / 8),
    ),
    FlowFigure("Largest window", lambda flow: flow.main.back("max_win_adv"), _kibibytes),
    _time("Closed window", lambda flow: flow.features.closed),
    FlowFigure("Most in flight", lambda flow: flow.main["in_flight_max"], _kibibytes, False),
    _time("Opened in", lambda flow: flow.facts.row["connect_time"]),
    _time("Time for answers", lambda flow: flow.features.server),
    _time("Pauses of the sender", lambda flow: flow.features.pauses),
)
_OF_CAUSES: Mapping[str, tuple[str, ...]] = {
    Cause.WINDOW: ("Largest window", "Shortest round trip"),
    Cause.UNSCALED: ("Window scaling", "Largest window"),
    Cause.CLOSED: ("Closed window",),
    Cause.LOSS: ("Segments lost", "SACK"),
    Cause.HOST: ("Segments lost", "SACK"),
    Cause.POLICER: ("Segments lost",),
    Cause.REORDERING: ("Segments lost",),
    Cause.TIMEOUT: ("Waiting for timers", "Segments lost"),
    Cause.BLOAT: ("Queueing delay (95 %)",),
    Cause.LOST_SYN: ("Opened in",),
    Cause.SERVER: ("Time for answers",),
    Cause.PAUSES: ("Pauses of the sender",),
}
"""Figures by which a cause of the slow capture shows; the sentence names them first."""


@dataclass(frozen=True)
class CaptureComparison:
    """The compared connections of two captures."""

    labels: tuple[str, str]
    flows: tuple[ComparedFlow, ComparedFlow]
    matched: str
    rows: tuple[ComparedRow, ...]

    @property
    def sentence(self) -> str:
        causes = [str(verdict(each.facts).cause) for each in self.flows]
        why = f"in both, {causes[1]}" if causes[0] == causes[1] else f"{causes[1]}, not {causes[0]}"
        found = [f"{row.figure.name.lower()} {row.against}" for row in self._reasons]
        reasons = f" ({'; '.join(found)})" if found else ""
        return f"{self.labels[1]} is {self._pace}: {why}{reasons}."

    @property
    def _pace(self) -> str:
        """Return the factor between both, by goodput or, without one, by time."""
        rates, good = [each.main["goodput"] for each in self.flows], self.labels[0]
        of = f"({self.rows[0].against})"
        if not all(rates):
            rates, of = [1 / max(each.facts.duration, 1) for each in self.flows], "(by its time)"
        if max(rates) < _EQUAL * min(rates):
            return f"as fast as {good}"
        word = "slower" if rates[1] < rates[0] else "faster"
        return f"{fmt.digits(max(rates) / min(rates))} times {word} than {good} {of}"

    @property
    def _reasons(self) -> list[ComparedRow]:
        cause = str(verdict(self.flows[1].facts).cause)
        first = _OF_CAUSES.get(cause, ())
        found = [row for row in self.rows if row.figure.explains and row.differs]
        return sorted(found, key=lambda row: row.figure.name not in first)[:_REASONS]

    @property
    def data(self) -> dict[str, object]:
        return {
            "sentence": self.sentence,
            "connections": [each.facts.number for each in self.flows],
            "matched_by": self.matched,
            "rows": [
                {"name": row.figure.name, "first": first, "second": second, "differs": row.differs}
                for row in self.rows
                for first, second in [row.values]
            ],
        }

    def show(self, console: Console) -> None:
        console.print(Text(self.sentence, style="bold"))
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
        for name in ("", *self.labels, ""):
            table.add_column(Text(name), overflow="fold")
        for row in self.rows:
            mark, style = ("differs", "bold") if row.differs else ("", "")
            if any(row.values):
                table.add_row(row.figure.name, *map(Text, row.texts), mark, style=style)
        console.print(table)
        console.print(Text(self.matched))
        for label, each in zip(self.labels, self.flows, strict=True):
            console.print(Text(f"{label}: {verdict(each.facts).sentence}"))


def compare(good: ListedCapture, bad: ListedCapture, labels: list[str]) -> CaptureComparison:
    """Compare the largest connection of `bad` with its like in `good`. Raises TcplabError."""
    for capture in (good, bad):
        if not capture.height:
            why = f"{capture.file.path} has no TCP connection to compare."
            raise TcplabError(why, "Check the filter.")
    largest = _largest(good), _largest(bad)
    likenesses = ((_alike(good, bad, largest, columns), name) for columns, name in _LIKENESS)
    places, words = next(
        ((found, f"by {name}") for found, name in likenesses if found),
        (
            (largest[0][0], largest[1][0]),
            "the largest of each, for no two have the same server port",
        ),
    )
    pairs = zip((good, bad), places, strict=True)
    facts = [next(capture.facts([place])) for capture, place in pairs]
    numbers = f"{facts[0].number} of {good.height:,} with {facts[1].number} of {bad.height:,}"
    matched = f"Compared: connection {numbers}, {words}."
    first, second = (ComparedFlow(each, features(each)) for each in facts)
    rows = tuple(ComparedRow.of(figure, (first, second)) for figure in FIGURES)
    return CaptureComparison((labels[0], labels[1]), (first, second), matched, rows)


def _largest(capture: ListedCapture) -> list[int]:
    """Return the places of the connections that opened (of all, if none did) by their size."""
    octets = list(map(sum, capture.values("unique_bytes_sent_a2b", "unique_bytes_sent_b2a")))
    places = attempts(capture)[0] or range(capture.height)
    return nlargest(len(places), places, key=octets.__getitem__)


def _alike(
    good: ListedCapture,
    bad: ListedCapture,
    places: tuple[list[int], list[int]],
    columns: tuple[str, ...],
) -> tuple[int, int] | None:
    """Return the largest connection of `bad` that `good` has too, and the largest such one."""
    keys = [list(capture.values(*columns)) for capture in (good, bad)]
    known: dict[tuple[Any, ...], int] = {}
    for at in places[0]:
        known.setdefault(keys[0][at], at)
    return next(((known[key], at) for at in places[1] if (key := keys[1][at]) in known), None)


MOST = 15  # connections that the terminal shows
_APART = 10**6
"""Nanoseconds by which least delays of both directions differ without a doubt of the clocks."""


def rows(connections: tuple[MatchedConnection, ...]) -> ColumnTable:
    """Return a row for each way of each connection: PathSummary's columns and others; ns."""
    return ColumnTable.of_rows(
        [
            {
                "connection": each.near["connection"],
                "connection_far": each.far["connection"],
                "source": source,
                "target": target,
                **asdict(summary(way)),
                "clock_offset": each.offset,
                "clock_skew": each.drift.skew if each.drift else None,
            }
            for each in connections
            for way, (source, target) in _ways(each)
        ]
    )


def _ways(
    connection: MatchedConnection,
) -> Iterator[tuple[DirectionMatch, tuple[str, str]]]:
    a, b = (f"{connection.near[f'host_{end}']}:{connection.near[f'port_{end}']}" for end in "ab")
    for way, forward in ((connection.forward, True), (connection.back, False)):
        by_a = bool(way.packets["forward"].values[0]) if len(way.packets) else forward
        yield way, (a, b) if by_a else (b, a)


def show(connections: tuple[MatchedConnection, ...], console: Console) -> None:
    sizes = [-len(each.forward.packets) - len(each.back.packets) for each in connections]
    for _, at in sorted(zip(sizes, range(len(sizes)), strict=True))[:MOST]:
        title = f"Connection {connections[at].near['connection']}: both captures together"
        table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
        table.add_column("")
        ways = list(_ways(connections[at]))
        for _, (source, target) in ways:
            table.add_column(Text(f"{source}\n\N{RIGHTWARDS ARROW} {target}"), overflow="fold")
        facts = [_facts(summary(way)) for way, _ in ways]
        for name in facts[0]:
            table.add_row(name, *(Text(of_way[name]) for of_way in facts))
        console.print(table)
    if left := len(connections[MOST:]):
        console.print(f"And {left:,} more connections; --out FOLDER writes them all.")
    console.print(_clocks(connections))


def _facts(path: PathSummary) -> dict[str, str]:
    share, size = fmt.share(path.lost, path.sent), fmt.size(path.lost_bytes)
    lost = f"{path.lost:,} ({share}), {size}" if path.lost else "none"
    undecided = f"; {path.undecided:,} not known" if path.undecided else ""
    extent = fmt.counted(path.largest_extent, "packet")
    return {
        "Packets sent": f"{path.sent:,}",
        "Lost on the way": lost + undecided,
        "Sent needlessly": f"{path.needless:,}",
        "Overtaken": f"{path.reordered:,}, by at most {extent}" if path.reordered else "none",
        "Arrived twice": f"{path.copies:,}",
        "Seen at arrival only": f"{path.unsent:,}",
        "Delay least": fmt.milliseconds(path.delay_least),
        "Delay median": fmt.milliseconds(path.delay_median),
        "Delay greatest": fmt.milliseconds(path.delay_greatest),
    }


def _clocks(connections: tuple[MatchedConnection, ...]) -> str:
    """Describe how far one-way delays can be believed."""
    drift, offset = connections[0].drift, connections[0].offset
    rate = f"{drift.skew * 1e6:,.1f} ppm" if drift else ""  # microseconds a second
    if offset:
        gained = f", and it gained {rate}, which was taken out too" if drift else ""
        return f"The second capture's clock was taken back by {fmt.milliseconds(offset)}{gained}."
    if drift:
        most = fmt.milliseconds(drift.greatest)
        return (
            f"Note: the clocks drift: the second capture's gains {rate} on the first's, by"
            f" which delays are wrong by up to {most}. --align-clocks takes it out."
        )
    ahead = _least([each.forward for each in connections])
    back = _least([each.back for each in connections])
    if min(ahead, back) < 0:
        return (
            "Negative delays: the clocks differ. --align-clocks takes the two directions' least"
            " delays as equal."
        )
    if abs(ahead - back) > max(_APART, (ahead + back) // 10):
        differ, half = map(fmt.milliseconds, (abs(ahead - back), abs(ahead - back) // 2))
        return (
            f"Note: the least delays of the two directions differ by {differ}: the clocks are"
            f" {half} apart, or the path is longer one way. --align-clocks takes them as equal."
        )
    return "Delays are by the two captures' own clocks; --align-clocks takes a difference out."


def _least(ways: Iterable[DirectionMatch]) -> int:
    return min((x for way in ways if (x := summary(way).delay_least) is not None), default=0)
