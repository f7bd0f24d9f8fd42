"""The tags of a page: its elements, and where they lead."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path


class PageTags(HTMLParser):
    def __init__(self, page: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.names: set[str] = set()
        self.feed(page.read_text())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.add(tag)
        self.links += [value or "" for name, value in attrs if name in ("src", "href")]
