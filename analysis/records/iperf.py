"""Output of iperf version 2: the summary line, intervals, and the count of a UDP server."""

import re
from dataclasses import dataclass

_NUMBER = r"\d{1,12}(?:\.\d{1,9})?"
_LINE = re.compile(
    rf"^\[\s*(?:\d+|SUM)\]\s+(?P<start>{_NUMBER})\s*-\s*(?P<end>{_NUMBER}) sec"
    rf"\s+(?P<amount>{_NUMBER}) (?P<size>[KMG]?)Bytes\s+(?P<rate>{_NUMBER})"
    r" (?P<scale>[KMG]?)bits/sec",
    re.MULTILINE,
)
_DATAGRAMS = re.compile(
    rf"bits/sec\s+(?P<jitter>{_NUMBER}) ms\s+(?P<lost>\d{{1,12}})/\s*(?P<sent>\d{{1,12}}) \("
)
_BINARY = {"": 1 / 1024, "K": 1.0, "M": 1024.0, "G": 1024.0**2}
_DECIMAL = {"": 1e-3, "K": 1.0, "M": 1e3, "G": 1e6}


@dataclass(frozen=True)
class IperfSummary:
    """The last line of iperf, to its three digits.

    `seconds` long, `transfer` in KByte (iperf's are 1024 bytes), `rate` in kbit/s (iperf's are
    1000 bits).
    """

    seconds: float
    transfer: float
    rate: float


def sent_part(output: str) -> str:
    """Return the client's part of its output.

    A UDP client then prints the report that its server sent, which is not its own.
    """
    return output.partition("Server Report:")[0]


def read_summary(output: str) -> IperfSummary | None:
    """The summary of the whole run: the last of the longest lines, SUM if there are streams."""
    lines = list(_LINE.finditer(output))
    if not lines:
        return None
    longest = max(_seconds(line) for line in lines)
    line = [line for line in lines if _seconds(line) >= 0.99 * longest][-1]
    transfer = float(line["amount"]) * _BINARY[line["size"]]
    return IperfSummary(_seconds(line), transfer, float(line["rate"]) * _DECIMAL[line["scale"]])


def _seconds(line: re.Match[str]) -> float:
    return float(line["end"]) - float(line["start"])


@dataclass(frozen=True)
class IperfInterval:
    """A line of `iperf -i`: seconds since the connection began, and kbit/s."""

    start: float
    end: float
    rate: float


def read_intervals(output: str) -> list[IperfInterval]:
    """All whole intervals in order; empty where iperf was not asked for any (-i).

    A line after the last whole one is of the time that the last write took beyond the end, and
    no second like others.
    """
    lines = list(_LINE.finditer(output))
    longest = max((_seconds(line) for line in lines), default=0.0)
    return [
        IperfInterval(
            float(line["start"]), float(line["end"]), float(line["rate"]) * _DECIMAL[line["scale"]]
        )
        for line in lines
        if _seconds(line) < 0.99 * longest
        and abs(_seconds(line) - _seconds(lines[0])) < 0.1 * _seconds(lines[0])
    ]


@dataclass(frozen=True)
class Datagrams:
    """A UDP server's count: jitter in ms (RFC 1889), datagrams lost and sent."""

    jitter: float
    lost: int
    sent: int

    @property
    def share(self) -> float:
        """The share lost, in percent."""
        return 100 * self.lost / self.sent if self.sent else 0.0


def read_datagrams(output: str) -> Datagrams | None:
    """The count in the last line that has one."""
    lines = list(_DATAGRAMS.finditer(output))
    if not lines:
        return None
    return Datagrams(float(lines[-1]["jitter"]), int(lines[-1]["lost"]), int(lines[-1]["sent"]))
