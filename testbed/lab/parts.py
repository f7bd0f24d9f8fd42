"""The recipes of a lab (kernel, first process, image), and the digests of the newest release.

The standard library only: the launcher and `tcplab doctor` read this before libraries are
installed.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from testbed.builds import prebuilt
from testbed.builds.cache import Recipe
from testbed.lab.image import IMAGE, image_recipe
from testbed.lab.kernel.built import init_part, kernel_part
from testbed.lab.kernel.choice import LAB_KERNEL, KernelChoice

RELEASE_FILE = Path(__file__).with_name("release.toml")
NOT_A_RELEASE = "not a release"
CHECKOUT = "a checkout"
"""The lab that comes with this code, which may be newer than the release."""


@dataclass(frozen=True)
class ReleasedLab:
    """A release: its version, and the SHA-256 of its lab's parts, named as in `Lab.digests`."""

    version: str
    digests: Mapping[str, str]


@cache
def released_lab() -> ReleasedLab:
    """Read release.toml."""
    stated = tomllib.loads(RELEASE_FILE.read_text())
    return ReleasedLab(stated["version"], stated["digests"])


def release_of(digests: Mapping[str, str]) -> str:
    """Return the release whose lab has these digests, as `tcplab 1.2`, or another origin."""
    known, with_code = released_lab(), _digests_with_code()
    if known.digests.items() <= digests.items():
        return f"tcplab {known.version}"
    return CHECKOUT if with_code and with_code.items() <= digests.items() else NOT_A_RELEASE


@cache
def _digests_with_code() -> dict[str, str]:
    """Return the digests of kernel and first process as they come; empty if a source changed.

    The image is made by each machine, of locked packages.
    """
    manifests = [prebuilt.manifest_of(part.name, part.key) for part in (kernel_part(), init_part())]
    files = {name: row for each in manifests if each for name, row in each["files"].items()}
    stated = {name: files[file]["sha256"] for name, file in _FILES.items() if file in files}
    return stated if all(manifests) else {}


def state_release(version: str, digests: Mapping[str, str]) -> None:
    """Write release.toml."""
    parts = {name: digest for name, digest in sorted(digests.items()) if name != "whole"}
    rows = [f'{name} = "{digest}"' for name, digest in parts.items()]
    lines = ["# The lab of a release, by SHA-256. `./tcplab release --new` writes this file."]
    lines += [f'version = "{version}"', "", "[digests]", *rows]
    RELEASE_FILE.write_text("\n".join(lines) + "\n")
    released_lab.cache_clear()


_FILES = {"kernel": "linux", "init": "init", "image": IMAGE, "confine": "confine"}


def parts(kernel: KernelChoice = LAB_KERNEL, source: Path | None = None) -> list[Recipe]:
    """Kernel, init and image, in this order; `source` is a tarball to build the kernel from."""
    return [kernel_part(kernel, source), init_part(), image_recipe()]


def digests_of_parts(files: Mapping[str, str]) -> dict[str, str]:
    """Select the digests of the files that decide a run, named as in `Lab.digests`."""
    return {name: files[file] for name, file in _FILES.items()}


def stated_digests(manifests: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Return these digests as the manifests of entries state them, without reading files."""
    listed = {name: row["sha256"] for stated in manifests for name, row in stated["files"].items()}
    return digests_of_parts(listed)
