"""Text in the cells of Markdown's tables."""

from __future__ import annotations

import re
from html import escape

_MEANINGFUL = "|*[]_"
_CODE = re.compile(r"`([^`]*)`")


def cell(text: str) -> str:
    """The text on one line, without any meaning for Markdown but that of `code`."""
    plain = _CODE.sub(r"<code>\1</code>", escape(" ".join(text.split()), quote=False))
    return "".join(f"&#{ord(sign)};" if sign in _MEANINGFUL else sign for sign in plain)
