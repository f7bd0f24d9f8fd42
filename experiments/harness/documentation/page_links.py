"""Links between files of the checkout, turned into links between pages of the site."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from testbed.host.code import CODE
from topologies.foundation.errors import TcplabError

COPIES = "files"
"""The folder of the site for files that pages lead to and that are no pages."""
_SHOWN = (".png", ".svg")
_LINK = re.compile(r"(?<=\]\()(?![a-z]+:|#)([^)#\s]+)(?=[#)])")
_FENCE = re.compile(r"^\s*```")


def with_links(
    text: str,
    source: PurePosixPath,
    page: PurePosixPath,
    pages: Mapping[str, str],
    files: dict[str, Path],
) -> str:
    """The text of the file `source` with links as the site's `page` needs them.

    Links outside code are changed. Files that are no pages are added to `files`. Raises TcplabError
    for a link to what is not there.
    """

    def leading(match: re.Match[str]) -> str:
        target = os.path.normpath(source.parent / match[1])
        name = pages.get(target) or _copied(target, source, files)
        return os.path.relpath(name, page.parent)

    lines, code = [], False
    for line in text.splitlines():
        code ^= bool(_FENCE.match(line))
        lines.append(line if code else _LINK.sub(leading, line))
    return "\n".join(lines) + "\n"


def _copied(target: str, source: PurePosixPath, files: dict[str, Path]) -> str:
    """The name of the copy of a file: as text, unless it is a picture, so that browsers show it."""
    path = CODE / target
    if not path.is_file():
        raise TcplabError(f"{source} leads to {target}, which is not there.", "Mend the link.")
    if target.startswith("docs/"):
        return target.removeprefix("docs/")
    name = f"{COPIES}/{target}" + ("" if path.suffix in _SHOWN else ".txt")
    files[name] = path
    return name
