"""The links of a built site: each leads to a file and an anchor, and nothing is fetched elsewhere.

Zensical looks at the links of pages; this looks at what came out, made pages and pictures too.
"""

from collections.abc import Iterator
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

_FETCHED = {("script", "src"), ("img", "src"), ("link", "href"), ("iframe", "src")}
"""What a browser gets by itself; a link in a text is followed by a person only."""
_PRIVATE = ("http", "https", "")
"""Kinds of addresses that are looked at; `data:` and `mailto:` are whole in themselves."""


class _Addresses(HTMLParser):
    """The addresses of a page, with the element that has each, and its anchors."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, bool]] = []
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in ("id", "name") and value:
                self.anchors.add(value)
            if name in ("href", "src") and value:
                self.found.append((value, (tag, name) in _FETCHED))


@cache
def _page(path: Path) -> _Addresses:
    return _Addresses(path.read_text(encoding="utf-8"))


def dead_links(site: Path) -> list[str]:
    """A sentence for each link of the site's pages that leads to nothing or fetches elsewhere."""
    _page.cache_clear()
    pages = sorted(path for path in site.rglob("*.html") if path.name != "404.html")
    return [sentence for page in pages for sentence in _faults(site.resolve(), page.resolve())]


def _faults(site: Path, page: Path) -> Iterator[str]:
    name = page.relative_to(site)
    for address, fetched in _page(page).found:
        parts = urlsplit(address)
        if parts.scheme not in _PRIVATE:
            continue
        if parts.netloc:
            if fetched:
                yield f"{name} fetches {address}"
            continue
        path = (page.parent / unquote(parts.path)).resolve() if parts.path else page
        if not path.is_relative_to(site) or not path.exists():
            yield f"{name} leads to {address}, which is not there"
        elif _lacks(path, unquote(parts.fragment)):
            yield f"{name} leads to {address}, a place that the page does not have"


def _lacks(path: Path, fragment: str) -> bool:
    return bool(fragment) and path.suffix == ".html" and fragment not in _page(path).anchors
