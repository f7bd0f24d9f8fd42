"""The libraries of a cluster, which one machine does without: the extra `cluster` of tcplab."""

from __future__ import annotations

from importlib.util import find_spec

from topologies.foundation.errors import TcplabError


def require_cluster_extra() -> None:
    """Raises TcplabError if Dask is not installed."""
    if not find_spec("distributed"):
        raise TcplabError(
            "A cluster needs Dask, which is not installed.",
            "Install it in the same environment: pip install 'distributed>=2024.5'. In a checkout,"
            " ./tcplab does so itself.",
        )
