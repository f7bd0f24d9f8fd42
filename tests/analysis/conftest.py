"""What the analysis' tests share: the shortened run, and captures built byte by byte."""

from __future__ import annotations

import shutil
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from analysis import flows
from tests.analysis.browser import Page, browser
from tests.analysis.captures import MadeCapture, MadeFlow
from tests.analysis.looking import Look

SAMPLE = Path(__file__).parent / "data" / "run"
Packet = tuple[float, int, int, int, int]
"""Time in seconds, source port, destination port, sequence number, payload in bytes."""


@pytest.fixture
def run_directory(tmp_path: Path) -> Path:
    """A copy of the checked-in run, which a test may spoil."""
    return Path(shutil.copytree(SAMPLE, tmp_path / "run"))


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with browser(tmp_path_factory.mktemp("chromium")) as page:
        yield page


@pytest.fixture
def page(chromium: Page) -> Iterator[Page]:
    """The module's browser; whatever a test did there, the page must not have complained."""
    chromium.complaints.clear()
    yield chromium
    assert chromium.complaints == []


def _frame(packet: Packet) -> bytes:
    _, source, destination, sequence, payload = packet
    flags = 0x18 if payload else 0x10
    header = (source, destination, sequence % 2**32, 1, 5 << 4, flags, 65535, 0, 0)
    tcp = struct.pack(">HHIIBBHHH", *header)
    addresses = (b"\x0a\0\0\x01", b"\x0a\0\0\x02")[:: 1 if destination == 5001 else -1]
    length = 40 + payload
    ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, length, 0, 0, 64, 6, 0, *addresses)
    return b"\x02" * 12 + b"\x08\x00" + ip + tcp + b"x" * payload


@pytest.fixture
def build_capture() -> Callable[[list[Packet]], bytes]:
    """Turns packets into a nanosecond pcap file."""

    def build(packets: list[Packet]) -> bytes:
        content = struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 65535, 1)
        for packet in packets:
            frame, nanoseconds = _frame(packet), round(packet[0] * 1e9)
            lengths = len(frame), len(frame)
            content += struct.pack("<IIII", *divmod(nanoseconds, 10**9), *lengths) + frame
        return content

    return build


@pytest.fixture
def look(tmp_path: Path) -> Look:
    """Read a made capture (or flow, or a file's bytes) with packets."""

    def looked(made: MadeCapture | MadeFlow | bytes, **settings: Any) -> flows.Reading:
        capture = made.capture if isinstance(made, MadeFlow) else made
        path = tmp_path / "made.pcap"
        path.write_bytes(capture if isinstance(capture, bytes) else capture.pcap())
        return flows.read(path, **{"packets": True, **settings})

    return looked
