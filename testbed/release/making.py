"""Making a release of a checkout's lab: `./tcplab release`."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from testbed import VERSION
from testbed.host.code import CODE
from testbed.lab.bubblewrap.bubblewrap_recipe import bubblewrap_recipe
from testbed.lab.parts import parts
from testbed.lab.ready import Lab, lab
from testbed.lab.released import NOT_A_RELEASE, release_of, state_release
from testbed.recipes import cache
from testbed.recipes.building import BuildReport
from testbed.release.release_archive import make_archive
from testbed.release.release_wheel import make_wheel
from testbed.virtual.compiled_code import compiled_entry
from topologies.foundation.errors import TcplabError
from topologies.foundation.untrusted import digest_of

SUMS = "SHA256SUMS"


@dataclass(frozen=True)
class MadeRelease:
    """The files of a release, and their SHA-256 by name."""

    folder: Path
    digests: dict[str, str]


def make_release(out: Path, report: BuildReport, new: bool = False) -> MadeRelease:
    """Make wheel, archive and their list of digests in `out`.

    The lab must be the one that release.toml states; if it is to be a `new` one, that is written.
    Raises TcplabError, CommandError.
    """
    if not (CODE / "pyproject.toml").exists():
        raise TcplabError("This copy of tcplab is installed.", "Make releases in a checkout.")
    ready = lab(report)
    _state(ready, new)
    entries = [cache.ready(recipe, report) for recipe in (*parts(), bubblewrap_recipe())]
    entries.append(compiled_entry(ready))
    with cache.locked("release", report), cache.temporary("release") as work:
        report.step("Making the wheel")
        wheel = make_wheel(work, entries)
        report.step("Making the archive")
        archive = make_archive(wheel, ready.image, work)
        return _delivered(out, wheel, archive)


def _state(ready: Lab, new: bool) -> None:
    if release_of(ready.digests) == f"tcplab {VERSION}":
        return
    if not new:
        known = "another version" if release_of(ready.digests) != NOT_A_RELEASE else NOT_A_RELEASE
        raise TcplabError(
            f"The lab of this checkout is {known}: testbed/lab/release.toml states others.",
            "For a new release: ./tcplab release --new, and commit that file.",
        )
    state_release(VERSION, ready.digests)


def _delivered(out: Path, *files: Path) -> MadeRelease:
    out.mkdir(parents=True, exist_ok=True)
    digests = {}
    for file in files:
        shutil.move(file, out / file.name)
        digests[file.name] = digest_of(out / file.name)
    lines = (f"{digest}  {name}\n" for name, digest in digests.items())
    (out / SUMS).write_text("".join(lines))
    return MadeRelease(out, digests)
