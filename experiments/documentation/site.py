"""The documentation as a site by Zensical (https://zensical.org/docs/), the heir of MkDocs."""

import importlib.util
import json
import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatch
from pathlib import Path, PurePosixPath
from typing import Any

from experiments.documentation.reference import rendered
from testbed.host import CODE
from testbed.release.files import called, python_module
from topologies.errors import CommandError, TcplabError
from topologies.notation import toml_file

PLAN = "docs/site.toml"
STAGE = "bufferbloat.html"  # the page of the recorded stage, which the first page shows
_NAMES = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
}
_STUDY = re.compile(r"experiments/(\w+)/(?:README|(\w+))\.md")
_LINK = re.compile(r"^\s*```.*?^\s*```$|(?<=\]\()(?![a-z]+:|#)([^)#\s]+)(?=[#)])", re.M | re.S)
_FETCHED_SCRIPT = re.compile(r'<script src="https://unpkg\.com/[^"]*"[^>]*>')


def build(generated: Mapping[str, str], drawn: Mapping[str, Path], out: Path) -> None:
    """Write the site to `out`, with `generated` pages and `drawn` files. Raises TcplabError."""
    if not importlib.util.find_spec("zensical"):
        remedy = "Run ./tcplab docs, which installs it, or: pip install 'tcplab[docs]'."
        raise TcplabError("Zensical, which builds the site, is not installed.", remedy)
    if not (CODE / PLAN).is_file():
        problem = "This copy of tcplab is installed, without its documentation."
        raise TcplabError(problem, "Build the site in a checkout.")
    plan = toml_file(CODE / PLAN)
    pages, files = _sources(generated)
    title, first, rest = pages["index.md"].split("\n\n", 2)
    if STAGE in drawn:
        stage = rendered("front.md.j2", page=STAGE)
        pages["index.md"] = "\n\n".join((title, first, stage, rest))
    settings = plan["site"]
    settings["nav"] = navigation(plan["part"], list(pages))
    reading = {"paths": [str(CODE)], "options": settings.pop("python")}
    settings["plugins"].append({"mkdocstrings": {"handlers": {"python": reading}}})
    with tempfile.TemporaryDirectory(prefix="tcplab-site-") as name:
        work = Path(name)
        for page in (*pages, *files, *drawn):
            (work / "docs" / page).parent.mkdir(parents=True, exist_ok=True)
        for page, text in pages.items():
            (work / "docs" / page).write_text(text, encoding="utf-8")
        for page, path in {**files, **drawn}.items():
            shutil.copy(path, work / "docs" / page)
        (work / "mkdocs.yml").write_text(json.dumps(settings, indent=1))
        _render(work)
        _search_locally(work / "site")
        shutil.rmtree(out, ignore_errors=True)
        shutil.copytree(work / "site", out)


def _sources(generated: Mapping[str, str]) -> tuple[dict[str, str], dict[str, Path]]:
    written = dict(_NAMES)
    files = {}
    for path in sorted((CODE / "docs").rglob("*")):
        name = path.relative_to(CODE / "docs").as_posix()
        if path.suffix == ".md":
            written[f"docs/{name}"] = name
        elif path.is_file():
            files[name] = path
    for path in sorted(CODE.glob("experiments/*/*.md")):
        name = path.relative_to(CODE).as_posix()
        study, rest = _STUDY.findall(name)[0]
        written[name] = f"studies/{study}{rest and f'-{rest}'}.md"
    known = {**{f"docs/{name}": name for name in generated}, **written}
    pages = {
        page: _with_links(PurePosixPath(name), PurePosixPath(page), known, files)
        for name, page in written.items()
    }
    return {**generated, **pages}, files


def _with_links(
    source: PurePosixPath, page: PurePosixPath, pages: Mapping[str, str], files: dict[str, Path]
) -> str:
    """Read a page with the links that the site needs; other linked files are added to `files`."""

    def leading(match: re.Match[str]) -> str:
        if not match[1]:
            return match[0]  # a block of code
        target = os.path.normpath(source.parent / match[1])
        if not (CODE / target).is_file() and target not in pages:
            raise TcplabError(f"{source} links to {target}, which does not exist.", "Fix the link.")
        name = pages.get(target) or target.removeprefix("docs/")
        if name == target:
            name = f"files/{target}" + ("" if target.endswith((".png", ".svg", ".gif")) else ".txt")
            files[name] = CODE / target
        return os.path.relpath(name, page.parent)

    return _LINK.sub(leading, (CODE / source).read_text(encoding="utf-8"))


def navigation(parts: Sequence[dict[str, Any]], names: list[str]) -> list[dict[str, Any]]:
    """Return the plan's parts with pages for each `*`. Raises TcplabError for one in no part."""
    rest = set(names)
    tree = [{part["title"]: list(_listed(part["pages"], names, rest))} for part in parts]
    if rest:
        problem = f"No part of {PLAN} has these pages: {', '.join(sorted(rest))}."
        raise TcplabError(problem, "Add each page.")
    return tree


def _listed(wanted: Sequence[Any], names: list[str], rest: set[str]) -> Iterator[Any]:
    for entry in wanted:
        if isinstance(entry, dict):
            yield {title: list(_listed(pages, names, rest)) for title, pages in entry.items()}
            continue
        found = [name for name in names if fnmatch(name, entry) and name in rest]
        if not found:
            raise TcplabError(f"{PLAN} names {entry}, and there is no such page.", "Remove it.")
        rest -= {*found}
        yield from found


def _render(work: Path) -> None:
    command = python_module("zensical", "build", "--strict", "--config-file", "mkdocs.yml")
    try:
        called(command, work, NO_COLOR="1", PYTHONPATH=str(CODE))
    except CommandError as error:
        problems = error.output.partition("Traceback (most")[0].strip()
        raise TcplabError(f"Zensical refuses a page:\n{problems or error.output}") from None


def _search_locally(site: Path) -> None:
    """Start the search's worker from its text: browsers start no worker from a local file."""
    (searcher,) = (site / "assets/javascripts/workers").glob("search*.js")
    worker = Path(__file__).with_name("local_worker.js").read_text(encoding="utf-8")
    text = json.dumps(searcher.read_text(encoding="utf-8"))
    (site / "assets/local_worker.js").write_text(worker.replace('"SEARCHER"', text))
    for page in site.rglob("*.html"):
        top = os.path.relpath(site, page.parent)
        script = f'<script src="{top}/assets/local_worker.js">'
        page.write_text(_FETCHED_SCRIPT.sub(script, page.read_text(encoding="utf-8")), "utf-8")
