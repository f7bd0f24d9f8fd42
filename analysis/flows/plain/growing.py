"""A capture that grows.

Octets are taken as they come, and what is counted can be looked at between them. Memory is bounded:
of more than `most` connections those that are silent longest are forgotten.
"""

from __future__ import annotations

from typing import Any

from analysis.flows.plain import connection_rows, packet_records
from analysis.flows.plain.column_frame import ColumnFrame
from analysis.flows.plain.connection_table import ConnectionTable
from analysis.flows.plain.pcapng_blocks import PcapngSection, pcapng_records
from analysis.flows.plain.stream import ByteStream


class Follower:
    """What was counted of the octets so far; of more than `most` connections half are forgotten."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._source = ByteStream(iter(()))
        self._headers = packet_records.FileHeaders()
        self._table = ConnectionTable(compatible=False, packets=False)
        self._format = ""
        self._begun: packet_records.PcapLayout | PcapngSection | None = None
        self._fault: str | None = None

    def feed(self, octets: bytes) -> None:
        """Takes the next octets of the file; nothing is taken after damage.

        Raises ValueError if it is no capture.
        """
        if self._fault:
            return
        self._source.append(octets)
        if self._begun is None:
            self._begin()
        if self._begun is not None:
            fault = self._records(self._begun)
            # What is cut may come yet.
            self._fault = None if fault == "cut" else fault
        if len(self._table.connections) > self._most:
            self._table.keep(self._most // 2)

    def end(self) -> None:
        """No more octets come: a record that is not whole is damage, and so is a header."""
        if self._begun is None or self._source.window:
            self._fault = self._fault or "cut"

    def results(self) -> dict[str, Any]:
        """As `analyse`, of what came so far and is remembered, with the number of all connections.

        `format` is empty until it is known.
        """
        facts = self._table.facts(self._headers)
        facts.update(format=self._format, compression="", bytes=self._source.offset)
        facts.update(fault=self._fault, fault_offset=self._source.offset if self._fault else None)
        facts["connections_in_all"] = self._table.count
        frame = ColumnFrame()
        for connection in self._table.connections:
            connection_rows.add(frame, connection, self._table.network(connection), False)
        facts["connections"] = frame.handed() if self._table.connections else {}
        return facts

    def _begin(self) -> None:
        source, headers = self._source, self._headers
        if not source.need(4):
            return
        recognised = packet_records.recognise(source)
        if recognised is None:
            raise ValueError("no capture")
        if recognised[0] == "pcapng":
            self._begun = PcapngSection(headers)
        else:
            self._begun = packet_records.begin_pcap(source, *recognised, headers)
        self._format = recognised[0] if self._begun else ""

    def _records(self, begun: packet_records.PcapLayout | PcapngSection) -> str | None:
        """Counts the records that are there; what is wrong with the rest."""
        if isinstance(begun, PcapngSection):
            batches = pcapng_records(self._source, begun)
        else:
            batches = packet_records.pcap_records(self._source, begun)
        return self._table.take_all(batches)
