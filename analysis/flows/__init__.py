"""TCP connections and packets of a capture, measured in one streaming pass.

`flows.read("h1-eth0.pcap", packets=True)` returns tables of connections and packets, and facts of
the file. analysis.flows.columns defines every column. The engine is the crate in `core/`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from analysis.flows.reader import FileFacts, Reading, load_engine, read

__all__ = ["FileFacts", "Reading", "load_engine", "read"]


def __getattr__(name: str) -> Any:
    """Load the reader when it is first used."""
    if name in __all__:
        return getattr(import_module(f"{__name__}.reader"), name)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
