"""Ports of this computer."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from topologies.foundation.errors import TcplabError


@contextmanager
def told_if_taken(port: int) -> Iterator[None]:
    """Around what begins to listen there. Raises TcplabError if it cannot."""
    try:
        yield
    except OSError as error:
        raise TcplabError(
            f"Cannot listen on port {port}: {error.strerror}.", "Choose another with --port."
        ) from None
