"""What a sweep keeps of a run: rows of its flows, and the texts that its study keeps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from analysis.measures.flow_rows import rows_of
from experiments.definition.catalogue import part


def measured(raw: Path, data: Any) -> dict[str, Any]:
    """The rows and statistics of the raw files in a folder that the spec `data` left."""
    return {"rows": rows_of(raw, data), "statistics": _statistics(data["name"], raw, data)}


def _statistics(study: str, raw: Path, data: Any) -> dict[str, str]:
    """A text for each condition, by its name, if the study keeps such."""
    module = part(study, "statistics_file")
    texts: dict[str, str] = module.statistics_of(raw, data) if module else {}
    return texts
