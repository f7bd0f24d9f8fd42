"""What a sweep keeps of a run: rows of its flows, texts of its study, the network's verdict."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from analysis.measures.results import rows_of
from analysis.network.verdict import judge_network
from analysis.records.run_directory import run_of
from experiments.harness.definition.catalogue import part


def measured(raw: Path, data: Any, seed: int) -> dict[str, Any]:
    """The rows and statistics of the raw files in a folder that the spec `data` left.

    And the verdict on their network, without the list of all that was compared.
    """
    network = judge_network(run_of(raw, data, seed)).as_data()
    del network["checks"]
    statistics = _statistics(data["name"], raw, data)
    return {"rows": rows_of(raw, data), "statistics": statistics, "network": network}


def _statistics(study: str, raw: Path, data: Any) -> dict[str, str]:
    """A text for each condition, by its name, if the study keeps such."""
    module = part(study, "statistics_file")
    texts: dict[str, str] = module.statistics_of(raw, data) if module else {}
    return texts
