"""A capture that grows, fed in pieces to the engine that is there."""

from __future__ import annotations

from typing import Any

from analysis.flows.installed_engines import Engine, find_engine
from analysis.flows.reader import FileFacts, file_facts
from topologies.foundation.errors import TcplabError

MOST = 20_000
"""Connections that are remembered at most."""


class FollowedCapture:
    """What came so far of the capture with this name; memory does not grow with its length.

    Of more than `most` connections the half that was silent longest is forgotten.
    """

    def __init__(self, name: str, engine: Engine = "auto", most: int = MOST) -> None:
        self.name = name
        self._follower = find_engine(engine).Follower(most)

    def feed(self, octets: bytes) -> None:
        """Takes the next octets. Raises TcplabError if it is no capture."""
        try:
            self._follower.feed(octets)
        except ValueError as error:
            raise TcplabError(
                f"{self.name} is no capture that can be followed.",
                "It must be pcap or pcapng, not compressed: as tcpdump -U -w writes it.",
            ) from error

    def end(self) -> None:
        """No more octets come: a record that is not whole is damage from now on."""
        self._follower.end()

    def columns(self) -> tuple[dict[str, Any], FileFacts, int]:
        """As analysis.flows.reader.columns, and the number of connections with those forgotten.

        The file's `format` is empty until its header came.
        """
        results = self._follower.results()
        return results, file_facts(self.name, results), results["connections_in_all"]
