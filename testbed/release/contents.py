"""The licences of the programs in a lab, and where the sources of these are.

The guest's image leaves out the pages of its packages, so their copyright files are taken from the
packages again.

The bill of materials of a release (CycloneDX), from the locks that decide its content.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

from packaging.requirements import Requirement

from testbed import VERSION
from testbed.builds.building import Workshop
from testbed.builds.cache import Facts, Recipe
from testbed.builds.debian import SNAPSHOT, LockedPackage, contents, extract, read_lock
from testbed.builds.engine import CORE
from testbed.lab import image as image_recipe
from testbed.lab import tools as tools_recipe
from testbed.lab.kernel.version import DEFAULT, kernel_version
from testbed.release.archive import LOCK

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


NAME = f"tcplab-{VERSION}.cdx.json"
_PYTHON = {"python_version": "3.11", "python_full_version": "3.11.2"}
"""The archive's, for which markers of the lock are evaluated."""


def bill() -> str:
    """Return the bill as JSON."""
    parts = [*_kernel(), *_debian(), *_python(), *_crates()]
    whole = _part("application", "tcplab", VERSION, f"pkg:pypi/tcplab@{VERSION}")
    content = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": whole},
        "components": parts,
    }
    return json.dumps(content, indent=1, sort_keys=True) + "\n"


def _part(kind: str, name: str, version: str, purl: str, sha256: str = "") -> dict[str, Any]:
    hashes = {"hashes": [{"alg": "SHA-256", "content": sha256}]} if sha256 else {}
    named = {"type": kind, "name": name, "version": version, "purl": purl, "bom-ref": purl}
    return named | hashes


def _kernel() -> Iterator[dict[str, Any]]:
    kernel = kernel_version(DEFAULT)
    purl = f"pkg:generic/linux@{kernel.version}?download_url={quote(kernel.url, safe='')}"
    part = _part("operating-system", "linux", kernel.version, purl, kernel.sha256)
    yield part | {"licenses": [{"license": {"id": "GPL-2.0-only"}}]}


def _debian() -> Iterator[dict[str, Any]]:
    for package in packages().values():
        version = quote(package.version, safe="")
        purl = f"pkg:deb/debian/{quote(package.name, safe='')}@{version}?arch=amd64"
        yield _part("library", package.name, package.version, purl, package.sha256)


def _python() -> Iterator[dict[str, Any]]:
    """Yield the libraries of the archive, of which pip takes one of several files."""
    for line in LOCK.read_text().splitlines():
        if "==" not in line or line.startswith((" ", "#")):
            continue
        wanted = Requirement(line.removesuffix("\\"))
        if not wanted.marker or wanted.marker.evaluate(_PYTHON):
            version = str(wanted.specifier).removeprefix("==")
            yield _part("library", wanted.name, version, f"pkg:pypi/{wanted.name}@{version}")


def _crates() -> Iterator[dict[str, Any]]:
    locked = tomllib.loads((CORE / "Cargo.lock").read_text())["package"]
    for crate in locked:
        if checksum := crate.get("checksum"):
            purl = f"pkg:cargo/{crate['name']}@{crate['version']}"
            yield _part("library", crate["name"], crate["version"], purl, checksum)
