"""The gallery: pictures, each with the commands that draw it from its seed.

docs/gallery/pictures.toml lists them. A picture is drawn in a scratch folder by the commands as a
reader types them. The cache keeps it by a digest of the commands, the gallery's studies, all
templates and all code.
"""

from __future__ import annotations

import hashlib
import re
import shlex
import shutil
import tempfile
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import msgspec

from experiments.harness.documentation.reference import rendered
from testbed.host.naming import CODE
from testbed.host.packages import MISSING
from testbed.jobs.archive import fingerprint, fingerprint_of
from testbed.recipes.cache import folder
from testbed.release.archive import called
from topologies.foundation.errors import CommandError, TcplabError

PLACE = CODE / "docs/gallery"
_TEXTS = (
    PLACE / "studies",
    CODE / "analysis/rendering/templates",
    Path(__file__).parent / "templates",
)
"""Studies, and templates of pages, which are no code."""
PROGRAM = "./tcplab"
"""First word of the gallery's commands, as everywhere in the documentation."""
_GRAPH = re.compile(r'<section class="graph" id="([^"]+)"')


@dataclass(frozen=True)
class GalleryPicture:
    """A picture and its `commands`.

    `file` is a picture, or the page of a run or sweep of which it shows `graphs`.
    """

    name: str
    title: str
    look: str
    commands: tuple[str, ...]
    file: str
    graphs: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """SHA-256 of all that the picture depends on."""
        words = (self.commands, self.file, self.graphs, _texts(), fingerprint())
        return hashlib.sha256(repr(words).encode()).hexdigest()


@cache
def _texts() -> str:
    """Return the SHA-256 of studies and templates, which are the same for all pictures."""
    files = [path for place in _TEXTS for path in place.rglob("*.*") if path.suffix != ".pyc"]
    return fingerprint_of({str(path.relative_to(CODE)): path.read_bytes() for path in files})


def pictures() -> tuple[GalleryPicture, ...]:
    """Read all pictures, in the order of the page."""
    content = tomllib.loads((PLACE / "pictures.toml").read_text(encoding="utf-8"))
    return msgspec.convert(content["picture"], tuple[GalleryPicture, ...])


def kept_folder() -> Path:
    """Return the folder of the cache for pictures."""
    return folder() / "gallery"


def made(
    wanted: Sequence[GalleryPicture], program: Sequence[str], report: Callable[[str], None]
) -> dict[str, Path]:
    """Return the files of pictures by their names in the site, after drawing the missing ones.

    `program` starts the commands; `report` gets the title of each new picture. One that needs a
    compiler which is not here is left out. Raises CommandError if a command fails otherwise,
    TcplabError without the file or a graph.
    """
    files = {}
    for picture in wanted:
        kept = kept_folder() / f"{picture.key}{Path(picture.file).suffix}"
        if not kept.exists():
            report(picture.title)
            if lack := _lack(picture, program, kept):
                report(f"left out. {lack}")
                continue
        files[f"gallery/{picture.name}{kept.suffix}"] = kept
    return files


def _lack(picture: GalleryPicture, program: Sequence[str], kept: Path) -> str:
    """Draw a picture, or return which packages of this machine it lacks."""
    try:
        _draw(picture, program, kept)
    except CommandError as error:
        if MISSING not in error.output:
            raise
        return MISSING + error.output.partition(MISSING)[2].partition("\n")[0]
    return ""


def _draw(picture: GalleryPicture, program: Sequence[str], kept: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="tcplab-gallery-") as name:
        work = Path(name)
        for part in ("docs", "experiments"):
            (work / part).symlink_to(CODE / part)
        (work / "tcplab").write_text(f'#!/bin/sh\nexec {shlex.join(program)} "$@"\n')
        (work / "tcplab").chmod(0o755)
        for command in picture.commands:
            called(["sh", "-c", command], work, PYTHONPATH=str(CODE))
        file = work / picture.file
        if not file.is_file():
            raise TcplabError(
                f"The commands of '{picture.name}' drew no {picture.file}.",
                "Fix docs/gallery/pictures.toml.",
            )
        kept.parent.mkdir(parents=True, exist_ok=True)
        unfinished = kept.with_name(f"{kept.name}.{work.name}")
        if picture.graphs:
            page = _graphs_only(file.read_text(encoding="utf-8"), picture.graphs)
            unfinished.write_text(page, encoding="utf-8")
        else:
            shutil.copy(file, unfinished)
        unfinished.rename(kept)


def _graphs_only(page: str, wanted: Sequence[str]) -> str:
    """Show the groups of the `wanted` graphs only, which the page's scripts draw."""
    graphs = _GRAPH.findall(page)
    if not all(any(graph.startswith(name) for graph in graphs) for name in wanted):
        raise TcplabError(
            f"A page lacks some graphs of {', '.join(wanted)}.",
            f"It has {', '.join(graphs) or 'no graphs'}.",
        )
    return page.replace("</body>", rendered("graphs_only.html.j2", wanted=wanted) + "</body>", 1)


def gallery_page(shown: Sequence[GalleryPicture], files: Sequence[str]) -> str:
    """Return the page; a picture without a file has only its commands."""
    names = {Path(name).stem: Path(name).name for name in files}
    return rendered("gallery.md.j2", pictures=shown, files=names)
