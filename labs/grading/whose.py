"""Whose a hand-in is: the course system's word on who uploaded it counts, whatever the hand-in says itself."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from labs.grading.intake import HandIn
from labs.grading.roster import Person


def owner(hand_in: HandIn, people: Sequence[Person]) -> Person | None:
    """Who uploaded it by the word of the course system; None if it says nothing or nobody in the class fits.

    A number that belongs to another name is not believed: of a group's assignment, Moodle's number is the group's.
    """
    if numbered := _numbered(hand_in, people):
        return numbered if _alike(hand_in.uploader, numbered.name) else None
    named = [person for person in people if hand_in.uploader and _same(hand_in.uploader, person.name)]
    return named[0] if len(named) == 1 else None


def doubt(hand_in: HandIn, people: Sequence[Person], claimed: Person | None) -> str:
    """Why a hand-in that counts for whom it says itself may be another's, in a sentence; empty if nothing tells."""
    says = f"and the hand-in says that it is of {claimed.id}" if claimed else "and the hand-in says something else"
    if numbered := _numbered(hand_in, people):
        return f"The download names {hand_in.words}, who is {numbered.id} in the class, {says}."
    moodle = any(person.moodle for person in people) and hand_in.moodle
    canvas = any(person.canvas for person in people) and hand_in.canvas
    named = hand_in.uploader and claimed and claimed.name and not _alike(hand_in.uploader, claimed.name)
    if moodle or canvas or named:
        return f"It was uploaded by {hand_in.words}, whom the class list does not name, {says}."
    return ""


def _numbered(hand_in: HandIn, people: Sequence[Person]) -> Person | None:
    for person in people:
        if (hand_in.moodle and hand_in.moodle == person.moodle) or (hand_in.canvas and hand_in.canvas == person.canvas):
            return person
    return None


def _words(name: str) -> list[str]:
    return re.findall(r"\w+", unicodedata.normalize("NFKC", name).casefold().replace("_", " "))


def _alike(uploader: str, name: str) -> bool:
    """Whether two names may be one person's: they share a word, or one of them is not known."""
    words = [word for word in _words(name) if len(word) > 1] or _words(name)
    joined = "".join(_words(uploader))  # Canvas leaves out what is between the words
    return not uploader or not words or any(word in joined for word in words)


def _same(uploader: str, name: str) -> bool:
    """Whether two names have the same words, from whichever the name begins."""
    words, joined = _words(name), "".join(_words(uploader))
    turned = ("".join(words[first:] + words[:first]) for first in range(len(words)))
    return joined in turned
