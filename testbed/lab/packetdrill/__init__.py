"""packetdrill, built statically from its source at a pinned commit: one file for every guest.

The source is fetched by git, or taken from a clone or tarball in $TCPLAB_PACKETDRILL_SOURCE.
"""

import hashlib
import os
import shutil
from pathlib import Path

from testbed.builds import BuildReport, Workshop, cache
from testbed.builds.cache import Facts, Recipe
from testbed.guest.programs import run
from testbed.lab.tools import sealed
from topologies.errors import CommandError, TcplabError
from topologies.notation import toml_file
from topologies.untrusted import digest_of

HERE = Path(__file__).parent
PACKETDRILL = "packetdrill"
NAMED_SOURCE = "TCPLAB_PACKETDRILL_SOURCE"
_TOOLS = ("git", "tar", "gcc", "ld", "make", "flex", "bison", "strip")
_INSIDE = "gtests/net/packetdrill"
_TARBALL = "packetdrill.tar"
_FETCH = f"""\
git init -q --bare repository && cd repository &&
timeout 60 git fetch -q --depth=1 "$0" "$1" && git archive --output ../{_TARBALL} "$1" {_INSIDE}
"""
_REMEDY = f"Name a clone or a tarball of packetdrill's repository in {NAMED_SOURCE}."
# Its own makefile and list of objects, with our clock, and linked for any guest. No -Werror: other
# compilers warn of other things.
_MAKE = (
    *("make", "-C", "source", "-f", "Makefile.Linux", "CFLAGS=-O2"),
    "packetdrill-ext-libs=../clock.o -static -Wl,--wrap=times -lpthread -lrt -ldl",
    PACKETDRILL,
)
# An old kernel tells fewer fields of tcp_info than packetdrill knows. The others are zero in what
# code.c gives it to fill; this would end the script.
_WHOLE = "assert(len >= sizeof(struct _tcp_info));"


def pinned_commit() -> dict[str, str]:
    """Return source.toml: `url` and `commit`, and the `sha256` of what is used of it."""
    return toml_file(HERE / "source.toml")


def packetdrill(report: BuildReport | None = None) -> Path:
    """Return the program, built the first time. Raises TcplabError if its source cannot be had."""
    files = (HERE / "source.toml", HERE / "clock.c")
    recipe = Recipe(PACKETDRILL, files, (PACKETDRILL,), _build, steps=(_MAKE, _WHOLE))
    return cache.ready(recipe, report or BuildReport()).folder / PACKETDRILL


def _build(workshop: Workshop) -> Facts:
    workshop = sealed(workshop, *_TOOLS)
    origin = _obtain(workshop)
    digest = digest_of_folder(workshop.folder / "source")
    is_pinned = digest == pinned_commit()["sha256"]
    if not is_pinned and NAMED_SOURCE not in os.environ:
        raise TcplabError(f"{origin} does not have the SHA-256 that is pinned.", _REMEDY)
    note = "" if is_pinned else ", which is not what is pinned"
    workshop.report.note(f"Source of packetdrill: {origin}{note}")
    shutil.copy(HERE / "clock.c", workshop.folder)
    text = "Building packetdrill"
    workshop.run(text, ["gcc", "-O2", "-c", "clock.c"])
    workshop.run(text, ["sed", "-i", f"s/{_WHOLE}//", "source/code.c"])
    workshop.run(text, _MAKE)
    workshop.run(text, ["strip", "-o", PACKETDRILL, f"source/{PACKETDRILL}"])
    return {"source": origin, "source_sha256": digest, "pinned": is_pinned}


def _obtain(workshop: Workshop) -> str:
    """Leave packetdrill's own folder in the workshop as `source`; return where it came from."""
    named, wanted = os.environ.get(NAMED_SOURCE), pinned_commit()
    origin = named or wanted["url"]
    if named and not Path(named).is_dir() and not Path(named).is_file():
        raise TcplabError(f"{Path(named).absolute()} is neither a clone nor a tarball.", _REMEDY)
    try:
        if not named:
            command = ["sh", "-c", _FETCH, wanted["url"], wanted["commit"]]
            workshop.run("Fetching packetdrill", command, network=True)
        elif Path(named).is_dir():
            clone = ["git", "-C", named, "archive", "--output"]
            run([*clone, workshop.folder / _TARBALL, wanted["commit"], _INSIDE])
        else:
            shutil.copy(named, workshop.folder / _TARBALL)
        workshop.run("Unpacking packetdrill", ["tar", "-xf", _TARBALL, "--one-top-level=unpacked"])
    except CommandError as error:
        if error.is_disk_full:
            raise
        last = (error.output.strip().splitlines() or ["no answer"])[-1]
        raise TcplabError(f"{origin} does not give packetdrill ({last}).", _REMEDY) from None
    unpacked = workshop.folder / "unpacked"
    found = [*unpacked.glob(_INSIDE), *unpacked.glob(f"*/{_INSIDE}")]
    if not found:
        raise TcplabError(f"{origin} has no {_INSIDE}.", _REMEDY)
    shutil.move(found[0], workshop.folder / "source")
    return named or f"{wanted['url']} at {wanted['commit'][:12]}"


def digest_of_folder(folder: Path) -> str:
    """SHA-256 over the names and digests of a folder's own files, however they came here."""
    files = sorted(file for file in folder.iterdir() if file.is_file() and not file.is_symlink())
    rows = (f"{file.name} {digest_of(file)}\n" for file in files)
    return hashlib.sha256("".join(rows).encode()).hexdigest()
