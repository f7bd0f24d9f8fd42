"""What a reproduction keeps of a run whose captures it needs: rows with what the captures tell."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from analysis.measures.results import measure_raw
from experiments.harness.sweep import measured_rows


def measured(raw: Path, data: Any, seed: int) -> dict[str, Any]:
    """As measured_rows, with what the captures tell in the row of the flow that they are about."""
    kept, captured = measured_rows.measured(raw, data, seed), measure_raw(raw, data)
    rows = [
        {**row, **captured.get((str(row["condition"]), str(row["flow"])), {})}
        for row in kept["rows"]
    ]
    return kept | {"rows": rows}
