"""Laws of the literature, which reports of studies compare with measurements."""

from __future__ import annotations

import tomllib
from pathlib import Path

from analysis.theory.law import Law


def law(file: str) -> Law:
    """Read law.toml next to a module's `file`."""
    text = Path(file).with_name("law.toml").read_text(encoding="utf-8")
    return Law(**tomllib.loads(text))
