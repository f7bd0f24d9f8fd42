"""Links of a network, as tests change them."""

from __future__ import annotations

from dataclasses import dataclass

from experiments.programs.program import Ordered, nanoseconds
from topologies.foundation.data import from_data, to_data
from topologies.topology_spec import Channel, Port

BANDWIDTH = "100mbit"


def channel(**values: str) -> Channel:
    """Return a direction of a link from text, such as delay="150ms". Raises UsageError."""
    made: Channel = from_data(Channel, {"bandwidth": BANDWIDTH, **values}, "link")
    return made


def during(at: str | float, for_: str | float | None) -> dict[str, int | None]:
    """Return the members of an order that say when it begins and how long it lasts."""
    return {"at": nanoseconds(at), "lasts": None if for_ is None else nanoseconds(for_)}


@dataclass(frozen=True)
class NetworkLink:
    """Shaped ports of the network, changed together."""

    network: Ordered
    ports: tuple[Port, ...]

    def down(self, at: str | float = 0.0, for_: str | float | None = None) -> None:
        """Lose every packet, `at` a time from now, until the link changes or `for_` is over."""
        self.change(at, for_, loss="100%")

    def change(self, at: str | float = 0.0, for_: str | float | None = None, **values: str) -> None:
        """Change values such as loss="10%" from a moment on, or for a time."""
        for port in self.ports:
            from_data(Channel, {**to_data(port.channel), **values}, port.name)
        names = [port.name for port in self.ports]
        self.network.order("link", ports=names, values=values, **during(at, for_))
