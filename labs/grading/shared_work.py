"""Work that hand-ins share: captures, another's numbers, texts, and similar sentences."""

import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, combinations, islice, permutations

from labs.definition.spec import LabSpec
from labs.grading.case import Case, Flag

_ALIKE = 0.7
"""Words in common, of all words of both (Jaccard's index): from here on sentences are alike."""
_LEAST_WORDS = 6
_MOST = 40  # pairs on a page
_MOST_OF_ONE = 40  # sentences of one student, so that no text takes long to compare
_MOST_OF_TWO = 5  # pairs of the same two students, so that others still find room


@dataclass(frozen=True)
class SimilarSentences:
    """Two students' similar sentences, and the share of words that they have in common."""

    student: str
    sentence: str
    other: str
    other_sentence: str
    share: float


def similar_sentences(texts: Mapping[str, str], model: str = "") -> list[SimilarSentences]:
    """Return the most similar pairs of sentences of two students, without those of the `model`."""
    own = {_words(sentence) for sentence in _sentences(model)}
    written = [
        (student, sentence, words)
        for student, text in sorted(texts.items())
        for sentence in islice(_sentences(text), _MOST_OF_ONE)
        if len(words := _words(sentence)) >= _LEAST_WORDS and words not in own
    ]
    pairs = [
        SimilarSentences(student, sentence, other, other_sentence, share)
        for (student, sentence, words), (other, other_sentence, others) in combinations(written, 2)
        if student != other and (share := len(words & others) / len(words | others)) >= _ALIKE
    ]
    met: Counter[tuple[str, str]] = Counter()
    few = []
    for pair in sorted(pairs, key=lambda pair: -pair.share):
        met[pair.student, pair.other] += 1
        if met[pair.student, pair.other] <= _MOST_OF_TWO:
            few.append(pair)
    return few[:_MOST]


def _sentences(text: str) -> Iterator[str]:
    yield from (part.strip() for part in re.split(r"(?<=[.!?])\s+|\n", text) if part.strip())


def _words(sentence: str) -> frozenset[str]:
    return frozenset(re.findall(r"[^\W\d_]{2,}", sentence.lower()))


_EMPTY = hashlib.sha256(b"").hexdigest()
_LEAST_FITS = 4
_LEAST_TEXT = 120  # characters; two short texts may be alike by chance


def shared_work(cases: Sequence[Case], lab: LabSpec) -> Iterator[tuple[Case, Flag]]:
    yield from chain(same_student(cases), same_captures(cases), same_texts(cases, lab))


def same_captures(cases: Sequence[Case]) -> Iterator[tuple[Case, Flag]]:
    """Flag captures of several hand-ins; a student whose own run gives them is only named.

    Students whose runs give the same file when they are repeated may share it: without a loss,
    equal settings give equal packets under any seed. The digest that a run gives is kept with it.
    """
    holders: dict[str, list[tuple[Case, str, str | None]]] = defaultdict(list)
    for case in cases:
        for run, handed_in in case.inspected.runs.items():
            for name, digest in handed_in.files.items():
                if name.endswith((".pcap", ".jsonl")) and digest != _EMPTY:
                    own = case.expected.get(run, {}).get(name)
                    holders[digest].append((case, run, own))
    pairs = (pair for shared in holders.values() for pair in permutations(shared, 2))
    found = (
        (case, run, other)
        for (case, run, own), (other, _, theirs) in pairs
        if other is not case and not case.authentic.get(run) and (own is None or own != theirs)
    )
    for case, run, other in dict.fromkeys(found):
        reason = f"Run {run} holds captures that {other.student} handed in too."
        yield case, Flag("same captures", reason, other.student)


def other_variants(
    case: Case,
    others: Sequence[Case],
    lab: LabSpec,
    fits: Callable[[Sequence[Case]], Sequence[Collection[str]]],
) -> Case:
    """Flag numbers that fit another's run, by `fits(others)`, and not the own one."""
    numbers = [question.id for question in lab.questions if question.kind == "number"]
    needed = max(_LEAST_FITS, 0.6 * len(numbers))
    strangers = [other for other in others if other.student != case.student]
    if len(case.right) >= needed or not strangers:
        return case
    for other, right in zip(strangers, fits(strangers), strict=True):
        if len(right) >= needed and len(set(right) - set(case.right)) >= _LEAST_FITS - 1:
            reason = f"{len(right)} of {len(numbers)} numbers fit the run of {other.student}."
            case = case.flagged(Flag("other variant", reason, other.student))
    return case


def same_texts(cases: Sequence[Case], lab: LabSpec) -> Iterator[tuple[Case, Flag]]:
    for question in (question for question in lab.questions if question.kind == "text"):
        groups: dict[str, list[Case]] = defaultdict(list)
        for case in cases:
            text = " ".join(" ".join(case.inspected.answers.get(question.id, [])).lower().split())
            groups[text].append(case)
        for text, group in groups.items():
            for case, other in permutations(group, 2) if len(text) >= _LEAST_TEXT else ():
                reason = f"The text for {question.id} is that of {other.student}."
                yield case, Flag("same text", reason, other.student)


def same_student(cases: Sequence[Case]) -> Iterator[tuple[Case, Flag]]:
    """Flag two hand-ins of one student: a person says which of them counts."""
    groups: dict[str, list[Case]] = defaultdict(list)
    for case in cases:
        groups[case.student].append(case)
    for case, other in chain.from_iterable(permutations(group, 2) for group in groups.values()):
        reason = f"There is another hand-in of {case.student}: {other.hand_in.label}."
        yield case, Flag("twice", reason)
