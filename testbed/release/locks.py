"""The locks of a checkout, renewed: `./tcplab lock --update`.

Debian's packages come from a mirror by its signed lists, Python's from an index by uv, for all
Pythons that the package takes at once, and the crates by cargo.
"""

from __future__ import annotations

import datetime
import re
import shutil
import tomllib
from collections.abc import Iterator
from pathlib import Path

from testbed.host.naming import CODE
from testbed.lab.bubblewrap import recipe as bubblewrap_recipe
from testbed.lab.image import recipe as image_recipe
from testbed.recipes import cache
from testbed.recipes.apt import Apt, changes, read_lock, write_lock
from testbed.recipes.building import BuildReport, Workshop
from testbed.release.archive import called
from topologies.foundation.errors import TcplabError

LOCKS = CODE / "locks"
CRATES = CODE / "analysis/flows/core"
DEBIAN = {
    image_recipe.LOCK: (image_recipe.SUITE, tuple(image_recipe.wanted())),
    bubblewrap_recipe.LOCK: (bubblewrap_recipe.SUITE, bubblewrap_recipe.WANTED),
}
"""Each lock of Debian's packages with its suite and what is wanted of it."""
_PINNED = re.compile(r"(?m)^([a-z0-9][\w.-]*)==(\S+)")
_CRATE = re.compile(r'(?m)^name = "(.+)"\nversion = "(.+)"$')


def requirements() -> dict[str, list[str]]:
    """Return the Python packages of each lock, as pyproject.toml names them.

    `test` comes first and has all, so that the others take its versions.
    """
    content = tomllib.loads((CODE / "pyproject.toml").read_text())
    used, extras = content["project"]["dependencies"], content["project"]["optional-dependencies"]
    building = [*content["build-system"]["requires"], *extras["release"]]
    every = [*used, *building, *(wanted for extra in extras.values() for wanted in extra)]
    cluster = [*used, *extras["cluster"]]
    return {"test": every, "python": used, "cluster": cluster, "build": building}


def update(report: BuildReport) -> dict[str, list[str]]:
    """Renew all locks; what changed, by lock. Raises TcplabError, CommandError."""
    if not (CODE / "pyproject.toml").exists():
        raise TcplabError("This copy of tcplab is installed.", "Renew the locks of a checkout.")
    return {**dict(_debian(report)), **dict(_python(report)), "Cargo.lock": _crates(report)}


def _debian(report: BuildReport) -> Iterator[tuple[str, list[str]]]:
    day = datetime.datetime.now(datetime.UTC).date().isoformat()
    for file, (suite, wanted) in DEBIAN.items():
        with cache.locked("lock", report), cache.temporary("lock") as work:
            apt = Apt(Workshop(work, cache.folder() / "lock.log", report), suite)
            found = tuple(sorted(apt.resolve(wanted)))
        before = read_lock(file)
        if before.packages != found:
            write_lock(file, day, found)
        yield str(file.relative_to(CODE)), changes(before.versions, read_lock(file).versions)


def _python(report: BuildReport) -> Iterator[tuple[str, list[str]]]:
    uv = shutil.which("uv")
    if not uv:
        raise TcplabError("uv is not installed.", "Install it: pip install uv.")
    options = ["--universal", "--python-version", "3.11", "--generate-hashes", "--upgrade"]
    options += ["--no-header", "--no-annotate", "--quiet"]
    for name, wanted in requirements().items():
        report.step(f"Resolving {name}.lock")
        file, source = LOCKS / f"{name}.lock", cache.folder() / f"{name}.in"
        source.write_text("\n".join(wanted) + "\n")
        before = _pinned(file)
        same = [] if name == "test" else ["--constraint", str(LOCKS / "test.lock")]
        called([uv, "pip", "compile", *options, *same, "--output-file", file, source], CODE)
        yield str(file.relative_to(CODE)), changes(before, _pinned(file))


def _crates(report: BuildReport) -> list[str]:
    report.step("Resolving Cargo.lock")
    file = CRATES / "Cargo.lock"
    before = dict(_CRATE.findall(file.read_text()))
    called(["cargo", "update", "--quiet"], CRATES)
    return changes(before, dict(_CRATE.findall(file.read_text())))


def _pinned(file: Path) -> dict[str, str]:
    return dict(_PINNED.findall(file.read_text())) if file.exists() else {}
