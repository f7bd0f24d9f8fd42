"""The network of a run as a picture: nodes, links as thick as their rate, their settings."""

from collections.abc import Iterable
from dataclasses import dataclass
from math import log10

from analysis import rendering
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
    joined: dict[tuple[Place, Place], Link] = {}
    for link in network.links:
        joined.setdefault((places[link.left], places[link.right]), link)
    context = {
        "boxes": boxes,
        "links": [
            (start, end, _thickness(link), _settings(link, end[0] >= start[0]))
            for (start, end), link in joined.items()
        ],
        "described": [
            f"{link.left} to {link.right}" + (f" ({'; '.join(words)})" if words else "")
            for link in network.links[:8]
            for words in [_settings(link)]
        ],
        "left": left - _WIDE / 2 - _EDGE,
        "top": top - _HIGH / 2 - _EDGE - 20,
        "width": right - left + _WIDE + 2 * _EDGE,
        "height": low - top + _HIGH + 2 * _EDGE + 34,
        "wide": _WIDE,
        "high": _HIGH,
    }
    return rendering.render("network.html", context)


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


def _thickness(link: Link) -> float:
    """By the logarithm of the rate: 100 kbit/s is thin, 1 Gbit/s thick."""
    channel = link.rightward or link.leftward
    if channel is None:
        return _THIN
    share = (log10(channel.bandwidth.base) - 5) / 4
    return round(_THIN + 1 + (_THICK - _THIN - 1) * min(1.0, max(0.0, share)), 1)


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
