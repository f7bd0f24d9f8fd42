"""The locks of a checkout, renewed: `./tcplab lock --update`.

Debian's packages come from a mirror by its signed lists, Python's from an index by uv, for all
Pythons that the package takes at once, and the crates by cargo.
"""

from __future__ import annotations

import datetime
import shutil
import tomllib

from testbed.host.naming import CODE
from testbed.lab.image import recipe as image_recipe
from testbed.lab.tools import recipe as tools_recipe
from testbed.lab.tools.recipe import sealed
from testbed.recipes import cache
from testbed.recipes.apt import Apt
from testbed.recipes.building import BuildReport, Workshop
from testbed.recipes.debian import read_lock, write_lock
from testbed.release.archive import called
from topologies.foundation.errors import TcplabError

LOCKS = CODE / "locks"
DEBIAN = {
    image_recipe.LOCK: (image_recipe.SUITE, tuple(image_recipe.wanted())),
    tools_recipe.LOCK: (tools_recipe.SUITE, tools_recipe.WANTED),
}
"""Each lock of Debian's packages with its suite and what is wanted of it."""
_OPTIONS = (
    "--universal --python-version 3.11 --generate-hashes --upgrade --no-header --no-annotate"
    " --quiet"
)


def requirements() -> dict[str, list[str]]:
    """Return the Python packages of each lock: first `test`, whose versions the others take."""
    content = tomllib.loads((CODE / "pyproject.toml").read_text())
    used, extras = content["project"]["dependencies"], content["project"]["optional-dependencies"]
    building = [*content["build-system"]["requires"], *extras["release"]]
    every = [*used, *building, *(wanted for extra in extras.values() for wanted in extra)]
    cluster = [*used, *extras["cluster"], *extras["figures"]]  # all that the archive brings
    smaller = {"python": used, "figures": extras["figures"], "build": building}
    return {"test": every, **smaller, "cluster": cluster, "docs": [*used, *extras["docs"]]}


def update(report: BuildReport) -> None:
    """Renew all locks. Raises TcplabError, CommandError."""
    if not (CODE / "pyproject.toml").exists():
        raise TcplabError("This copy of tcplab is installed.", "Renew the locks of a checkout.")
    uv = shutil.which("uv")
    if not uv:
        raise TcplabError("uv is not installed.", "Install it: pip install uv.")
    day = datetime.datetime.now(datetime.UTC).date().isoformat()
    for file, (suite, wanted) in DEBIAN.items():
        with cache.locked("lock", report), cache.temporary("lock") as work:
            apt = Apt(sealed(Workshop(work, cache.folder() / "lock.log", report)), suite)
            found = tuple(sorted(apt.resolve(wanted)))
        if read_lock(file).packages != found:
            write_lock(file, day, found)
    for name, packages in requirements().items():
        report.step(f"Resolving {name}.lock")
        source = cache.folder() / f"{name}.in"
        source.write_text("\n".join(packages) + "\n")
        same = [] if name == "test" else ["--constraint", str(LOCKS / "test.lock")]
        command = [uv, "pip", "compile", *_OPTIONS.split(), *same, "--output-file"]
        called([*command, LOCKS / f"{name}.lock", source], CODE)
    report.step("Resolving Cargo.lock")
    called(["cargo", "update", "--quiet"], CODE / "analysis/flows/core")
