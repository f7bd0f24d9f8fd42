"""What the files of one condition under one seed say; each is parsed when it is asked for, once."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path

from analysis.records import socket_samples
from analysis.records.counters import CountersFile
from analysis.records.evidence_file import EnvironmentFile, EvidenceFile
from analysis.records.json_reader import ParsedFile, parse
from analysis.records.problems import Problems
from analysis.records.qdiscs import QdiscsFile
from analysis.records.socket_samples import SocketSample
from topologies.foundation import untrusted


class TrialFiles:
    """The files in `folder`; problems name them by their path, which begins with `prefix`."""

    def __init__(self, folder: Path, prefix: str = "") -> None:
        self.folder = folder
        self.prefix = prefix

    def counters(self, problems: Problems) -> CountersFile:
        """Less those that are no measure on the kernel that counted."""
        return self._counters.noted(problems, f"{self.prefix}counters.json").on_kernel(self._kernel)

    def qdiscs(self, problems: Problems) -> QdiscsFile:
        return self._qdiscs.noted(problems, f"{self.prefix}qdiscs.json")

    def evidence(self, problems: Problems) -> EvidenceFile:
        return self._evidence.noted(problems, f"{self.prefix}evidence.json")

    def reordering(self) -> QdiscsFile | None:
        """What hosts that reorder counted; None if the run has none."""
        path = self.folder / "reordering.json"
        return parse(QdiscsFile, path).record if path.exists() else None

    def printed(self, flow: str, side: str) -> str:
        """What iperf's `client` or `server` of a flow printed; nothing if it left no file."""
        return untrusted.text_if_any(self.folder, f"{flow}.{side}.txt")

    def samples(self, host: str) -> dict[str, list[SocketSample]]:
        """The samples of a host's sockets by their remote port; none if it left no file.

        They are large, so they are not kept. Raises ValueError for a broken file.
        """
        lines = untrusted.text_if_any(self.folder, f"{host}.sockets.jsonl").splitlines()
        return socket_samples.by_port(lines)

    @cached_property
    def _counters(self) -> ParsedFile[CountersFile]:
        return parse(CountersFile, self.folder / "counters.json")

    @cached_property
    def _kernel(self) -> str:
        return parse(EnvironmentFile, self.folder.parent / "environment.json").record.kernel

    @cached_property
    def _qdiscs(self) -> ParsedFile[QdiscsFile]:
        return parse(QdiscsFile, self.folder / "qdiscs.json")

    @cached_property
    def _evidence(self) -> ParsedFile[EvidenceFile]:
        return parse(EvidenceFile, self.folder / "evidence.json")
