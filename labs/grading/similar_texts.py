"""Sentences that two students wrote nearly alike, to be read side by side."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations

_ALIKE = 0.7
"""Words in common, of all words of both (Jaccard's index): from here on sentences are alike."""
_LEAST_WORDS = 6
_MOST = 40  # pairs on a page


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
        for sentence in _sentences(text)
        if len(words := _words(sentence)) >= _LEAST_WORDS and words not in own
    ]
    pairs = [
        SimilarSentences(student, sentence, other, other_sentence, share)
        for (student, sentence, words), (other, other_sentence, others) in combinations(written, 2)
        if student != other and (share := len(words & others) / len(words | others)) >= _ALIKE
    ]
    return sorted(pairs, key=lambda pair: -pair.share)[:_MOST]


def _sentences(text: str) -> Iterator[str]:
    yield from (part.strip() for part in re.split(r"(?<=[.!?])\s+|\n", text) if part.strip())


def _words(sentence: str) -> frozenset[str]:
    return frozenset(re.findall(r"[^\W\d_]{2,}", sentence.lower()))
