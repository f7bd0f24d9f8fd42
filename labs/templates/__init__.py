"""Pages and texts from templates. What strangers wrote is escaped by Jinja; Markdown is rendered without raw HTML."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, PrefixLoader, StrictUndefined
from markdown_it import MarkdownIt

from labs.catalogue import names

_STYLE = PackageLoader("analysis")


@cache
def _environment() -> Environment:
    loaders = {name: PackageLoader(f"labs.{name}", ".") for name in names()}
    environment = Environment(
        loader=PrefixLoader({"labs": PackageLoader("labs"), "analysis": _STYLE, **loaders}), undefined=StrictUndefined,
        autoescape=lambda name: bool(name and name.endswith(".html")), trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    environment.filters |= {"toml": json.dumps, "number": _number}
    return environment


def render(name: str, context: dict[str, Any]) -> str:
    """A template of this folder."""
    return _environment().get_template(f"labs/{name}").render(context)


def render_lab(lab: str, context: dict[str, Any]) -> str:
    """The handout of a lab."""
    return _environment().get_template(f"{lab}/handout.md.j2").render(context)


def markdown_page(title: str, text: str) -> str:
    """A page of Markdown of our own; raw HTML in it is shown as text."""
    body = MarkdownIt("commonmark", {"html": False}).enable("table").render(text)
    return render("text.html", {"title": title, "body": body})


def _number(value: float | None) -> str:
    """As people write it: three digits, whole numbers in full."""
    if value is None:
        return "–"
    if value == int(value) or abs(value) >= 1000:
        return f"{value:,.0f}".replace(",", "\N{NARROW NO-BREAK SPACE}")
    return f"{value:.3g}"
