"""Releases of a checkout's lab (`./tcplab release`), its locks, and the entries that come with it.

The bytes depend on the code, the locks, gcc and the C library, mksquashfs, rustc and zlib.
`./tcplab lock --update` renews the locks of Debian's packages, Python's and the crates.
"""

import datetime
import shutil
from pathlib import Path

from testbed import VERSION
from testbed.builds import BuildReport, Workshop, cache
from testbed.builds.cache import Recipe
from testbed.builds.debian import Apt, read_lock, write_lock
from testbed.builds.engine import engine_recipe
from testbed.host import CODE
from testbed.lab import ready as labs
from testbed.lab.image import patient_recipe
from testbed.lab.tools import sealed, tools_recipe
from testbed.release import files
from testbed.virtual.run import compiled_entry
from topologies.errors import TcplabError
from topologies.notation import toml_file
from topologies.untrusted import digest_of

SUMS = "SHA256SUMS"


def make_release(out: Path, report: BuildReport, new: bool = False) -> dict[str, str]:
    """Make wheels and archive in `out`; return SHA-256 by name. Raises TcplabError."""
    if not (CODE / "pyproject.toml").exists():
        raise TcplabError("This copy of tcplab is installed.", "Make releases in a checkout.")
    ready = labs.lab(report)
    if labs.release_of(ready.digests) != f"tcplab {VERSION}":
        if not new:
            raise TcplabError(
                f"The lab of this checkout is not that of tcplab {VERSION}:"
                " testbed/lab/release.toml states others.",
                "For a new release: ./tcplab release --new, and commit that file.",
            )
        labs.state_release(VERSION, ready.digests)
    with cache.locked("release", report), cache.temporary("release") as work:
        made = wheels_of(ready, report, work)
        report.step("Making the archive")
        tree = files.make_tree(made, ready.image, work)
        made.append(work / f"{files.NAME}.tar.gz")
        with made[-1].open("wb") as target:
            files.pack(tree, target, files.NAME)
        out.mkdir(parents=True, exist_ok=True)
        for file in made:
            shutil.move(file, out / file.name)
    digests = {file.name: digest_of(out / file.name) for file in made}
    (out / SUMS).write_text("".join(f"{digest}  {name}\n" for name, digest in digests.items()))
    return digests


def wheels_of(ready: labs.Lab, report: BuildReport, work: Path) -> list[Path]:
    """Return the wheels of this checkout, in a folder of `work`. Raises TcplabError."""
    recipes = (*labs.parts(), labs.modules_part(), tools_recipe())
    entries = [cache.ready(recipe, report) for recipe in recipes]
    texts = cache.ready(files.notices_recipe(), report)
    report.step("Making the wheels")
    return files.make_wheels(work, [compiled_entry(ready)], entries, texts)


LOCKS = CODE / "locks"
_OPTIONS = (
    "--universal --python-version 3.11 --generate-hashes --upgrade --no-header --no-annotate"
    " --quiet"
)


def requirements() -> dict[str, list[str]]:
    """Return the Python packages of each lock: first `test`, whose versions the others take."""
    content = toml_file(CODE / "pyproject.toml")
    used, extras = content["project"]["dependencies"], content["project"]["optional-dependencies"]
    building = [*content["build-system"]["requires"], *extras["release"]]
    every = [*used, *building, *(wanted for extra in extras.values() for wanted in extra)]
    smaller = {"python": used, "figures": extras["figures"], "docs": [*used, *extras["docs"]]}
    return {"test": every, "build": building, **smaller}


def update(report: BuildReport) -> None:
    """Renew all locks. Raises TcplabError, CommandError."""
    if not (CODE / "pyproject.toml").exists():
        raise TcplabError("This copy of tcplab is installed.", "Renew the locks of a checkout.")
    uv = shutil.which("uv")
    if not uv:
        raise TcplabError("uv is not installed.", "Install it: pip install uv.")
    day = datetime.datetime.now(datetime.UTC).date().isoformat()
    for file, (suite, wanted) in files.DEBIAN.items():
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
        files.called([*command, LOCKS / f"{name}.lock", source], CODE)
    report.step("Resolving Cargo.lock")
    files.called(["cargo", "update", "--quiet"], CODE / "analysis/flows/core")


def recipes() -> list[Recipe]:
    """Return the recipes whose entries come with the code."""
    return [labs.kernel_part(), labs.init_part(), patient_recipe(), engine_recipe(released=True)]


def write(report: BuildReport) -> list[Recipe]:
    """Write the entries whose recipes changed; return these. Raises TcplabError, CommandError."""
    changed = [
        recipe for recipe in recipes() if not cache.prebuilt_manifest(recipe.name, recipe.key)
    ]
    for recipe in changed:
        # The engine in the cache is compiled for speed of compilation.
        entry = cache.ready(recipe, report, rebuild=recipe.name == "engine")
        cache.pack_prebuilt(recipe.name, recipe.outputs, entry.folder)
    return changed


def differing(report: BuildReport) -> dict[str, list[str]]:
    """Build each entry again; return its files that differ. Raises TcplabError, CommandError."""
    return {recipe.name: cache.differences(recipe, report) for recipe in recipes()}
