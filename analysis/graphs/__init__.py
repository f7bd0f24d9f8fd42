"""Graphs of captures: one page with everything, and pictures for a text.

    captures = [graphs.Capture("h1-eth0", read.packet_table, read.connection_table)]
    Path("graphs.html").write_text(graphs.page("SACK on", captures))
    graphs.write_pictures(captures, Path("plots"), formats=("png", "svg"))

A file a graph turns packets into layers of marks (`Graph`); two renderers draw any graph.
"""

from typing import TYPE_CHECKING, Any

from analysis.graphs.capture import Capture
from analysis.graphs.webpage import page

if TYPE_CHECKING:
    from analysis.graphs.pictures import write_pictures

__all__ = ["Capture", "page", "write_pictures"]


def __getattr__(name: str) -> Any:
    """`write_pictures` only when it is used: matplotlib takes a third of a second."""
    if name != "write_pictures":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from analysis.graphs.pictures import write_pictures

    return write_pictures
