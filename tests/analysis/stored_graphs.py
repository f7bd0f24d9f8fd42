"""The graphs that a page brings for its script."""

from __future__ import annotations

import json
import re
from typing import Any


def graphs_of(page: str) -> list[dict[str, Any]]:
    """As analysis.graphs.stored wrote them."""
    data = re.search(r'<script type="application/json" id="graphs">(.*?)</script>', page, re.DOTALL)
    assert data, "the page has no graphs"
    graphs: list[dict[str, Any]] = json.loads(data[1])["graphs"]
    return graphs
