"""The lab of the newest release by its digests, which release.toml states.

The standard library only: `tcplab doctor` reads this before anything is installed.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

RELEASE_FILE = Path(__file__).with_name("release.toml")
NOT_A_RELEASE = "not a release"


@dataclass(frozen=True)
class ReleasedLab:
    """A release: its version, and the SHA-256 of its lab's parts, named as in `Lab.digests`."""

    version: str
    digests: Mapping[str, str]


@cache
def released_lab() -> ReleasedLab:
    """What release.toml states."""
    stated = tomllib.loads(RELEASE_FILE.read_text())
    return ReleasedLab(stated["version"], stated["digests"])


def release_of(digests: Mapping[str, str]) -> str:
    """The release whose lab has these digests, as `tcplab 1.2`, or `not a release`."""
    known = released_lab()
    same = all(digests.get(name) == digest for name, digest in known.digests.items())
    return f"tcplab {known.version}" if same else NOT_A_RELEASE


def state_release(version: str, digests: Mapping[str, str]) -> None:
    """Write release.toml."""
    parts = {name: digest for name, digest in sorted(digests.items()) if name != "whole"}
    rows = [f'{name} = "{digest}"' for name, digest in parts.items()]
    lines = ["# The lab of a release, by SHA-256. `./tcplab release --new` writes this file."]
    lines += [f'version = "{version}"', "", "[digests]", *rows]
    RELEASE_FILE.write_text("\n".join(lines) + "\n")
    released_lab.cache_clear()
