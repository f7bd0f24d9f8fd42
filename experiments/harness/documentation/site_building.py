"""A site from its sources: the navigation, Zensical's build, search without a server, the check.

Zensical (https://zensical.org/docs/) is the successor of Material for MkDocs by its authors. Its
settings are written as mkdocs.yml, of which JSON is a part.
"""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
import tempfile
import tomllib
from collections.abc import Iterator, Sequence
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from experiments.harness.documentation.dead_links import dead_links
from experiments.harness.documentation.page_sources import SiteSources
from testbed.host.code import CODE
from testbed.release.called import called, python_module
from topologies.foundation.errors import CommandError, TcplabError

PLAN = "docs/site.toml"
_SHIM = re.compile(r'<script src="https://unpkg\.com/[^"]*"[^>]*>')
_SEARCHER = "javascripts/workers/search*.js"


def build(sources: SiteSources, out: Path) -> None:
    """Write the site to `out`, which is made anew.

    Raises TcplabError if Zensical is not installed, a page is in no part of the plan, or a link is
    dead.
    """
    if not importlib.util.find_spec("zensical"):
        raise TcplabError(
            "What builds the site is not installed.",
            "Run ./tcplab docs, which installs it, or: pip install 'tcplab[docs]'.",
        )
    plan = tomllib.loads((CODE / PLAN).read_text(encoding="utf-8"))
    settings = {**plan["site"], "nav": navigation(plan["part"], list(sources.pages))}
    with tempfile.TemporaryDirectory(prefix="tcplab-site-") as name:
        work = Path(name)
        _stage(sources, work / "docs")
        (work / "mkdocs.yml").write_text(json.dumps(_with_code(settings), indent=1))
        _render(work)
        _search_locally(work / "site")
        _refuse(dead_links(work / "site"))
        shutil.rmtree(out, ignore_errors=True)
        shutil.copytree(work / "site", out)


def _render(work: Path) -> None:
    command = python_module("zensical", "build", "--strict", "--config-file", "mkdocs.yml")
    try:
        called(command, work, NO_COLOR="1", PYTHONPATH=str(CODE))
    except CommandError as error:
        problems = error.output.partition("Traceback (most")[0].strip()
        raise TcplabError(f"Zensical refuses a page:\n{problems or error.output}") from None


def _stage(sources: SiteSources, folder: Path) -> None:
    for name, text in sources.pages.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    for name, path in sources.files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, folder / name)


def _with_code(settings: dict[str, Any]) -> dict[str, Any]:
    """The settings with the folder in which mkdocstrings finds the packages."""
    reading = {"paths": [str(CODE)], "options": settings.pop("python")}
    settings["plugins"].append({"mkdocstrings": {"handlers": {"python": reading}}})
    return settings


def navigation(parts: Sequence[dict[str, Any]], names: list[str]) -> list[dict[str, Any]]:
    """The plan's parts with each `*` replaced by the pages that it stands for.

    Raises TcplabError for a page that is in no part, and for a part that names no page.
    """
    rest = set(names)
    tree = [{part["title"]: list(_listed(part["pages"], names, rest))} for part in parts]
    if rest:
        raise TcplabError(
            f"No part of {PLAN} has these pages: {', '.join(sorted(rest))}.", "Name each there."
        )
    return tree


def _listed(wanted: Sequence[Any], names: list[str], rest: set[str]) -> Iterator[Any]:
    for entry in wanted:
        if isinstance(entry, dict):
            yield {title: list(_listed(pages, names, rest)) for title, pages in entry.items()}
            continue
        found = [name for name in names if fnmatch(name, entry) and name in rest]
        if not found:
            raise TcplabError(f"{PLAN} names {entry}, and there is no such page.", "Mend it.")
        rest -= {*found}
        yield from found


def _search_locally(site: Path) -> None:
    """Let search work in pages that are opened as files, and fetch nothing for it.

    A browser starts no worker from a file, so Zensical's pages fetch a stand-in from a server.
    Here the worker comes from its own text, which is a script of the site.
    """
    (searcher,) = (site / "assets").glob(_SEARCHER)
    worker = Path(__file__).with_name("local_worker.js").read_text(encoding="utf-8")
    text = json.dumps(searcher.read_text(encoding="utf-8"))
    (site / "assets/local_worker.js").write_text(worker.replace('"SEARCHER"', text))
    for page in site.rglob("*.html"):
        above = "../" * (len(page.relative_to(site).parts) - 1)
        script = f'<script src="{above or "./"}assets/local_worker.js">'
        page.write_text(_SHIM.sub(script, page.read_text(encoding="utf-8")), encoding="utf-8")


def _refuse(faults: Sequence[str]) -> None:
    if faults:
        raise TcplabError(
            f"The site has {len(faults)} dead links:\n  " + "\n  ".join(faults) + "\n",
            "Mend them; nothing was written.",
        )
