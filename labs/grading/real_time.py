"""Runs that are said to be made in real time: whether everything that they left says so too.

Such a run cannot be repeated, so whoever writes all of its files, consistently, is not found out here. What is found
out is a run in virtual time that was given another label.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from analysis.jsonfile import Object, inner, number, read_object, text
from analysis.problems import Problems
from experiments.sweep.point import Record
from labs.contained import contained
from labs.grading.authentic import packets, shared_packets
from labs.grading.case import Case
from labs.grading.inspection import FoundRun
from labs.spec import LabRun
from testbed.realtime import REALTIME
from topologies.errors import TcplabError

GUESTS_BEGIN = 1_700_000_000
"""Seconds since 1970 at which the clock of every guest begins (testbed/virtual.py)."""
_GUESTS_LAST = 7 * 86_400  # seconds; no lab takes longer
_CLOCK_SLACK = 3600.0  # seconds that a machine's clock may be put right by during a run
_LONGER = 1.05  # a run's clock may have gone that much faster than the wall's, and two seconds
_SHARED = 0.5  # of the packets; runs in real time share those of ARP
_LARGEST_JSON = 8 << 20  # bytes
_SHOWN = 6
_UTC = datetime.UTC


def check_label(
    case: Case, run: LabRun, found: FoundRun, records: Sequence[Record], reference: Path, release: str
) -> None:
    """Flag a run that is said to be made in real time and was not.

    `reference` is the raw folder of the repeated run, `release` the version of the lab kernel.
    """
    place = case.folder / found.place
    try:
        said = contained(contradictions, str(place), release)
        shares = contained(shared_packets, str(reference), str(place / "raw"), _captures(records))
    except TcplabError as error:
        case.flag("real time", f"Run {run.name}: its files could not be compared with its label. {error}")
        return
    for sentence in (*said[:_SHOWN], *_repeated(found, records, shares)):
        case.flag("not real time", f"Run {run.name}: {sentence}.")


def _captures(records: Sequence[Record]) -> list[str]:
    return [name for record in records for name in record["files"] if name.endswith(".pcap")]


def _repeated(
    found: FoundRun, records: Sequence[Record], shares: Mapping[str, float]
) -> Iterator[str]:
    """Whether it is the run in virtual time that everybody can repeat, as it was or with other times."""
    wanted = {name: digest for record in records for name, digest in record["files"].items()}
    same = [name for name in wanted if _tells(name) and found.files.get(name) == wanted[name]]
    if same:
        yield f"{len(same)} of its files, {same[0]} for one, are those of the run in virtual time, byte for byte"
    elif known := [name for name, share in shares.items() if share > _SHARED]:
        share = max(shares[name] for name in known)
        yield f"{share:.0%} of the packets in {known[0]} are those of the run in virtual time, with other times"


def _tells(name: str) -> bool:
    """Whether no two runs in real time have a file of that name in common: it holds times."""
    return name.endswith((".pcap", ".jsonl"))


@dataclass(frozen=True)
class _Claim:
    """What the manifest says. Times are seconds since 1970."""

    release: str
    started: float | None
    wall: float
    clock: float


def contradictions(place: str, lab_release: str) -> list[str]:
    """Sentences about what in the run directory `place` is of a run in virtual time, or of another time.

    `lab_release` is the version of the lab kernel, on which nothing runs in real time.
    """
    folder = Path(place)
    manifest = _object(folder / "manifest.json")
    claim = _Claim(
        text(inner(manifest, "kernel"), "release"),
        _seconds(text(manifest, "started")),
        number(manifest, "wall_seconds") or 0.0,
        number(manifest, "virtual_seconds") or 0.0,
    )
    seeds = sorted(one for one in (folder / "raw").glob("seed-*") if one.is_dir())
    return [*_of_manifest(manifest, claim, lab_release), *(said for seed in seeds for said in _of_seed(seed, claim))]


def _of_manifest(manifest: Object, claim: _Claim, lab_release: str) -> Iterator[str]:
    lab = [name for name in ("image", "lab_digest") if name in manifest]
    if lab or "digest" in inner(manifest, "kernel"):
        yield "its manifest names a lab's kernel and image, which a run in real time does not use"
    if claim.release == lab_release:
        yield f"its manifest names the lab's kernel {lab_release}, and nothing runs on that in real time"
    if claim.started is None:
        yield "its manifest does not say when it was started"
    if claim.clock > _LONGER * claim.wall + 2:
        yield f"its clock went {claim.clock:.0f} s in {claim.wall:.0f} s"


def _of_seed(seed: Path, claim: _Claim) -> Iterator[str]:
    environment, watched = _object(seed / "environment.json"), _object(seed / REALTIME)
    if text(environment, "clock") != "real":
        yield f"{seed.name}/environment.json does not say that the clock was real"
    if text(environment, "kernel") != f"Linux {claim.release}":
        kernel = text(environment, "kernel", "none")[:60]
        yield f"{seed.name} ran on the kernel {kernel}, and the manifest names {claim.release[:60]}"
    if not number(watched, "naps"):
        yield f"{seed.name} has no {REALTIME}, which every run in real time leaves"
    for file in sorted((*seed.glob("*/*.pcap"), *seed.glob("*/*.sockets.jsonl"))):
        if times := _times(file):
            name = file.relative_to(seed.parent).as_posix()
            yield from _of_times(name, min(times), max(times), claim, number(watched, "seconds"))


def _times(file: Path) -> list[float]:
    """When the packets of a capture passed, or when sockets were looked at; in seconds since 1970."""
    if file.suffix == ".pcap":
        return [time for time, _ in packets(file.read_bytes())]
    found = re.findall(r'^\{"time": (\d{1,12}(?:\.\d+)?)', file.read_text(errors="replace"), re.MULTILINE)
    return [float(time) for time in found]


def _of_times(
    name: str, first: float, last: float, claim: _Claim, watched: float | None
) -> Iterator[str]:
    """Whether a file is of the time that the manifest and the observer of the run say."""
    if GUESTS_BEGIN <= first < GUESTS_BEGIN + _GUESTS_LAST:
        yield f"{name} begins at the time at which the clock of every guest does"
    elif claim.started is not None and not _within(first, last, claim):
        yield f"{name} is of {_date(first)}, and the manifest says {_date(claim.started)}"
    if watched is not None and last - first > _LONGER * watched + 2:
        yield f"{name} lasts {last - first:.0f} s, and the run was watched for {watched:.0f} s"


def _within(first: float, last: float, claim: _Claim) -> bool:
    begun = claim.started or 0.0
    return begun - _CLOCK_SLACK <= first and last <= begun + claim.wall + _CLOCK_SLACK


def _object(file: Path) -> Object:
    too_large = file.is_file() and file.stat().st_size > _LARGEST_JSON
    return {} if too_large else read_object(file, Problems(), file.name)


def _seconds(iso: str) -> float | None:
    try:
        found = datetime.datetime.fromisoformat(iso)
    except ValueError:
        return None
    return found.timestamp() if found.tzinfo else None


def _date(seconds: float) -> str:
    return f"{datetime.datetime.fromtimestamp(seconds, _UTC):%Y-%m-%d %H:%M} UTC"
