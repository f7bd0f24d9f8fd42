"""What happened: a run directory becomes records, then measures, then tables, graphs and written
answers.

Needs neither root nor Mininet nor the lab kernel: everything is read from the run directory,
which is untrusted input (see `analysis.records.run_directory`). Any capture is read by
`analysis.read`:

    import analysis
    read = analysis.read("trace.pcap", packets=True)
    read.connections, read.packets  # data frames; analysis.flows.columns defines their columns
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from analysis.flows import FileFacts, Reading, read

__all__ = ["FileFacts", "Reading", "read"]


def __getattr__(name: str) -> Any:
    """NumPy and the engine are loaded by whoever asks for them first."""
    if name in __all__:
        return getattr(import_module(f"{__name__}.flows"), name)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
