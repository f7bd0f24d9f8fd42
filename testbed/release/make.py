"""Releases of a checkout's lab (`./tcplab release`): wheels, archive, and their digests."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from testbed import VERSION
from testbed.host.naming import CODE
from testbed.lab.kernel.built import modules_part
from testbed.lab.parts import parts, release_of, state_release
from testbed.lab.ready import Lab, lab
from testbed.lab.tools.recipe import tools_recipe
from testbed.recipes import cache
from testbed.recipes.building import BuildReport
from testbed.release import sbom
from testbed.release.archive import make_archive, make_tree
from testbed.release.notices import notices_recipe
from testbed.release.oci import make_oci
from testbed.release.wheels import make_wheels
from testbed.virtual.run import compiled_entry
from topologies.foundation.errors import TcplabError
from topologies.foundation.untrusted import digest_of

SUMS = "SHA256SUMS"


@dataclass(frozen=True)
class MadeRelease:
    """The files of a release, and their SHA-256 by name."""

    folder: Path
    digests: dict[str, str]


def make_release(
    out: Path, report: BuildReport, new: bool = False, oci: bool = False
) -> MadeRelease:
    """Make wheels, archive, bill of materials and their digests in `out`; with `oci` an image too.

    The lab must be the one that release.toml states; if it is to be a `new` one, that is written.
    Raises TcplabError, CommandError.
    """
    if not (CODE / "pyproject.toml").exists():
        raise TcplabError("This copy of tcplab is installed.", "Make releases in a checkout.")
    ready = lab(report)
    _state(ready, new)
    with cache.locked("release", report), cache.temporary("release") as work:
        files = wheels_of(ready, report, work)
        report.step("Making the archive")
        tree = make_tree(files, ready.image, work)
        files += [make_archive(tree, work), work / sbom.NAME]
        (work / sbom.NAME).write_text(sbom.bill())
        if oci:
            report.step("Making the container image")
            files.append(make_oci(tree, ready.image, work))
        out.mkdir(parents=True, exist_ok=True)
        for file in files:
            shutil.move(file, out / file.name)
    digests = {file.name: digest_of(out / file.name) for file in files}
    (out / SUMS).write_text("".join(f"{digest}  {name}\n" for name, digest in digests.items()))
    return MadeRelease(out, digests)


def wheels_of(ready: Lab, report: BuildReport, work: Path) -> list[Path]:
    """Return the wheels of this checkout, in a folder of `work`. Raises TcplabError."""
    recipes = (*parts(), modules_part(), tools_recipe())
    entries = [cache.ready(recipe, report) for recipe in recipes]
    texts = cache.ready(notices_recipe(), report)
    report.step("Making the wheels")
    return make_wheels(work, [compiled_entry(ready)], entries, texts)


def _state(ready: Lab, new: bool) -> None:
    if release_of(ready.digests) == f"tcplab {VERSION}":
        return
    if not new:
        raise TcplabError(
            f"The lab of this checkout is not that of tcplab {VERSION}: testbed/lab/release.toml"
            " states others.",
            "For a new release: ./tcplab release --new, and commit that file.",
        )
    state_release(VERSION, ready.digests)
