"""Each run that was handed in, compared with the one that its student's variant gives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from experiments.harness.running.verify import Difference, differences
from experiments.harness.sweep.point import Record
from labs.definition.answers import OwnParts
from labs.definition.assignment import Course, Variant
from labs.definition.runs import NO_PARTS, seeds_of, settings
from labs.definition.spec import LabRun
from labs.grading.case import Case, FlagKind
from labs.grading.inspection import TOOLS, HandedInRun
from labs.grading.real_time import check_label, digests_of, inconsistencies
from labs.measuring.contained import contained_as
from labs.measuring.measures import Values, values_of
from topologies.foundation.errors import TcplabError

_SHOWN = 3
_VERSIONS = ("tcplab", "code", "kernel release", "kernel", "image", *TOOLS)


def compare(case: Case, run: LabRun, records: Sequence[Record], course: Course) -> bool:
    """Settle what digests alone can; return whether packets have to be compared.

    Those of a run in real time always have to: it could be one in virtual time under another label.
    """
    handed_in = case.inspected.runs.get(run.name)
    case.repeated[run.name] = case.runs[run.name] = [record["values"] for record in records]
    if handed_in is None:
        missing = f"The run {run.name} was not handed in"
        case.flag(FlagKind.NO_RUN, f"{missing}; the answers are marked by the repeated run.")
        return False
    if handed_in.misfits:
        more = ", ..." if len(handed_in.misfits) > _SHOWN else ""
        listed = ", ".join(handed_in.misfits[:_SHOWN]) + more
        case.flag(FlagKind.MANIFEST, f"Run {run.name}: not what its manifest says: {listed}.")
    if handed_in.testbed == "native":
        _native(case, run, handed_in, course)
        return True
    digests = digests_of(records)
    case.authentic[run.name] = all(
        handed_in.files.get(name) == digest for name, digest in digests.items()
    )
    if not case.authentic[run.name]:
        for sentence in other_settings(run, case.own_variant, handed_in, case.own):
            case.flag(FlagKind.OTHER_SETTINGS, f"Run {run.name}: {sentence}.")
    return not case.authentic[run.name]


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
        sentences.append(
            f"its seed is {', '.join(map(str, handed_in.seeds[:3])) or 'unknown'} and should be"
            f" {variant.seed}"
        )
    return sentences


def version_sentence(handed_in: HandedInRun, versions: Mapping[str, str]) -> str:
    """Return a sentence that says whether versions may explain a difference."""
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
) -> None:
    """Say where captures begin to differ, and mark by what was handed in."""
    handed_in = case.inspected.runs[run.name]
    if handed_in.testbed == "native":
        check_label(case, run, records, reference / "raw", versions.get("kernel release", ""))
        return
    digests = digests_of(records)
    names = [name for name in digests if name.endswith(".pcap")]
    other_files = [
        name
        for name, digest in digests.items()
        if not name.endswith(".pcap") and handed_in.files.get(name) != digest
    ]
    place = case.folder / handed_in.place / "raw"
    try:
        raw = str(reference / "raw")
        differing = contained_as(list[Difference], differences, raw, str(place), names)
    except TcplabError as error:
        case.flag(FlagKind.CAPTURES, f"Run {run.name}: the captures could not be compared. {error}")
        return
    case.compared[run.name] = differing
    only_cut = bool(differing) and all(each.cut for each in differing) and not other_files
    kind = FlagKind.CUT_SHORT if only_cut else FlagKind.CAPTURES if differing else FlagKind.FILES
    sentences = [difference.sentence for difference in differing[:_SHOWN]] or [
        f"{other_files[0]} is another file than the run gives"
    ]
    versions_say = version_sentence(handed_in, versions)
    case.flag(kind, f"Run {run.name}: {'; '.join(sentences)}. {versions_say}")
    if not only_cut:
        _measure(case, run, handed_in)


def _measure(case: Case, run: LabRun, handed_in: HandedInRun) -> None:
    try:
        place = str(case.folder / handed_in.place)
        values = contained_as(dict[str, Values], values_of, place)
    except TcplabError as error:
        problem = f"it cannot be analysed ({error}); marked by the repeated run."
        case.flag(FlagKind.UNREADABLE, f"Run {run.name}: {problem}")
        return
    if any(values.values()):
        case.runs[run.name] = list(values.values())
        marked = "the answers are marked by the captures that were handed in."
        case.notes.append(f"Run {run.name}: {marked}")


def _native(case: Case, run: LabRun, handed_in: HandedInRun, course: Course) -> None:
    """Judge a run in real time by its own witnesses, since it cannot be repeated."""
    case.authentic[run.name] = False
    made = f"Run {run.name} was made in real time"
    case.notes.append(f"{made}, so it cannot be repeated packet by packet.")
    if not course.native:
        case.flag(FlagKind.REAL_TIME, f"{made}, which this course does not accept unseen.")
    for sentence in other_settings(run, case.own_variant, handed_in, case.own):
        case.flag(FlagKind.OTHER_SETTINGS, f"Run {run.name}: {sentence}.")
    _measure(case, run, handed_in)
    by_condition = {
        name: measured for values in case.runs[run.name] for name, measured in values.items()
    }
    for sentence in inconsistencies(by_condition):
        case.flag(FlagKind.WITNESSES, f"Run {run.name}, {sentence}.")
