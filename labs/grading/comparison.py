"""Each run that was handed in, compared with the one that its student's variant gives.

A run that claims real time cannot be repeated, so its files are checked against each other. A
student who writes all of them consistently is not detected; a run in virtual time with another
label is. Captures are read, and typed commands repeated, in limited processes
(labs.measuring.contained).
"""

import datetime
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

from msgspec import Struct

from analysis.records.json_reader import parse
from analysis.records.spec_file import RunManifest
from analysis.records.trial_files import EnvironmentFile
from experiments.run.verify import Difference, content_if_any, differences, packets
from experiments.sweep.point import Record
from labs.definition.answers import OwnParts
from labs.definition.assignment import Assignment, Course, Variant
from labs.definition.runs import NO_PARTS, TYPED, seeds_of, settings
from labs.definition.spec import LabRun, LabSpec
from labs.grading.case import Case, Flag, FlagKind
from labs.grading.inspection import TOOLS, HandedInRun
from labs.measuring.contained import Allowance, contained_as
from labs.measuring.measures import Values, values_of
from labs.student.runs import typed_differences
from testbed.native.realtime import REALTIME
from topologies import untrusted
from topologies.errors import TcplabError
from topologies.notation import toml_file

_FEW = 5.0  # bytes or packets by which counts may differ in any case
_WITNESSES = toml_file(Path(__file__).with_name("witnesses.toml"))["witnesses"]


def shared_packets(reference: Path, handed_in: Path, names: list[str]) -> dict[str, float]:
    """Return each capture's share of packets that the reference has: near 0 in real time."""
    shares = {}
    for name in names:
        given = [packet for _, packet in packets(content_if_any(handed_in, name) or b"")]
        expected = {packet for _, packet in packets(untrusted.content(reference, name))}
        shares[name] = sum(packet in expected for packet in given) / len(given) if given else 0.0
    return shares


def inconsistencies(values: dict[str, dict[str, float]]) -> list[str]:
    """Return sentences about how a run's own witnesses contradict its captures.

    They judge runs that cannot be repeated. The sender's socket counts every byte of data that it
    sent (tcp_info, tcpi_bytes_sent) and tcpdump every packet that it wrote. The last sample of the
    socket may be a little older than the end.
    """
    sentences = []
    for condition, measured in values.items():
        for witness in _WITNESSES:
            count, captured = measured.get(witness["counter"]), measured.get(witness["captured"])
            if count is None or captured is None:
                continue
            if abs(count - captured) > max(_FEW, witness["slack"] * max(count, captured)):
                counted = f"{count:,.0f} {witness['claim']}"
                sentences.append(f"{condition}: {captured:,.0f} in the capture, and {counted}")
    return sentences


GUESTS_BEGIN = 1_700_000_000
"""Seconds since 1970 at which the clock of every guest begins (testbed/virtual/run.py)."""
_GUESTS_LAST = 7 * 86_400  # seconds; no lab takes longer
_CLOCK_SLACK = 3600.0  # seconds that a machine's clock may be put right by during a run
_LONGER = 1.05  # a run's clock may have gone that much faster than the wall's, and two seconds
_SHARED = 0.5  # of the packets; runs in real time share those of ARP
_LARGEST_JSON = 8 << 20  # bytes
_REAL_TIME_SHOWN = 6
_TIMED = (".pcap", ".jsonl")
_SAMPLED = re.compile(r'^\{"time": (\d{1,12}(?:\.\d+)?)', re.MULTILINE)


def check_label(
    case: Case, run: LabRun, records: Sequence[Record], reference: Path, release: str
) -> Case:
    """Flag a run that is said to be in real time, by the raw files of the repeated run."""
    handed_in, digests = case.inspected.runs[run.name], digests_of(records)
    place = case.folder / handed_in.place
    captures = [name for name in digests if name.endswith(".pcap")]
    try:
        sentences = contained_as(list[str], contradictions, place, release)[:_REAL_TIME_SHOWN]
        folders = reference, place / "raw"
        shares = contained_as(dict[str, float], shared_packets, *folders, captures)
    except TcplabError as error:
        problem = f"Run {run.name}: whether it was cannot be checked. {error}"
        return case.flagged(Flag("real time", problem))
    # Two runs in real time never share a file that holds times.
    timed = {name: each for name, each in digests.items() if name.endswith(_TIMED)}
    same = [name for name, digest in timed.items() if handed_in.files.get(name) == digest]
    alike = [name for name, share in shares.items() if share > _SHARED]
    if same:
        files = f"{len(same)} of its files, {same[0]} for one,"
        sentences.append(f"{files} are those of the run in virtual time, byte for byte")
    elif alike:
        packets_of = f"{shares[alike[0]]:.0%} of the packets in {alike[0]}"
        sentences.append(f"{packets_of} are those of the run in virtual time, with other times")
    return _flagged(case, "not real time", run, *sentences)


def _flagged(case: Case, kind: FlagKind, run: LabRun, *sentences: str) -> Case:
    return case.flagged(*(Flag(kind, f"Run {run.name}: {sentence}.") for sentence in sentences))


