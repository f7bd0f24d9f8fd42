"""A run, of which the files may be untrusted, repeated and compared byte by byte."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from itertools import count, zip_longest
from pathlib import Path
from shutil import move
from typing import Any

from experiments.run.request import RunRequest
from experiments.run.seed import limits_for
from experiments.run.session import carried
from experiments.spec import ExperimentSpec
from testbed.engine import Listener
from testbed.host.scratch import scratch
from testbed.lab.ready import Lab
from testbed.modules import build_all
from topologies import untrusted
from topologies.data import digest, from_data
from topologies.errors import TcplabError, UsageError
from topologies.notation import json_value, toml_file

_FRAME: dict[str, dict[str, str]] = toml_file(Path(__file__).with_name("frame.toml"))
_PAYLOAD = "payload"
_IP = 14  # where IP's header begins


def difference(expected: bytes, given: bytes) -> str:
    """Return the first byte that differs, from 1, and the fields that differ, in words."""
    pairs = enumerate(zip_longest(expected, given))
    offsets = [offset for offset, (own, other) in pairs if own != other]
    starts = _starts(expected)
    names = dict.fromkeys(starts[max(n for n in starts if n <= offset)] for offset in offsets)
    return f"from byte {offsets[0] + 1} on ({', '.join(names)})"


def _starts(frame: bytes) -> dict[int, str]:
    """Return the names of a frame's fields by their first bytes."""
    kind = frame[12:14]
    if kind == b"\x08\x00" and len(frame) > _IP + 20:
        layer, above, protocol = "IPv4", _IP + frame[_IP] % 16 * 4, frame[_IP + 9]
    elif kind == b"\x86\xdd" and len(frame) > _IP + 40:
        layer, above, protocol = "IPv6", _IP + 40, frame[_IP + 6]
    else:
        return {**_fields("Ethernet"), _IP: _PAYLOAD}
    starts = _fields("Ethernet") | _fields(layer, _IP, "IP")
    if protocol == 6 and len(frame) >= above + 20:
        return {**starts, **_fields("TCP", above), above + frame[above + 12] // 16 * 4: _PAYLOAD}
    if protocol == 17:
        return {**starts, **_fields("UDP", above), above + 8: _PAYLOAD}
    return {**starts, above: _PAYLOAD}


def _fields(layer: str, begin: int = 0, name: str = "") -> dict[int, str]:
    fields = _FRAME[layer].items()
    return {begin + int(start): f"{name or layer} {field}" for start, field in fields}


_WALL_SECONDS = 600.0
_DEEPEST, _MOST_FILES = 4, 100_000
_SPEC = {field.name for field in fields(ExperimentSpec)}
"""spec.json also has parameters and published numbers."""


@dataclass(frozen=True)
class RunToRepeat:
    """A run that can be repeated, as its manifest.json and spec.json describe it."""

    folder: Path
    spec: ExperimentSpec
    seeds: tuple[int, ...]
    manifest: dict[str, Any]


@dataclass(frozen=True)
class Comparison:
    """The number of files compared, `captures` that differ (the earliest first), and `others`.

    `kept` is the folder that has the repetition's files, if any differ.
    """

    files: int
    captures: tuple[Difference, ...]
    others: tuple[str, ...]
    kept: Path | None = None

    @property
    def same(self) -> bool:
        return not self.captures and not self.others


def to_repeat(folder: Path) -> RunToRepeat:
    """Read the run in `folder`. Raises UsageError for one that cannot be repeated."""
    manifest, written = (read_json(folder, name) for name in ("manifest.json", "spec.json"))
    if manifest.get("testbed") != "virtual":
        raise UsageError(
            "This run was made in real time: no run gives the same packets again.",
            "Only runs in the lab kernel are repeatable; see docs/concepts/verdict.md for others.",
        )
    known = {name: value for name, value in written.items() if name in _SPEC}
    spec: ExperimentSpec = from_data(ExperimentSpec, known)
    if digest(spec) != manifest.get("spec_digest"):
        raise TcplabError(
            "spec.json is not what the run's manifest says: it was changed, or tcplab was.",
            "Repeat it with the tcplab that made it.",
        )
    seeds = manifest.get("seeds")
    if not isinstance(seeds, list) or not seeds or any(type(seed) is not int for seed in seeds):
        raise UsageError("The manifest names no seeds.", "Run the experiment again.")
    return RunToRepeat(folder, spec, tuple(seeds), manifest)


def parts_of(manifest: dict[str, Any]) -> dict[str, str]:
    """Return the digests of the kernel and the image, by name."""
    parts = {name: manifest.get(name) for name in ("kernel", "image")}
    return {
        name: str(part.get("digest") if isinstance(part, dict) else None)
        for name, part in parts.items()
    }


def read_json(folder: Path, name: str) -> dict[str, Any]:
    """Return the object in a file of a run or sweep. Raises UsageError."""
    try:
        content = json_value(untrusted.text(folder, name))
    except (OSError, ValueError, untrusted.StrangeFile) as error:
        raise UsageError(
            f"'{folder}' has no {name} that can be read.", "Name a run, such as runs/sack/latest."
        ) from error
    return content if isinstance(content, dict) else {}


def require_lab(what: str, manifest: dict[str, Any], ready: Lab) -> None:
    """Raise TcplabError, which names what differs, unless the lab is that of the manifest."""
    if manifest.get("lab_digest") == ready.digests["whole"]:
        return
    names = [name for name, own in parts_of(manifest).items() if own != ready.digests[name]]
    which = " and the ".join(names) or "lab"
    raise TcplabError(
        f"The {which} of this tcplab {'are' if len(names) > 1 else 'is'} not what made the {what}.",
        "Repeat it with the tcplab that made it, or bring its lab: ./tcplab image import.",
    )


def repeat(run: RunToRepeat, ready: Lab, progress: Listener) -> Comparison:
    """Carry the run out again and compare; keep it if it differs. Raises TcplabError."""
    build_all(run.spec.modules, ready)
    limits = limits_for(run.spec, _WALL_SECONDS)
    request = RunRequest(run.spec, None, run.seeds, "virtual", run.folder.parent, limits)
    with scratch() as place:
        raw = place / "raw"
        raw.mkdir()
        for _seed, ended in carried(request, ready, raw, progress):
            if isinstance(ended, TcplabError):
                raise ended
        comparison = _compared(run, raw)
        if comparison.same:
            return comparison
        kept = free_name(run.folder)
        kept.mkdir()
        move(raw, kept / "raw")
        return replace(comparison, kept=kept)


def free_name(folder: Path, ending: str = "") -> Path:
    """Return the first free name for what repeats `folder`, next to it."""
    own = folder.resolve()
    names = (own.with_name(f"{own.name}-repeated-{number}{ending}") for number in count(1))
    return next(name for name in names if not name.exists())


def _compared(run: RunToRepeat, raw: Path) -> Comparison:
    own = run.folder / "raw"
    before, after = _digests(run, own), _digests(run, raw)
    names = sorted(before.keys() | after.keys())
    differing = [name for name in names if before.get(name) != after.get(name)]
    repeated = [name for name in differing if name.endswith(".pcap") and after.get(name)]
    unmatched = [name for name in differing if name not in repeated]
    return Comparison(len(names), tuple(by_time(raw, own, repeated)), tuple(unmatched))


def _digests(run: RunToRepeat, raw: Path) -> dict[str, str | None]:
    """Return the SHA-256 of the files of all conditions by name; None for what is no file."""
    folders = {
        raw / f"seed-{seed}" / condition.name
        for seed in run.seeds
        for condition in run.spec.conditions
    }
    found = untrusted.entries(raw, _DEEPEST, _MOST_FILES) if raw.is_dir() else ()
    digests: dict[str, str | None] = {}
    for path, _ in found:
        if path.parent in folders and not path.is_dir():
            name = path.relative_to(raw).as_posix()
            try:
                digests[name] = untrusted.digest(raw, name)
            except (OSError, untrusted.StrangeFile):
                digests[name] = None
    return digests


_MAGIC = {
    b"\xd4\xc3\xb2\xa1": ("<", 1e-6),
    b"\x4d\x3c\xb2\xa1": ("<", 1e-9),
}  # what tcpdump writes on x86-64


@dataclass(frozen=True)
class Difference:
    """The first difference of a capture from the repeated one.

    `packet` counts from 1, 0 for no capture; `seconds` are after the first packet. A `cut` file
    agrees as far as it goes.
    """

    file: str
    packet: int
    seconds: float
    cut: bool
    what: str

    @property
    def sentence(self) -> str:
        """The difference in words, without a full stop."""
        if not self.packet:
            return f"{self.file}: {self.what}"
        return (
            f"{self.file} differs from packet {self.packet:,} on, {self.seconds:.3f} s after its"
            f" first: {self.what}"
        )


def differences(reference: Path, handed_in: Path, names: list[str]) -> list[Difference]:
    """Return the first difference of each capture of `names`, below raw/ of both folders."""
    found = (
        _difference(name, untrusted.content(reference, name), content_if_any(handed_in, name))
        for name in names
    )
    return [each for each in found if each]


def by_time(reference: Path, repeated: Path, names: list[str]) -> list[Difference]:
    """Return the first difference of each capture, the earliest first."""
    return sorted(differences(reference, repeated, names), key=lambda each: each.seconds)


def content_if_any(folder: Path, name: str) -> bytes | None:
    try:
        return untrusted.content(folder, name)
    except (FileNotFoundError, untrusted.StrangeFile):
        return None


def _difference(name: str, expected: bytes, given: bytes | None) -> Difference | None:
    if given is None:
        return Difference(name, 0, 0.0, True, "it is missing")
    if expected == given:
        return None
    cut, start = expected.startswith(given), 0.0
    if expected[:24] != given[:24] and given[:4] not in _MAGIC:
        return Difference(name, 0, 0.0, cut, "it is no capture")
    pairs = zip_longest(packets(expected), packets(given))
    for number, (own, other) in enumerate(pairs, 1):
        start = start or (own[0] if own else 0.0)
        if own == other:
            continue
        if own and other:
            what = "the time is another"
            if own[1] != other[1]:
                what = f"the packet is another {difference(own[1], other[1])}"
            return Difference(name, number, round(own[0] - start, 6), False, what)
        seconds = round((own[0] if own else start) - start, 6)
        if own is None:
            what = "it goes on after the run had ended"
        else:
            what = "it ends there, and the run went on" if cut else "what follows is no packet"
        return Difference(name, number, seconds, cut, what)
    return Difference(name, 0, 0.0, False, "its packets are the same, the file is not")


def packets(content: bytes) -> Iterator[tuple[float, bytes]]:
    """Yield time and bytes of each complete record, pcap-savefile(5)."""
    order, tick = _MAGIC.get(content[:4], ("<", 1e-9))
    header, offset = struct.Struct(order + "IIII"), 24
    while offset + 16 <= len(content):
        seconds, fraction, length, _ = header.unpack_from(content, offset)
        if offset + 16 + length > len(content):
            return
        yield seconds + fraction * tick, content[offset + 16 : offset + 16 + length]
        offset += 16 + length
