"""The owner of a hand-in: the course system's word counts, not what it says itself."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from labs.grading.intake import HandIn
from labs.grading.roster import Person


def owner(hand_in: HandIn, people: Sequence[Person]) -> Person | None:
    """The uploader by the word of the course system; None if that names nobody in the class.

    A number that belongs to another name is not believed: in a group's assignment, Moodle gives the
    number of the group.
    """
    if numbered := _numbered(hand_in, people):
        return numbered if _may_be(hand_in.uploader, numbered.name) else None
    namesakes = [person for person in people if _is_name(hand_in.uploader, person.name)]
    return namesakes[0] if len(namesakes) == 1 else None


def ownership_doubt(hand_in: HandIn, people: Sequence[Person], claimed: Person | None) -> str:
    """Why a hand-in may be another's than it says; empty if nothing tells."""
    says = f"and the hand-in says that it is of {claimed.id if claimed else 'somebody else'}"
    if numbered := _numbered(hand_in, people):
        return f"The download names {hand_in.words}, who is {numbered.id} in the class, {says}."
    by_moodle = hand_in.moodle and any(person.moodle for person in people)
    by_canvas = hand_in.canvas and any(person.canvas for person in people)
    by_name = claimed and not _may_be(hand_in.uploader, claimed.name)
    if by_moodle or by_canvas or by_name:
        return f"It was uploaded by {hand_in.words}, who is not in the class list, {says}."
    return ""


def _numbered(hand_in: HandIn, people: Sequence[Person]) -> Person | None:
    for person in people:
        by_moodle = hand_in.moodle and hand_in.moodle == person.moodle
        if by_moodle or (hand_in.canvas and hand_in.canvas == person.canvas):
            return person
    return None


def _words(name: str) -> list[str]:
    plain = unicodedata.normalize("NFKC", name).casefold().replace("_", " ")
    return re.findall(r"\w+", plain)


def _may_be(uploader: str, name: str) -> bool:
    """Whether two names may be one person's: they share a word, or one of them is not known."""
    words = [word for word in _words(name) if len(word) > 1] or _words(name)
    joined = "".join(_words(uploader))  # Canvas leaves out what is between the words
    return not uploader or not words or any(word in joined for word in words)


def _is_name(uploader: str, name: str) -> bool:
    """Whether two names have the same words, from whichever the name begins."""
    words, joined = _words(name), "".join(_words(uploader))
    return joined in ("".join(words[first:] + words[:first]) for first in range(len(words)))
