"""Read errors, collected so that reading can continue."""

from __future__ import annotations

from dataclasses import dataclass, field


def printable(text: object) -> str:
    """`text` without control characters: a file must not be able to steer the reader's terminal."""
    words = str(text)
    if words.isprintable():
        return words
    return "".join(
        letter if letter.isprintable() or letter == "\n" else "\N{REPLACEMENT CHARACTER}"
        for letter in words
    )


@dataclass
class Problems:
    """Sentences for the reader, in the order of discovery and without repetition."""

    found: list[str] = field(default_factory=list)

    def add(self, sentence: str) -> None:
        cleaned = printable(sentence)
        if cleaned not in self.found:
            self.found.append(cleaned)
