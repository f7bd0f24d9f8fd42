"""What TCP did in a capture, in one streaming pass.

Connections and packets with times, losses and their kinds. `flows.read("h1-eth0.pcap",
packets=True)` gives a frame of connections, a frame of packets and facts of the file;
analysis.flows.columns defines every column.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from analysis.flows.installed_engines import find_engine

if TYPE_CHECKING:
    from analysis.flows.reader import FileFacts, Reading, read

__all__ = ["FileFacts", "Reading", "find_engine", "read"]


def __getattr__(name: str) -> Any:
    """Who prints text does not need the reader of tables."""
    if name in __all__:
        return getattr(import_module(f"{__name__}.reader"), name)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