def digests_of(records: Sequence[Record]) -> dict[str, str]:
    return {name: digest for record in records for name, digest in record["files"].items()}


class WatchedFile(Struct, frozen=True):
    """The report of the observer of a run in real time: its duration and number of naps."""

    seconds: float | None = None
    naps: float | None = None


def contradictions(folder: Path, lab_release: str) -> list[str]:
    """Return sentences about what in a run directory is of virtual or another time."""
    manifest = parse(RunManifest, folder / "manifest.json", _LARGEST_JSON)[0]
    seeds = (_of_seed(seed, manifest) for seed in sorted((folder / "raw").glob("seed-*")))
    return [*_of_manifest(manifest, lab_release), *chain.from_iterable(seeds)]


def _of_manifest(manifest: RunManifest, lab_release: str) -> Iterator[str]:
    of_lab = (manifest.image, manifest.lab_digest, manifest.kernel.digest)
    if any(fact is not None for fact in of_lab):
        yield "its manifest names a lab's kernel and image, which a run in real time does not use"
    if manifest.kernel.release == lab_release:
        yield f"its manifest names the lab's kernel {lab_release}, which keeps no real time"
    if _seconds(manifest.started) is None:
        yield "its manifest does not say when it was started"
    clock, wall = manifest.virtual_seconds or 0.0, manifest.wall_seconds or 0.0
    if clock > _LONGER * wall + 2:
        yield f"its clock went {clock:.0f} s in {wall:.0f} s"


def _of_seed(seed: Path, manifest: RunManifest) -> Iterator[str]:
    environment = parse(EnvironmentFile, seed / "environment.json", _LARGEST_JSON)[0]
    watched = parse(WatchedFile, seed / REALTIME, _LARGEST_JSON)[0]
    if environment.clock != "real":
        yield f"{seed.name}/environment.json does not say that the clock was real"
    release = manifest.kernel.release
    if environment.kernel != f"Linux {release}":
        kernel = (environment.kernel or "none")[:60]
        yield f"{seed.name} ran on the kernel {kernel}, and the manifest names {release[:60]}"
    if not watched.naps:
        yield f"{seed.name} has no {REALTIME}, which every run in real time leaves"
    for file in sorted((*seed.glob("*/*.pcap"), *seed.glob("*/*.sockets.jsonl"))):
        name = file.relative_to(seed.parent).as_posix()
        if file.suffix == ".pcap":
            times = [time for time, _ in packets(untrusted.content(file.parent, file.name))]
        else:
            times = [float(each) for each in _SAMPLED.findall(untrusted.text(seed.parent, name))]
        if times:
            yield from _of_times(name, times, manifest, watched.seconds)


def _of_times(
    name: str, times: Sequence[float], manifest: RunManifest, watched: float | None
) -> Iterator[str]:
    first, last, started = min(times), max(times), _seconds(manifest.started)
    if GUESTS_BEGIN <= first < GUESTS_BEGIN + _GUESTS_LAST:
        yield f"{name} begins at the time at which the clock of every guest does"
    elif started is not None:
        ended = started + (manifest.wall_seconds or 0.0)
        if not (started - _CLOCK_SLACK <= first and last <= ended + _CLOCK_SLACK):
            yield f"{name} is of {_date(first)}, and the manifest says {_date(started)}"
    if watched is not None and last - first > _LONGER * watched + 2:
        lasting = f"{name} lasts {last - first:.0f} s"
        yield f"{lasting}, and the run was watched for {watched:.0f} s"


def _seconds(iso: str) -> float | None:
    try:
        time = datetime.datetime.fromisoformat(iso)
    except ValueError:
        return None
    return time.timestamp() if time.tzinfo else None


def _date(seconds: float) -> str:
    return f"{datetime.datetime.fromtimestamp(seconds, datetime.UTC):%Y-%m-%d %H:%M} UTC"


_SHOWN = 3
_VERSIONS = ("tcplab", "code", "kernel release", "kernel", "image", *TOOLS)


def compare(case: Case, run: LabRun, records: Sequence[Record], course: Course) -> Case:
    """Settle what digests alone can; `has_doubtful_packets` says whether that is enough."""
    handed_in, name = case.inspected.runs.get(run.name), run.name
    values, digests = [record["values"] for record in records], digests_of(records)
    case = replace(
        case,
        repeated={**case.repeated, name: values},
        runs={**case.runs, name: values},
        expected={**case.expected, name: digests},
    )
    if handed_in is None:
        missing = f"The run {name} was not handed in; the answers are marked by the"
        return case.flagged(Flag("no run", f"{missing} repeated run."))
    if handed_in.misfits:
        more = ", ..." if len(handed_in.misfits) > _SHOWN else ""
        listed = f"not what its manifest says: {', '.join(handed_in.misfits[:_SHOWN])}{more}"
        case = _flagged(case, "manifest", run, listed)
    native = handed_in.testbed == "native"
    authentic = not native and digests.items() <= handed_in.files.items()
    case = replace(case, authentic={**case.authentic, name: authentic})
    if authentic:
        return case
    if native:
        made = f"Run {name} was made in real time"
        case = case.noted(f"{made}, so it cannot be repeated packet by packet.")
        if not course.native:
            unseen = f"{made}, which this course does not accept unseen."
            case = case.flagged(Flag("real time", unseen))
    others = other_settings(run, case.own_variant, handed_in, case.own)
    case = _flagged(case, "other settings", run, *others)
    if not native:
        return case
    case = _measure(case, run, handed_in)
    measured = {name: each for values in case.runs[run.name] for name, each in values.items()}
    contradicted = (f"Run {run.name}, {sentence}." for sentence in inconsistencies(measured))
    return case.flagged(*(Flag("witnesses", text) for text in contradicted))


