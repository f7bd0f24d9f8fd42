"""The licences of the programs in a lab, and where the sources of these are.

The guest's image leaves out the pages of its packages, so their copyright files are taken from the
packages again.
"""

from __future__ import annotations

from collections.abc import Iterator

from testbed.lab.image import recipe as image_recipe
from testbed.lab.kernel.version import DEFAULT, kernel_version
from testbed.lab.tools import recipe as tools_recipe
from testbed.recipes.building import Workshop
from testbed.recipes.cache import Facts, Recipe
from testbed.recipes.debian import SNAPSHOT, LockedPackage, contents, extract, read_lock

COPYRIGHT, GPL = "COPYRIGHT", "GPL-2"
LOCKS = {
    image_recipe.LOCK: image_recipe.SUITE,
    tools_recipe.LOCK: tools_recipe.SUITE,
}
"""Debian's packages that a release hands on, with their suites."""
_PAGES = "usr/share/doc"
_COMMON = "usr/share/common-licenses"


def notices_recipe() -> Recipe:
    """Return the recipe for the copyright files of all packages in one, and the kernel's."""
    return Recipe("notices", tuple(LOCKS), (COPYRIGHT, GPL), build_notices)


def build_notices(workshop: Workshop) -> Facts:
    """Leave both files in the workshop. Raises TcplabError, CommandError."""
    root = workshop.folder / "root"
    for lock, suite in LOCKS.items():
        for _, packed in contents(read_lock(lock), suite, workshop.report):
            extract(packed, root, lambda name: name.startswith((_PAGES, _COMMON)))
    # Now, since pages of one package may be a link to those of another.
    names = {package.name for lock in LOCKS for package in read_lock(lock).packages}
    texts = {name: (root / _PAGES / name / "copyright").read_text() for name in names}
    written = (f"{'=' * 80}\n{name}\n{'=' * 80}\n{text}\n" for name, text in sorted(texts.items()))
    (workshop.folder / COPYRIGHT).write_text("".join(written))
    (workshop.folder / GPL).write_text((root / _COMMON / GPL).read_text())
    return {}


def packages() -> dict[str, LockedPackage]:
    """Return Debian's packages in a lab, by name and version."""
    every = (package for lock in LOCKS for package in read_lock(lock).packages)
    return {f"{package.name} {package.version}": package for package in sorted(every)}


def sources() -> Iterator[str]:
    """Yield the lines of a page that says where the source of each program is."""
    kernel = kernel_version(DEFAULT)
    yield "# Sources\n"
    yield "tcplab-lab has programs of others, as they are or compiled. Their sources are here:\n"
    yield f"* Linux {kernel.version} (GPL-2.0-only): {kernel.url}, and as the package"
    yield f"  {kernel.package} of Debian, SHA-256 of its tarball {kernel.sha256}. Patches,"
    yield "  configuration and programs are in `testbed/lab/kernel` of the same version of tcplab."
    yield "* Debian's packages: `apt-get source PACKAGE=VERSION`, or from the archive of all that"
    yield f"  Debian published, {SNAPSHOT.partition('/archive')[0]}/binary/PACKAGE/VERSION/:\n"
    yield from (f"    {name_and_version}" for name_and_version in packages())
