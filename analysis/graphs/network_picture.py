"""The network of a run as a picture: nodes, links as thick as their rate, their settings."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from math import log10

from topologies.spec import Link, TopologySpec

_COLUMN, _ROW = 184, 62  # px between nodes
_WIDE, _HIGH = 60, 34  # px of a node
_EDGE = 8
_MOST_ROWS = 3  # nodes above each other at one switch; more become one box
_THIN, _THICK = 1.5, 9.0

Place = tuple[float, float]


@dataclass(frozen=True)
class _Box:
    """A node, or several that hang at the same switch."""

    names: tuple[str, ...]
    kind: str
    place: Place

    @property
    def label(self) -> str:
        first, *others = self.names
        return f"{first} \N{HORIZONTAL ELLIPSIS} {others[-1]}" if others else first


def network_picture(network: TopologySpec) -> str:
    boxes = [*_boxes(network)]
    places = {name: box.place for box in boxes for name in box.names}
    left, top = (min(place[axis] for place in places.values()) for axis in (0, 1))
    right, low = (max(place[axis] for place in places.values()) for axis in (0, 1))
    width, height = right - left + _WIDE + 2 * _EDGE, low - top + _HIGH + 2 * _EDGE + 34
    corner = f"{left - _WIDE / 2 - _EDGE:g} {top - _HIGH / 2 - _EDGE - 20:g}"
    drawn = [*_links(network, places), *(_drawn(box) for box in boxes)]
    links = ", ".join(
        f"{link.left} to {link.right}" + (f" ({'; '.join(words)})" if words else "")
        for link in network.links[:8]
        for words in (_settings(link),)
    )
    return (
        f'<svg class="network" viewBox="{corner} {width:g} {height:g}" role="img"'
        f' aria-label="The network: {escape(links)}" style="max-width: {width:g}px">'
        f"{''.join(drawn)}</svg>"
    )


def _boxes(network: TopologySpec) -> Iterable[_Box]:
    """Yield the longest way between two hosts in a row, and what hangs at it above and below."""
    spine = _spine(network)
    column = {name: at * _COLUMN for at, name in enumerate(spine)}
    yield from (_Box((name,), network.kind(name), (column[name], 0.0)) for name in spine)
    for switch in spine[1:-1] or spine:
        peers = (port.peer for port in network.ports_of[switch])
        x = column[switch]
        if len(spine) > 3:
            x += _COLUMN * ((switch == spine[-2]) - (switch == spine[1]))
        yield from _stacked(network, tuple(name for name in peers if name not in spine), x)


def _stacked(network: TopologySpec, names: tuple[str, ...], x: float) -> Iterable[_Box]:
    if len(names) > _MOST_ROWS:
        yield _Box(names, network.kind(names[0]), (x, _ROW))
        return
    for at, name in enumerate(names):
        side = (at // 2 + 1) * (1 if at % 2 == 0 else -1)
        yield _Box((name,), network.kind(name), (x, side * _ROW * 1.5))


def _spine(network: TopologySpec) -> list[str]:
    hosts = network.named("host") or tuple(node.name for node in network.nodes)
    ways = [
        [source, *(port.peer for port in network.path(source, target))]
        for source in hosts[:1]
        for target in hosts
    ]
    farthest = max(ways, key=len)[-1]
    back = [[farthest, *(port.peer for port in network.path(farthest, target))] for target in hosts]
    longest = max(back, key=len)
    return longest if longest[0] == hosts[0] else longest[::-1]


def _links(network: TopologySpec, places: dict[str, Place]) -> Iterable[str]:
    drawn = set[tuple[Place, Place]]()
    for link in network.links:
        ends = places[link.left], places[link.right]
        if ends not in drawn:
            drawn.add(ends)
            yield _link(link, *ends)


def _link(link: Link, start: Place, end: Place) -> str:
    channel = link.rightward or link.leftward
    (x1, y1), (x2, y2) = start, end
    kind = "cable" if channel is None else "pipe"
    width = _THIN
    if channel:  # by the logarithm of the rate: 100 kbit/s is thin, 1 Gbit/s thick
        share = (log10(channel.bandwidth.base) - 5) / 4
        width = round(_THIN + 1 + (_THICK - _THIN - 1) * min(1.0, max(0.0, share)), 1)
    line = (
        f'<line class="{kind}" x1="{x1:g}" y1="{y1:g}" x2="{x2:g}" y2="{y2:g}"'
        f' stroke-width="{width:g}"/>'
    )
    return line + "".join(_words(_settings(link, x2 >= x1), (x1 + x2) / 2, (y1 + y2) / 2, x1 == x2))


def _words(lines: Sequence[str], x: float, y: float, upright: bool) -> Iterable[str]:
    """Yield the lines above and below a link, or at the right of one that is upright."""
    for at, line in enumerate(lines):
        if upright:
            place = f'class="right" x="{x + 10:g}" y="{y + 13 * (at - 1) + 4:g}"'
        else:
            place = f'x="{x:g}" y="{y - 10 if at == 0 else y + 5 + 13 * at:g}"'
        yield f"<text {place}>{escape(line)}</text>"


def _settings(link: Link, is_rightward: bool = True) -> list[str]:
    """Return the settings of a link: rate and delay, then loss, jitter and queue."""
    channel = link.rightward or link.leftward
    if channel is None:
        return []
    delay = f", {channel.delay}" * bool(channel.delay.base)
    second = [f"{channel.loss} loss"] * bool(channel.loss.base)
    second += [f"jitter {channel.jitter}"] * bool(channel.jitter.base)
    queue = channel.discipline if channel.discipline != "fifo" else "queue"
    way, arrives_right = "", bool(link.rightward) is is_rightward
    if not (link.rightward and link.leftward):
        way = "\N{RIGHTWARDS ARROW} " if arrives_right else "\N{LEFTWARDS ARROW} "
    lines = [f"{way}{channel.bandwidth}{delay}", ", ".join(second), f"{queue} {channel.queue}"]
    return [line for line in lines if line]


def _drawn(box: _Box) -> str:
    x, y = box.place
    corner = 6 if box.kind == "host" else _HIGH / 2
    count = f"{len(box.names)} hosts</text>"
    several = f'<text class="count" x="{x:g}" y="{y + _HIGH / 2 + 14:g}">{count}'
    return (
        f'<rect class="{box.kind}" x="{x - _WIDE / 2:g}" y="{y - _HIGH / 2:g}" width="{_WIDE}"'
        f' height="{_HIGH}" rx="{corner:g}"/>'
        f'<text class="name" x="{x:g}" y="{y + 5:g}">{escape(box.label)}</text>'
        + (several if len(box.names) > 1 else "")
    )
