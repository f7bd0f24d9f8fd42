"""Pages and texts from templates.

Jinja escapes what strangers wrote. Markdown is rendered without raw HTML.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

from jinja2 import (
    BaseLoader,
    ChoiceLoader,
    Environment,
    FileSystemLoader,
    PackageLoader,
    PrefixLoader,
    StrictUndefined,
)
from markdown_it import MarkdownIt

import labs
from analysis import rendering
from analysis.rendering.page_files import with_code
from labs.definition.catalogue import folder_of, names

_FRAME = PackageLoader(rendering.__name__)
TEMPLATES = Path(__file__).resolve().parent


def _environment() -> Environment:
    return _environment_of(tuple(names()))


@cache
def _environment_of(known: tuple[str, ...]) -> Environment:
    loaders: dict[str, BaseLoader] = {name: FileSystemLoader(folder_of(name)) for name in known}
    loaders["labs"] = PackageLoader(labs.__name__)
    environment = Environment(
        loader=ChoiceLoader([PrefixLoader(loaders), _FRAME]),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=lambda name: bool(name and name.endswith(".html")),
    )
    environment.filters |= {"number": _number, "xml": escape, "code": with_code}
    return environment


def render(name: str, context: dict[str, Any]) -> str:
    """Return a template of this folder."""
    return _environment().get_template(f"labs/{name}").render(context)


def page_with_script(name: str, script: str, context: dict[str, Any]) -> str:
    """A page that may run this one script: its digest is in the page's Content-Security-Policy."""
    source = _environment().get_template(f"labs/{script}").render()
    digest = base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()
    return render(name, context | {"script": source, "script_digest": digest})


def markdown_page(title: str, text: str, language: str, pictures: Mapping[str, str]) -> str:
    """Return a page of Markdown of our own; raw HTML in it is shown as text.

    `pictures` are SVG by the paths that the text gives them; the page holds them itself.
    """
    body = MarkdownIt("commonmark", {"html": False}).enable("table").render(text)
    for path, svg in pictures.items():
        data = base64.b64encode(svg.encode()).decode()
        body = body.replace(f'src="{path}"', f'src="data:image/svg+xml;base64,{data}"')
    return render("text.html", {"title": title, "body": body, "language": language})


def _number(value: float | None) -> str:
    """Return a number as people write it: three digits, whole numbers in full."""
    if value is None:
        return "\N{EN DASH}"
    if value == int(value) or abs(value) >= 1000:
        return f"{value:,.0f}".replace(",", "\N{NARROW NO-BREAK SPACE}")
    return f"{value:.3g}"
