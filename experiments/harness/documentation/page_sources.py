"""Which files of the checkout are pages of the site, and by what names."""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from experiments.harness.documentation.page_links import with_links
from testbed.host.code import CODE
from topologies.foundation.errors import TcplabError

HOME = "index.md"
NAMES = {"README.md": HOME, "CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md"}
"""Files beside docs/ that are pages, and what the site calls them."""
_STUDY = re.compile(r"experiments/(\w+)/(?:README|(\w+))\.md")


class SiteSources(NamedTuple):
    """What a site is made of, by names below its folder: pages as text, files as they are."""

    pages: dict[str, str]
    files: dict[str, Path]


def collected(made: dict[str, str]) -> SiteSources:
    """The pages that are written by hand, and those `made` of the code.

    A link to another file of the checkout leads to a copy. Raises TcplabError for a link to
    nothing, and in an installed copy, which has no docs.
    """
    if not (CODE / "docs").is_dir():
        raise TcplabError(
            "This copy of tcplab is installed, without its documentation.",
            "Build the site in a checkout.",
        )
    written = page_files()
    known = {**{f"docs/{name}": name for name in made}, **written}
    files = {
        name.removeprefix("docs/"): CODE / name
        for name in _below("docs")
        if not name.endswith(".md")
    }
    pages = dict(made)
    for name, page in written.items():
        text = (CODE / name).read_text(encoding="utf-8")
        pages[page] = with_links(text, PurePosixPath(name), PurePosixPath(page), known, files)
    return SiteSources(pages, files)


def page_files() -> dict[str, str]:
    """The files of the checkout that are pages, with their names in the site."""
    studies = (path.relative_to(CODE).as_posix() for path in CODE.glob("experiments/*/*.md"))
    return {
        **NAMES,
        **{name: name.removeprefix("docs/") for name in _below("docs") if name.endswith(".md")},
        **{name: _of_study(name) for name in sorted(studies)},
    }


def _of_study(name: str) -> str:
    match = _STUDY.fullmatch(name)
    assert match, name
    return f"studies/{match[1]}{f'-{match[2]}' if match[2] else ''}.md"


def _below(folder: str) -> list[str]:
    paths = sorted((CODE / folder).rglob("*"))
    return [path.relative_to(CODE).as_posix() for path in paths if path.is_file()]
