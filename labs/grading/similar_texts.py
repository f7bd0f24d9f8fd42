"""Sentences that two students wrote nearly alike, to be read side by side."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations, islice

_ALIKE = 0.7
"""Words in common, of all words of both (Jaccard's index): from here on sentences are alike."""
_LEAST_WORDS = 6
_MOST = 40  # pairs on a page
_MOST_OF_ONE = 40  # sentences of one student, so that nobody's text takes long to compare
_MOST_OF_TWO = 5  # pairs of the same two students, so that others still find room


@dataclass(frozen=True)
class SimilarSentences:
    """A sentence of one student beside one of another, and which share of their words is common."""

    student: str
    sentence: str
    other: str
    other_sentence: str
    share: float


def similar_sentences(texts: Mapping[str, str], model: str = "") -> list[SimilarSentences]:
    """The most similar pairs of sentences in texts by student, of two students each.

    What stands in the lab's own texts, such as what is asked, is `model` and no sign of copying.
    """
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
    return list(islice(_few_of_each(sorted(pairs, key=lambda pair: -pair.share)), _MOST))


def _few_of_each(pairs: Iterable[SimilarSentences]) -> Iterator[SimilarSentences]:
    """The first pairs of each two students."""
    met: Counter[tuple[str, str]] = Counter()
    for pair in pairs:
        students = pair.student, pair.other
        met[students] += 1
        if met[students] <= _MOST_OF_TWO:
            yield pair


def _sentences(text: str) -> Iterator[str]:
    yield from (part.strip() for part in re.split(r"(?<=[.!?])\s+|\n", text) if part.strip())


def _words(sentence: str) -> frozenset[str]:
    return frozenset(re.findall(r"[^\W\d_]{2,}", sentence.lower()))
