"""Files of the page, the page as one text for a notebook, and the page's choices."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from analysis.flows.columns import KINDS
from experiments.harness.play.lesson import Lesson
from experiments.harness.play.settings import PlaySettings
from experiments.spec import CONGESTION_CONTROLS
from testbed.host.naming import CODE
from topologies.disciplines import disciplines

PAGE = Path(__file__).resolve().parent / "page"
_SHARED = CODE / "analysis/rendering/templates"
_MODULES = (
    *("values", "link", "connection", "run", "graphs", "controls"),
    *("prediction", "lessons", "words", "events", "actions", "stage", "share", "play"),
)
"""In the order of their imports."""
_OFFERED = ("PlotBoard", "ColumnStore", "element", "SERIES", "Stage", "StageModel")
_INCLUDED = re.compile(r'\{% include "([\w/]+\.(?:js|css))" %\}')
_COMMENT = re.compile(r"\{#.*?#\}\n", re.DOTALL)
_IMPORT = re.compile(r'^import (\{[^}]*\}) from "\./(\w+)\.js";$', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function|const|class) (\w+))", re.MULTILINE)
_STYLE = '<link rel="stylesheet" href="play.css">'
_SCRIPT = '<script type="module" src="play.js"></script>'


def plots_module() -> str:
    """Return the plots of all pages as one JavaScript module."""
    return f"{_plots()}\nexport {{ {', '.join(_OFFERED)} }};\n"


def style() -> str:
    """Return the page's style, with the colours and plots of all pages."""
    shared = [_SHARED / name for name in ("theme.css", "plots/plots.css", "stage/stage.css")]
    shared.append(PAGE / "own.css")
    return "\n".join(file.read_text(encoding="utf-8") for file in shared)


def whole_page() -> str:
    """Return the page with its style and scripts inside, which needs no server."""
    text = (PAGE / "index.html").read_text(encoding="utf-8")
    scripts = f"<script>\n{whole_script()}</script>"
    return text.replace(_STYLE, f"<style>{style()}</style>").replace(_SCRIPT, scripts)


def shared_page() -> str:
    """Return the page of a shared stage, without packets; the live page puts them in."""
    from analysis.rendering import page_files

    empty = {"title": "A stage", "answer": "", "made": "", "stage": "{}"}
    return page_files.render("share.html", empty)


def whole_script() -> str:
    """Return all modules as one script, each in a separate scope."""
    plots = f"modules.plots = (() => {{\n{_plots()}\nreturn {{ {', '.join(_OFFERED)} }};\n}})();"
    parts = [_scoped(name, (PAGE / f"{name}.js").read_text("utf-8")) for name in _MODULES]
    return "\n".join(['"use strict";\nconst modules = {};', plots, *parts, ""])


def _plots() -> str:
    """Expand the template of scripts without Jinja, which a server of files need not load."""
    files = (_SHARED / "plots/plots.js", _SHARED / "stage/all.js")
    text = "".join(file.read_text(encoding="utf-8") for file in files)
    whole = _INCLUDED.sub(lambda match: (_SHARED / match[1]).read_text(encoding="utf-8"), text)
    return _COMMENT.sub("", whole)


def _scoped(name: str, text: str) -> str:
    offered = ", ".join(match[1] for match in _EXPORT.finditer(text))
    inner = _EXPORT.sub("", _IMPORT.sub(r"const \1 = modules.\2;", text))
    return f"modules.{name} = (() => {{\n{inner}\nreturn {{ {offered} }};\n}})();"


@dataclass(frozen=True)
class PageOffer:
    """Lessons, and the name of the one to begin with."""

    lessons: tuple[Lesson, ...] = ()
    first: str = ""

    def as_data(self) -> dict[str, Any]:
        """Return the offer as data for JSON."""
        return {
            "lessons": [lesson.as_data() for lesson in self.lessons],
            "first": self.first,
            "defaults": PlaySettings().as_data(),
            "disciplines": {name: each.title for name, each in disciplines().items()},
            "algorithms": list(CONGESTION_CONTROLS),
            "kinds": [{"name": name, "meaning": meaning} for name, meaning in KINDS],
        }
