"""Options of one call of analyze."""

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from analysis.analyze import files
from analysis.analyze.connections import ConnectionChoice
from analysis.flows.reader import TUNNELS, CaptureMoment, CapturePeriod
from topologies.errors import TcplabError, UsageError

_SECONDS = re.compile(r"\d+(\.\d+)?")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LARGEST = 2**62 // 10**9
"""Seconds; times of captures end there."""


def moment(text: str) -> CaptureMoment:
    """Seconds since the first packet, as 12.5, or a time, as 2026-11-22T10:00:00.5+01:00.

    A time without a zone is in UTC. Raises UsageError.
    """
    if _SECONDS.fullmatch(text) and float(text) < _LARGEST:
        whole, _, fraction = text.partition(".")
        return CaptureMoment(int(whole) * 10**9 + int(fraction[:9].ljust(9, "0")))
    try:
        time = datetime.fromisoformat(text)
    except ValueError as error:
        raise UsageError(
            f"'{text}' is no moment.",
            "Give seconds since the first packet, such as 12.5, or a time such as"
            " 2026-11-22T10:00:00.",
        ) from error
    since = (time if time.tzinfo else time.replace(tzinfo=UTC)) - _EPOCH
    return CaptureMoment(since // timedelta(microseconds=1) * 1000, is_relative=False)


def tunnel(text: str) -> tuple[int, str]:
    """Return port and tunnel of `PORT=TUNNEL`. Raises UsageError."""
    port, _, name = text.partition("=")
    if not re.fullmatch(r"\d{1,5}", port) or int(port) >= 2**16 or name not in TUNNELS:
        raise UsageError(
            f"--decode-as {text} is no port of UDP with a tunnel.",
            f"For example: 14789=vxlan. It takes {', '.join(TUNNELS)}.",
        )
    return int(port), name


@dataclass(frozen=True)
class AnalyzeOptions:
    """The options of one call. `write` is empty without --out."""

    out: Path | None
    write: tuple[str, ...]
    as_json: bool
    events: bool
    responses: bool
    since: str | None
    until: str | None
    compatible: bool
    partial: bool
    connection: tuple[int, ...]
    host: tuple[str, ...]
    port: tuple[int, ...]
    where: str | None
    decode_as: tuple[str, ...]
    sort: str
    compare: bool
    match: bool
    mss: int | None
    align: bool
    dedup: Path | None
    live: bool
    interval: float

    @property
    def choice(self) -> ConnectionChoice:
        return ConnectionChoice(self.connection, self.host, self.port, self.where)

    @property
    def in_tables(self) -> bool:
        """True if the call needs tables of NumPy: a choice, files or events."""
        return bool(self.choice or self.out or self.events)

    @property
    def period(self) -> CapturePeriod | None:
        """Of --from and --to. Raises UsageError for what is no moment."""
        if self.since is None and self.until is None:
            return None
        usual = CapturePeriod()
        return CapturePeriod(
            moment(self.since) if self.since else usual.since,
            moment(self.until) if self.until else usual.until,
        )

    @property
    def tunnels(self) -> dict[int, str]:
        """Tunnels of --decode-as by port. Raises UsageError."""
        return dict(map(tunnel, self.decode_as))

    @property
    def packets(self) -> bool:
        """True if a row per packet is needed; without, memory does not grow with the file."""
        return self.match or self.events or bool(files.OF_PACKETS & set(self.write))


def check(paths: Sequence[Path], options: AnalyzeOptions) -> None:
    """Check the call before anything is read. Raises UsageError, TcplabError."""
    if not paths:
        raise UsageError("Name a capture file.", "For example: ./tcplab analyze trace.pcap")
    if options.match and (options.events or options.responses):
        raise UsageError("--events and --responses show one capture.", "Leave out --match.")
    if options.responses and any(str(path) == "/dev/stdin" or path.is_fifo() for path in paths):
        raise UsageError("--responses reads a capture twice.", "Write the capture to a file.")
    if options.period and options.period.is_empty:
        raise UsageError("--to is before --from.", "Exchange them.")
    if options.match and len(paths) != 2:
        raise UsageError(
            f"--match takes two captures, not {len(paths)}.", "Name the file of each end."
        )
    if options.compare:
        _check_comparison(paths, options)
    if not options.match and (options.align or options.mss):
        raise UsageError("--align-clocks and --mss are for two captures.", "Add --match.")
    if options.dedup:
        _check_dedup(paths, options.dedup)
    for path in paths:
        if str(path) == "/dev/stdin" and sys.stdin.isatty():
            raise UsageError(
                "- reads standard input, and that is this terminal.",
                "For example: ./tcplab analyze - < FILE",
            )
        if path.is_dir():
            raise UsageError(
                f"{path} is a folder.", f"Name the files in it, for example: {path}/*.pcap"
            )
        if not path.exists():
            raise UsageError(f"There is no file {path}.", "Check the path.")
        if path.is_file() and not path.stat().st_size:
            raise TcplabError(
                f"{path} is empty.", "Capture again: tcpdump writes when it is stopped, or with -U."
            )


def _check_comparison(paths: Sequence[Path], options: AnalyzeOptions) -> None:
    if len(paths) != 2:
        raise UsageError(
            f"--compare takes two captures, not {len(paths)}.", "Name the fast one first."
        )
    if options.match or options.events or options.responses or options.out or options.dedup:
        raise UsageError(
            "--compare prints a table or --json only.",
            "Leave out --match, --events, --responses, --out and --dedup.",
        )


def _check_dedup(paths: Sequence[Path], to: Path) -> None:
    """Check that one file, which can be read twice, is written to another."""
    if len(paths) != 1 or not paths[0].is_file():
        raise UsageError("--dedup takes one capture, in a file.", "Call it for each file.")
    if to.exists() and to.samefile(paths[0]):
        raise UsageError(f"--dedup would overwrite {to} while it is read.", "Name another file.")
