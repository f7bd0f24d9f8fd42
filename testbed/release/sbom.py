"""The bill of materials of a release (CycloneDX), from the locks that decide its content."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

from packaging.requirements import Requirement

from testbed import VERSION
from testbed.lab.kernel.version import DEFAULT, kernel_version
from testbed.recipes.engine import CORE
from testbed.release import notices
from testbed.release.archive import LOCK

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
    for package in notices.packages().values():
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
