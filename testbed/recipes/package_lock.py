"""Debian packages by name, version and SHA-256: the same bytes today, tomorrow and elsewhere.

A lock is a text file, a line for each package; its first line says on which day it was made. What
is fetched needs no signature, for its SHA-256 is here. `tcplab lock --update` writes it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import astuple, dataclass
from pathlib import Path

_HEAD = "# name, version, SHA-256, place on a mirror of Debian; as of "


@dataclass(frozen=True, order=True)
class LockedPackage:
    """A .deb; `place` is its path below a mirror's root."""

    name: str
    version: str
    sha256: str
    place: str

    @property
    def file(self) -> str:
        """The name of the .deb."""
        return self.place.rpartition("/")[2]


@dataclass(frozen=True)
class PackageLock:
    """The packages by name, and the day (YYYY-MM-DD) on which a mirror had all of them."""

    day: str
    packages: tuple[LockedPackage, ...]

    @property
    def versions(self) -> dict[str, str]:
        """Name to version."""
        return {package.name: package.version for package in self.packages}


def read_lock(file: Path) -> PackageLock:
    """The lock in a file."""
    head, *rows = file.read_text().splitlines()
    packages = (LockedPackage(*row.split()) for row in rows)
    return PackageLock(head.removeprefix(_HEAD), tuple(packages))


def write_lock(file: Path, day: str, packages: Iterable[LockedPackage]) -> None:
    """Write a lock, sorted by name."""
    rows = (" ".join(astuple(package)) for package in sorted(packages))
    file.write_text("\n".join([_HEAD + day, *rows]) + "\n")


def changes(old: Mapping[str, str], new: Mapping[str, str]) -> list[str]:
    """What differs in the second of two tables of versions by name, a sentence each."""
    return [
        f"{name}: {old.get(name, 'not there')} -> {new.get(name, 'gone')}"
        for name in sorted({*old, *new})
        if old.get(name) != new.get(name)
    ]
