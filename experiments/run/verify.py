"""A run, of which the files may be untrusted, repeated and compared byte by byte."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from itertools import count, zip_longest
from pathlib import Path
from shutil import move
from typing import Any

from experiments.run.request import RunRequest
from experiments.run.seed import limits_for
from experiments.run.session import carried
from experiments.spec import ExperimentSpec
from testbed.engine import Listener
from testbed.host.job_archive import code_digest
from testbed.host.scratch import scratch
from testbed.lab.ready import Lab
from testbed.modules import build_all
from topologies import untrusted
from topologies.data import digest, from_data
from topologies.errors import TcplabError, UsageError
from topologies.notation import json_value, toml_file


def _fields(layer: str, name: str = "") -> dict[int, str]:
    return {int(start): f"{name or layer} {field}" for start, field in _FRAME[layer].items()}


_FRAME = toml_file(Path(__file__).with_name("frame.toml"))
_PAYLOAD = "payload"
_ETHERNET = {**_fields("Ethernet"), 14: _PAYLOAD}
_IPV4, _IPV6, _TCP, _UDP = (
    _fields("IPv4", "IP"),
    _fields("IPv6", "IP"),
    _fields("TCP"),
    _fields("UDP"),
)
_IP = 14  # where IP's header begins


def difference(expected: bytes, given: bytes) -> str:
    """Return the first byte that differs, from 1, and the fields that differ, in words."""
    pairs = enumerate(zip_longest(expected, given))
    offsets = [offset for offset, (own, other) in pairs if own != other]
    starts = _starts(expected)
    names = dict.fromkeys(starts[max(n for n in starts if n <= offset)] for offset in offsets)
    return f"from byte {offsets[0] + 1} on ({', '.join(names)})"


def _starts(frame: bytes) -> dict[int, str]:
    kind = frame[12:14]
    if kind == b"\x08\x00" and len(frame) > _IP + 20:
        header, protocol, names = frame[_IP] % 16 * 4, frame[_IP + 9], _IPV4
    elif kind == b"\x86\xdd" and len(frame) > _IP + 40:
        header, protocol, names = 40, frame[_IP + 6], _IPV6
    else:
        return _ETHERNET
    above = _above(protocol, frame[_IP + header :])
    return {**_ETHERNET, **_moved(names, _IP), **_moved(above, _IP + header)}


def _above(protocol: int, segment: bytes) -> dict[int, str]:
    if protocol == 6 and len(segment) >= 20:
        return {**_TCP, segment[12] // 16 * 4: _PAYLOAD}
    return {**_UDP, 8: _PAYLOAD} if protocol == 17 else {0: _PAYLOAD}


def _moved(names: dict[int, str], by: int) -> dict[int, str]:
    return {offset + by: name for offset, name in names.items()}


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
    lab_digest: str
    parts: dict[str, str]  # digests of the kernel and the image, by name
    code_digest: str

    @property
    def has_other_code(self) -> bool:
        return self.code_digest != code_digest()


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
    return RunToRepeat(
        folder,
        _spec(written, manifest),
        _seeds(manifest),
        str(manifest.get("lab_digest")),
        parts_of(manifest),
        str(manifest.get("code_digest")),
    )


def parts_of(manifest: dict[str, Any]) -> dict[str, str]:
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


def _spec(written: dict[str, Any], manifest: dict[str, Any]) -> ExperimentSpec:
    spec: ExperimentSpec = from_data(
        ExperimentSpec, {name: value for name, value in written.items() if name in _SPEC}
    )
    if digest(spec) != manifest.get("spec_digest"):
        raise TcplabError(
            "spec.json is not what the run's manifest says: it was changed, or tcplab was.",
            "Repeat it with the tcplab that made it.",
        )
    return spec


def _seeds(manifest: dict[str, Any]) -> tuple[int, ...]:
    seeds = manifest.get("seeds")
    if not isinstance(seeds, list) or not seeds or any(type(seed) is not int for seed in seeds):
        raise UsageError("The manifest names no seeds.", "Run the experiment again.")
    return tuple(seeds)


def require_lab(what: str, whole: str, digests: Mapping[str, str], ready: Lab) -> None:
    """Raise TcplabError, which names what differs, unless the lab has these digests."""
    if whole == ready.digests["whole"]:
        return
    names = [name for name, own in digests.items() if own != ready.digests[name]]
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
        return comparison if comparison.same else replace(comparison, kept=_kept(run.folder, raw))


def _compared(run: RunToRepeat, raw: Path) -> Comparison:
    own = run.folder / "raw"
    names = sorted({*_measured(run, own), *_measured(run, raw)})
    differing = [name for name in names if _digest(own, name) != _digest(raw, name)]
    captures = [name for name in differing if name.endswith(".pcap")]
    repeated = [name for name in captures if _digest(raw, name)]
    unmatched = [name for name in differing if name not in repeated]
    first = [Difference(**row) for row in differences(str(raw), str(own), repeated)]
    first.sort(key=lambda difference: difference.seconds)
    return Comparison(len(names), tuple(first), tuple(unmatched))


def _measured(run: RunToRepeat, raw: Path) -> Sequence[str]:
    folders = {
        raw / f"seed-{seed}" / condition.name
        for seed in run.seeds
        for condition in run.spec.conditions
    }
    found = untrusted.entries(raw, _DEEPEST, _MOST_FILES) if raw.is_dir() else ()
    return [
        path.relative_to(raw).as_posix()
        for path, _ in found
        if path.parent in folders and not path.is_dir()
    ]


def _digest(folder: Path, name: str) -> str | None:
    """Return a file's SHA-256; None for a file that is not there, or is none."""
    try:
        return untrusted.digest(folder, name)
    except (OSError, untrusted.StrangeFile):
        return None


def _kept(run: Path, raw: Path) -> Path:
    run = run.resolve()
    names = (run.with_name(f"{run.name}-repeated-{number}") for number in count(1))
    folder = next(name for name in names if not name.exists())
    folder.mkdir()
    move(raw, folder / "raw")
    return folder


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


def differences(reference: str, handed_in: str, names: list[str]) -> list[dict[str, Any]]:
    """Return the first difference of each capture of `names`, below raw/ of both folders."""
    differing = []
    for name in names:
        reference_bytes = untrusted.content(Path(reference), name)
        if difference := _difference(name, reference_bytes, content_if_any(handed_in, name)):
            differing.append(asdict(difference))
    return differing


def _difference(name: str, expected: bytes, given: bytes | None) -> Difference | None:
    if given is None:
        return Difference(name, 0, 0.0, True, "it is missing")
    if expected == given:
        return None
    if expected[:24] != given[:24] and given[:4] not in _MAGIC:
        return Difference(name, 0, 0.0, expected.startswith(given), "it is no capture")
    return _first(name, expected, given)


def content_if_any(folder: str, name: str) -> bytes | None:
    try:
        return untrusted.content(Path(folder), name)
    except (FileNotFoundError, untrusted.StrangeFile):
        return None


def _first(name: str, expected: bytes, given: bytes) -> Difference:
    start = 0.0
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
        cut = expected.startswith(given)
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
