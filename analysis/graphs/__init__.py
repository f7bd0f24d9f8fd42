"""Graphs of captures: `page("SACK on", [Capture.of("h1-eth0", reading)])` is one HTML file."""

from analysis.graphs.capture import Capture
from analysis.graphs.webpage import PageAnswer, page

__all__ = ["Capture", "PageAnswer", "page"]
