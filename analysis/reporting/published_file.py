"""The file of a study's published numbers, read without what measures: a run names its targets."""

from __future__ import annotations

import csv
from pathlib import Path


def published_rows(file: Path) -> list[dict[str, str]]:
    """The rows of a study's published.csv, by column."""
    return list(csv.DictReader(file.read_text(encoding="utf-8").splitlines()))
