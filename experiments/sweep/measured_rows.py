"""What a sweep keeps of a run: rows of its flows, and the kernel's counters of its conditions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from analysis.measures.counter_text import statistics_of
from analysis.measures.flow_rows import rows_of


def measured(raw: Path, data: Any) -> dict[str, Any]:
    """The rows and statistics of the raw files in a folder that the spec `data` left."""
    return {"rows": rows_of(raw, data), "statistics": statistics_of(raw, data)}
