"""What tests ask of `flows.read`: few words for one connection's columns and packets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polars as pl
from click.testing import CliRunner, Result

from analysis import flows
from analysis.__main__ import main
from analysis.flows.columns import KINDS

Look = Callable[..., "flows.Reading"]
"""The fixture `look`: the reading of a capture, a flow or a file's bytes by the engine."""


def analyze(*words: object, width: int = 80, status: int = 0) -> Result:
    """Call analyze, which has to end with `status`."""
    words = ("analyze", *map(str, words))
    result = CliRunner().invoke(main, words, env={"COLUMNS": str(width)})
    assert result.exit_code == status, result.output
    return result


def only_connection(read: flows.Reading) -> dict[str, Any]:
    """The columns of the only connection."""
    return read.connections.row(0, named=True) if len(read.connections) == 1 else _refuse(read)


def _refuse(read: flows.Reading) -> dict[str, Any]:
    raise AssertionError(f"{len(read.connections)} connections, not one")


def way(read: flows.Reading, forward: bool = True) -> pl.DataFrame:
    """The packets of one direction."""
    assert read.packets is not None
    return read.packets.filter(pl.col("forward") == forward)


def sent(read: flows.Reading, forward: bool = True) -> pl.DataFrame:
    """The packets with payload of one direction."""
    return way(read, forward).filter(pl.col("payload") > 0)


def column(read: flows.Reading, name: str, forward: bool = True) -> list[Any]:
    return way(read, forward)[name].to_list()


def kinds(read: flows.Reading, forward: bool = True) -> list[str]:
    """Each packet's kind, by name."""
    return [KINDS[kind][0] for kind in way(read, forward)["kind"]]


def repetitions(read: flows.Reading, forward: bool = True) -> list[str]:
    """The kinds of the packets that carry nothing new but are more than an ACK."""
    return [kind for kind in kinds(read, forward) if kind not in ("none", "new")]
