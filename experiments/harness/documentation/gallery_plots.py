"""A plot of the gallery: some graphs of a report's or a sweep's page, as a page of their own.

They stay what they are there: data that the page's scripts draw, to zoom into, light and dark.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from topologies.foundation.errors import TcplabError

_GROUP = re.compile(r'<div class="group".*?<p class="small">.*?</p>\n</div>', re.DOTALL)
_GRAPH = re.compile(r'<section class="graph" id="([^"]+)"')
_DATA = re.compile(r'(<script type="application/json" id="graphs">)(.*?)(</script>)', re.DOTALL)
_HEIGHT = """<script>
const tell = () => parent.postMessage(document.body.offsetHeight, "*");
new ResizeObserver(tell).observe(document.body);
</script>
"""
"""Tells the page around it how high it is, which differs with its width."""


def plots_page(page: str, wanted: Sequence[str]) -> str:
    """The page with the groups alone that have graphs that begin with a `wanted` name.

    Raises TcplabError, with the graphs that there are, if a group is missing.
    """
    begun = tuple(f'<section class="graph" id="{name}' for name in wanted)
    groups = [group for group in _GROUP.findall(page) if any(each in group for each in begun)]
    data = _DATA.search(page)
    if len(groups) != len(wanted) or data is None:
        raise TcplabError(
            f"A page has not all of {', '.join(wanted)}.",
            f"It has {', '.join(_GRAPH.findall(page)) or 'no graphs'}.",
        )
    keys = {key for group in groups for key in _GRAPH.findall(group)}
    head, scripts = page[: page.index("<body")], page[data.end() :]
    return "".join([head, "<body>\n", *groups, _only(data, keys), scripts, _HEIGHT])


def _only(data: re.Match[str], keys: set[str]) -> str:
    """The script's data without other graphs, which would be drawn below."""
    content: dict[str, Any] = json.loads(data[2])
    content["graphs"] = [graph for graph in content["graphs"] if graph["key"] in keys]
    return data[1] + json.dumps(content).replace("<", "\\u003c") + data[3]
