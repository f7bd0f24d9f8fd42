"""A run in virtual time dressed as one in real time, as `vagrant up` would leave it."""

import json
import re
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

from labs.grading.comparison import GUESTS_BEGIN
from testbed.native.realtime import REALTIME
from tests.labs.student import signed

RELEASE = "6.1.0-28-amd64"
STARTED = 1_790_000_000
"""2026-09-21, in seconds since 1970."""
_OF_A_LAB = ("image", "lab_digest", "release", "tools")


def dressed(run: Path, change: Callable[[dict[str, Any]], None] | None = None) -> None:
    """Make everything in the run directory say that it was made on STARTED, on Debian's kernel.

    `change` may alter the manifest before it is signed.
    """
    manifest = json.loads((run / "manifest.json").read_text())
    seconds = manifest["virtual_seconds"]
    plain = {name: value for name, value in manifest.items() if name not in _OF_A_LAB}
    plain |= {"testbed": "native", "kernel": {"release": RELEASE}, "wall_seconds": seconds + 3}
    plain["started"] = "2026-09-21T14:13:20+00:00"
    for seed in (run / "raw").glob("seed-*"):
        _dress_seed(seed, seconds)
    if change:
        change(plain)
    signed(run, plain)


def _dress_seed(seed: Path, seconds: float) -> None:
    environment = json.loads((seed / "environment.json").read_text())
    environment |= {"clock": "real", "kernel": f"Linux {RELEASE}"}
    (seed / "environment.json").write_text(json.dumps(environment))
    (seed / REALTIME).write_text(json.dumps({"seconds": seconds, "naps": 20_000}))
    for file in seed.rglob("*.pcap"):
        file.write_bytes(later(file.read_bytes(), STARTED - GUESTS_BEGIN))
    for file in seed.rglob("*.sockets.jsonl"):
        file.write_text(
            re.sub(r'^\{"time": (\d+)', _later_line, file.read_text(), flags=re.MULTILINE)
        )


def _later_line(match: re.Match[str]) -> str:
    return f'{{"time": {int(match[1]) + STARTED - GUESTS_BEGIN}'


def later(capture: bytes, seconds: int) -> bytes:
    """The same packets at another time (pcap-savefile(5), little-endian)."""
    moved, offset = bytearray(capture), 24
    while offset + 16 <= len(moved):
        time, _, length, _ = struct.unpack_from("<IIII", moved, offset)
        struct.pack_into("<I", moved, offset, time + seconds)
        offset += 16 + length
    return bytes(moved)
