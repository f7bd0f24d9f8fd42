"""What `--strict` asks of a run: a network that did what was asked of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from topologies.foundation.errors import TcplabError

GOOD = "good"
STRICT = "Fail unless the network is good: all that was measured of it is as asked for."
"""What help says of the option."""
_REMEDY = "Its page has a table of what was asked and what was measured; docs/verdict.md explains."


def require_good_network(run: Path) -> None:
    """Raises TcplabError with the first reason unless the manifest of `run` calls it good."""
    network = json.loads((run / "manifest.json").read_text()).get("network")
    if not network:
        raise TcplabError("Nothing could be said about the network of this run.", _REMEDY)
    if not is_good(network):
        reason = next(iter(network["reasons"]), "")
        raise TcplabError(f"The network is {network['verdict']}: {reason}", _REMEDY)


def require_good_points(counts: Mapping[str, int]) -> None:
    """Raises TcplabError unless the network of every point is good; `counts` is by verdict."""
    others = {verdict: number for verdict, number in counts.items() if verdict != GOOD}
    if others:
        words = ", ".join(f"{number} {verdict}" for verdict, number in others.items())
        raise TcplabError(
            f"The network of {sum(others.values())} points is not good: {words}.", _REMEDY
        )


def is_good(network: Mapping[str, Any]) -> bool:
    """Whether a verdict, as manifests and records of points have it, calls the network good."""
    return bool(network["verdict"] == GOOD)
