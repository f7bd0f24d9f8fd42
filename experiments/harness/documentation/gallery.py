"""The gallery: pictures, each with the commands that made it, made anew of their seeds.

docs/gallery/pictures.toml says which. A picture is made in a scratch folder by the commands as a
reader types them, and kept in the cache by a digest of the commands, the pictures' own studies and
all code, so that only what may look different is made again.
"""

from __future__ import annotations

import hashlib
import shlex
import shutil
import tempfile
import tomllib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from experiments.harness.documentation.gallery_plots import plots_page
from testbed.host.code import CODE
from testbed.jobs.fingerprint import fingerprint
from testbed.recipes import cache
from testbed.release.called import called
from topologies.foundation.errors import TcplabError

PLACE = CODE / "docs/gallery"
PROGRAM = "./tcplab"
"""What a command of the gallery begins with, as everywhere in the documentation."""


@dataclass(frozen=True)
class GalleryPicture:
    """One of the gallery: `commands` as they are typed in a checkout, and what they draw.

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
        """What the picture depends on, as a SHA-256."""
        studies = [path.read_text() for path in sorted(PLACE.glob("studies/*.py"))]
        words = (self.commands, self.file, self.graphs, studies, fingerprint())
        return hashlib.sha256(repr(words).encode()).hexdigest()


def pictures() -> tuple[GalleryPicture, ...]:
    """All pictures, in the order of the page."""
    content = tomllib.loads((PLACE / "pictures.toml").read_text(encoding="utf-8"))
    return tuple(
        GalleryPicture(
            **{**entry, "commands": tuple(entry["commands"]), "graphs": tuple(entry["graphs"])}
        )
        for entry in content["picture"]
    )


def kept_folder() -> Path:
    """Where pictures are kept from site to site."""
    return cache.folder() / "gallery"


def made(
    wanted: Sequence[GalleryPicture], program: Sequence[str], report: Callable[[str], None]
) -> dict[str, Path]:
    """The files of pictures by their names in the site; those that the cache lacks are made.

    `program` starts the commands; `report` gets the title of each that is made. Raises CommandError
    if a command fails, TcplabError if it draws nothing.
    """
    files = {}
    for picture in wanted:
        kept = kept_folder() / f"{picture.key}{Path(picture.file).suffix}"
        if not kept.exists():
            report(picture.title)
            _make(picture, program, kept)
        files[f"gallery/{picture.name}{kept.suffix}"] = kept
    return files


def _make(picture: GalleryPicture, program: Sequence[str], kept: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="tcplab-gallery-") as name:
        work = Path(name)
        (work / "docs").symlink_to(CODE / "docs")
        (work / "experiments").symlink_to(CODE / "experiments")
        for command in picture.commands:
            called([*program, *_words(command, work)], work, PYTHONPATH=str(CODE))
        file = work / picture.file
        if not file.is_file():
            raise TcplabError(
                f"The commands of '{picture.name}' drew no {picture.file}.",
                "Mend docs/gallery/pictures.toml.",
            )
        kept.parent.mkdir(parents=True, exist_ok=True)
        unfinished = kept.with_name(f"{kept.name}.{work.name}")
        if picture.graphs:
            page = plots_page(file.read_text(encoding="utf-8"), picture.graphs)
            unfinished.write_text(page, encoding="utf-8")
        else:
            shutil.copy(file, unfinished)
        unfinished.rename(kept)


def _words(command: str, work: Path) -> Iterator[str]:
    """The words behind the program's name, with `*` as a shell fills it in."""
    first, *words = shlex.split(command)
    if first != PROGRAM:
        raise TcplabError(f"'{command}' is no command of tcplab.", f"Begin it with {PROGRAM}.")
    for word in words:
        matches = sorted(work.glob(word)) if "*" in word else []
        yield from ([str(path.relative_to(work)) for path in matches] or [word])


_FIT = """<script>
addEventListener("message", (event) => {
  for (const frame of document.querySelectorAll("iframe"))
    if (frame.contentWindow === event.source)
      frame.style.height = `${Number(event.data) + 20}px`;
});
</script>"""
"""Gives each plot the height that it says it needs."""


def gallery_page(shown: Sequence[GalleryPicture], files: Sequence[str]) -> str:
    """The page; a picture whose file was not made is named with its command alone."""
    return "\n".join(_lines(shown, {Path(name).stem: Path(name).name for name in files})) + "\n"


def _lines(shown: Sequence[GalleryPicture], files: dict[str, str]) -> Iterator[str]:
    yield from ("# Gallery", "", _FIT, "")
    yield "Each picture was made by the commands below it, on the computer that built this site."
    yield "The seed is part of a command, so yours will be the same. Plots can be zoomed into:"
    yield from ("wheel or pinch, drag, double click.", "")
    for picture in shown:
        yield from (f"## {picture.title}", "", picture.look, "")
        if picture.name in files:
            yield from (_embedded(picture.title, files[picture.name]), "")
        yield from ("```console", *(f"$ {command}" for command in picture.commands), "```", "")


def _embedded(title: str, file: str) -> str:
    if file.endswith(".html"):
        style = "width: 100%; height: 24em; border: 0"
        return f'<iframe src="{file}" title="{title}" loading="lazy" style="{style}"></iframe>'
    return f"![{title}]({file})"
