"""Graphs of captures: one page with everything, pictures for a text, and files for xplot.

    frames = [graphs.Capture("h1-eth0", read.packets, read.connections)]
    Path("graphs.html").write_text(graphs.page("SACK on", frames))
    graphs.write_pictures(frames, Path("plots"), formats=("png", "svg"))
    graphs.write_xplot(frames, Path("graphs"))

A file a graph turns packets into layers of marks (`Graph`); three renderers draw any graph.
"""

from analysis.graphs.capture import Capture
from analysis.graphs.still_pictures import write_pictures
from analysis.graphs.webpage import page
from analysis.graphs.xplot_files import write_xplot

__all__ = ["Capture", "page", "write_pictures", "write_xplot"]
