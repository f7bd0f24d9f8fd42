"""What two hand-ins share that they should not: captures, another's numbers, texts."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence

from labs.definition.lab_spec import LabSpec
from labs.grading.case import Case
from labs.grading.inspection import HandedInRun

_EMPTY = hashlib.sha256(b"").hexdigest()
_LEAST_FITS = 4
_LEAST_TEXT = 120  # characters; two short texts may be alike by chance


def same_captures(cases: Sequence[Case]) -> None:
    """Flag captures that several hand-ins hold.

    A student whose own run gives them has copied nothing, and is only named.
    """
    holders: dict[str, list[tuple[Case, str]]] = defaultdict(list)
    for case in cases:
        for run, handed_in in case.inspected.runs.items():
            for digest in _distinctive_digests(handed_in):
                holders[digest].append((case, run))
    for shared in holders.values():
        for case, run in shared if len({id(holder) for holder, _ in shared}) > 1 else ():
            for other, _ in shared:
                if other is not case and not case.authentic.get(run):
                    case.flag(
                        "same captures",
                        f"Run {run} holds captures that {other.student} handed in too.",
                        other.student,
                    )


def _distinctive_digests(handed_in: HandedInRun) -> set[str]:
    """Digests of files that no two seeds have in common.

    These are captures, and samples of sockets if nothing is captured.
    """
    return {
        digest for name, digest in handed_in.files.items() if name.endswith((".pcap", ".jsonl"))
    } - {_EMPTY}


def other_variants(
    cases: Sequence[Case], lab: LabSpec, right: Callable[[Case, Case], set[str]]
) -> None:
    """Flag numbers that fit another student's run and not the own one.

    `right(answers_of, by_key_of)` gives the questions that are right.
    """
    numbers = [question.id for question in lab.questions if question.kind == "number"]
    needed = max(_LEAST_FITS, 0.6 * len(numbers))
    for case in cases:
        own = right(case, case)
        if len(own) >= needed:
            continue
        for other in cases:
            fits = (
                right(case, other) if other is not case and other.student != case.student else set()
            )
            if len(fits) >= needed and len(fits - own) >= _LEAST_FITS - 1:
                case.flag(
                    "other variant",
                    f"{len(fits)} of {len(numbers)} numbers fit the run of {other.student}.",
                    other.student,
                )


def same_texts(cases: Sequence[Case], lab: LabSpec) -> None:
    """Flag texts that are the same but for spaces and capitals."""
    for question in (question for question in lab.questions if question.kind == "text"):
        groups: dict[str, list[Case]] = defaultdict(list)
        for case in cases:
            text = " ".join(" ".join(case.inspected.answers.get(question.id, [])).lower().split())
            groups[text].append(case)
        for text, group in groups.items():
            for case, other in _ordered_pairs(group) if len(text) >= _LEAST_TEXT else ():
                case.flag(
                    "same text",
                    f"The text for {question.id} is that of {other.student}.",
                    other.student,
                )


def same_student(cases: Sequence[Case]) -> None:
    """Flag two hand-ins of one student: a person says which of them counts."""
    groups: dict[str, list[Case]] = defaultdict(list)
    for case in cases:
        groups[case.student].append(case)
    for group in groups.values():
        for case, other in _ordered_pairs(group):
            case.flag(
                "twice", f"There is another hand-in of {case.student}: {other.hand_in.label}."
            )


def _ordered_pairs(group: Sequence[Case]) -> Iterable[tuple[Case, Case]]:
    return [(case, other) for case in group for other in group if case is not other]
