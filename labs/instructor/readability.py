"""How hard a text is to read, as one number that works in many languages: LIX."""

from __future__ import annotations

import re

HARDEST = 45.0
"""Up to 40 is a newspaper, up to 50 the text of an office (Björnsson 1968)."""
_LONG = 7  # letters from which on a word is long
_CODE = re.compile(r"```.*?```|`[^`]*`|\{[{%].*?[%}]\}|!\[.*?\)", re.DOTALL)


def lix(markdown: str) -> float:
    """Words in a sentence plus percent of long words (C. H. Björnsson, Läsbarhet, 1968)."""
    text = re.sub(r"\([^)]*RFC[^)]*\)", "", _CODE.sub(" ", markdown))
    words = re.findall(r"[^\W\d_]+", text)
    sentences = len(re.findall(r"[.!?:](?=\s|$)", text)) or 1
    long = sum(len(word) >= _LONG for word in words)
    return len(words) / sentences + 100 * long / max(len(words), 1)