def has_doubtful_packets(case: Case, run: LabRun) -> bool:
    """Return whether packets have to be compared, as those of every run in real time."""
    return run.name in case.inspected.runs and not case.authentic[run.name]


def other_settings(
    run: LabRun, variant: Variant, handed_in: HandedInRun, own: OwnParts = NO_PARTS
) -> list[str]:
    """Return sentences about the settings of a run that are not its variant's or its student's."""
    sentences = [
        f"{name} is {handed_in.parameters[name]} and should be {value}"
        for name, value in (text.split("=", 1) for text in settings(run, variant.values, own))
        if name in handed_in.parameters and handed_in.parameters[name] != value
    ]
    if tuple(handed_in.seeds) != seeds_of(run, variant):
        seeds = ", ".join(map(str, handed_in.seeds[:3])) or "unknown"
        sentences.append(f"its seed is {seeds} and should be {variant.seed}")
    return sentences


def version_sentence(handed_in: HandedInRun, versions: Mapping[str, str]) -> str:
    named = {name: handed_in.origin.get(name, "") for name in _VERSIONS if name in versions}
    differing = [
        f"{name} {version[:24] or 'unknown'} and not {versions[name][:24]}"
        for name, version in named.items()
        if version != versions[name]
    ]
    if not differing:
        return "Its manifest names the versions that the grader has, so versions do not explain it."
    return f"Its manifest names other versions, which may explain it: {'; '.join(differing)}."


def settle(
    case: Case, run: LabRun, reference: Path, records: Sequence[Record], versions: Mapping[str, str]
) -> Case:
    """Say where captures begin to differ, and mark by what was handed in."""
    handed_in = case.inspected.runs[run.name]
    if handed_in.testbed == "native":
        release = versions.get("kernel release", "")
        return check_label(case, run, records, reference / "raw", release)
    digests = digests_of(records)
    names = [name for name in digests if name.endswith(".pcap")]
    other_files = [
        name
        for name, digest in digests.items()
        if not name.endswith(".pcap") and handed_in.files.get(name) != digest
    ]
    raw, place = reference / "raw", case.folder / handed_in.place / "raw"
    try:
        differing = contained_as(list[Difference], differences, raw, place, names)
    except TcplabError as error:
        problem = f"Run {run.name}: the captures could not be compared. {error}"
        return case.flagged(Flag("captures", problem))
    only_cut = bool(differing) and all(each.cut for each in differing) and not other_files
    kind: FlagKind = "cut short" if only_cut else "captures" if differing else "files"
    sentences = [difference.sentence for difference in differing[:_SHOWN]] or [
        f"{other_files[0]} is another file than the run gives"
    ]
    versions_say = version_sentence(handed_in, versions)
    case = case.flagged(Flag(kind, f"Run {run.name}: {'; '.join(sentences)}. {versions_say}"))
    return case if only_cut else _measure(case, run, handed_in)


def _measure(case: Case, run: LabRun, handed_in: HandedInRun) -> Case:
    try:
        values = contained_as(dict[str, Values], values_of, case.folder / handed_in.place)
    except TcplabError as error:
        problem = f"it cannot be analysed ({error}); marked by the repeated run"
        return _flagged(case, "unreadable", run, problem)
    if not any(values.values()):
        return case
    marked = "the answers are marked by the captures that were handed in."
    case = replace(case, runs={**case.runs, run.name: list(values.values())})
    return case.noted(f"Run {run.name}: {marked}")


_TYPING = Allowance(120.0, 6 << 30)
"""Of all sessions of a student: a command that never ends, such as ping, is stopped here."""


def repeat_typed(case: Case, lab: LabSpec) -> Case:
    """Repeat the commands that were typed into hosts; flag a record that prints other things."""
    if not (case.folder / TYPED).is_file():
        return case
    assignment = Assignment(case.folder, lab, case.own_variant)
    # What hears of progress lets the process end its guest by itself.
    limits: dict[str, Any] = {"allowance": _TYPING, "tell": lambda _phase, _elapsed: None}
    try:
        problems = contained_as(list[str], typed_differences, assignment, **limits)
    except TcplabError as error:
        problems = [f"{TYPED} could not be repeated: {error}"]
    if not problems:
        return case.noted(f"The commands of {TYPED} print the same when they are repeated.")
    return case.flagged(*(Flag("typed", sentence) for sentence in problems))
