"""Graphs of captures: one page with everything, and pictures for a text.

    captures = [graphs.Capture.of("h1-eth0", read)]
    Path("graphs.html").write_text(graphs.page("SACK on", captures))

A file a graph turns packets into layers of marks (`Graph`); two renderers draw any graph.
"""

from analysis.graphs.capture import Capture
from analysis.graphs.webpage import PageAnswer, page

__all__ = ["Capture", "PageAnswer", "page"]
