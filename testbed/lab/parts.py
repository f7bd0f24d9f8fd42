"""The parts of a lab (kernel, first process, image): recipes, built kernels, the newest release.

The standard library only: the launcher and `tcplab doctor` read this before libraries are
installed. `python -m testbed.lab.parts` makes the image.
"""

from __future__ import annotations

import functools
import json
import os
import shutil
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from testbed.builds import BuildReport, Workshop, cache
from testbed.builds.cache import Facts, Recipe
from testbed.lab.image import IMAGE, image_recipe
from testbed.lab.kernel import HERE
from testbed.lab.kernel.choice import LAB_KERNEL, KernelChoice, chosen
from testbed.lab.kernel.recipe import compiler, kept_objects, kernel_recipe, modules_recipe
from testbed.lab.tools import sealed
from topologies.errors import TcplabError, UsageError

PROGRAMS = {
    "init": ("init.c",),
    "confine": ("confine.c", "confine_filter.c", "supervisor.c", "places.c"),
}
"""Each program and its sources."""
_HEADERS = ("confine.h",)
_FLAGS = ("-O2", "-Wall", "-Wextra", "-static", "-s", "-Wl,--build-id=none")


def init_part() -> Recipe:
    """Return the recipe for both programs, which run without a C library."""
    names = [*_HEADERS, *(name for names in PROGRAMS.values() for name in names)]
    files = tuple(HERE / name for name in names)
    return Recipe("init", files, tuple(PROGRAMS), build_init, steps=_FLAGS, tools=toolchain())


def build_init(workshop: Workshop) -> Facts:
    """Leave both programs in the workshop. Raises TcplabError, CommandError."""
    workshop = sealed(workshop, "gcc")
    for source in init_part().sources:
        shutil.copy(source, workshop.folder)
    for program, sources in PROGRAMS.items():
        command = ["gcc", *_FLAGS, "-o", program, *sources]
        workshop.run(f"Compiling the guest's {program}", command)
    return {}


def kernel_part(choice: KernelChoice = LAB_KERNEL, source: Path | None = None) -> Recipe:
    """Return the recipe of a kernel; only the lab's own may come from another machine."""
    recipe = kernel_recipe(choice, source)
    return replace(recipe, tools=toolchain()) if choice.is_default else recipe


def modules_part() -> Recipe:
    """Return the recipe of what modules need of the lab's own kernel."""
    return modules_recipe(kernel_part())


def toolchain() -> str:
    """Return the compiler and the C library, which is linked into kernel and first process."""
    return f"{compiler()}, {os.confstr('CS_GNU_LIBC_VERSION') or 'another C library'}"


@dataclass(frozen=True)
class BuiltKernel:
    """A kernel's entry in the cache; without a name if an older tcplab built it."""

    folder: Path
    name: str
    release: str
    digest: str
    compiler: str
    build_seconds: float = 0.0

    @property
    def size(self) -> int:
        """Bytes that it takes."""
        return sum(file.stat().st_size for file in self.folder.iterdir())

    @property
    def is_current(self) -> bool:
        """Check that this tcplab would use the kernel."""
        try:
            return bool(self.name) and kernel_part(chosen(self.name)).place == self.folder
        except TcplabError:
            return False  # its source is gone, or is another by now


def built_kernels() -> list[BuiltKernel]:
    """Return every kernel that is built, by its name."""
    manifests = cache.folder().glob(f"kernel-*/{cache.MANIFEST}")
    return sorted(
        (_built_kernel(manifest) for manifest in manifests), key=lambda kernel: kernel.name
    )


def _built_kernel(manifest: Path) -> BuiltKernel:
    content = json.loads(manifest.read_bytes())
    facts = content["facts"]
    digest = content["files"]["linux"]["sha256"]
    name, compiler = facts.get("name", ""), facts.get("compiler", "")
    cost = content.get("build_seconds", 0.0)
    return BuiltKernel(manifest.parent, name, facts["release"], digest, compiler, cost)


def build_kernel_entry(
    kernel: KernelChoice, report: BuildReport, source: Path | None, rebuild: bool
) -> BuiltKernel:
    """Build the kernel unless it is built; `source` is a tarball for a version of the lab."""
    recipe = kernel_part(kernel, source)
    if source and kernel.digest:
        raise UsageError(f"{kernel.name} has its own source.", "Leave --source out.")
    if source and not rebuild and recipe.place.exists():
        raise UsageError(f"{kernel.name} is built: --source would not be used.", "Add --rebuild.")
    return _built_kernel(cache.ready(recipe, report, rebuild=rebuild).folder / cache.MANIFEST)


def remove_kernel(name: str, report: BuildReport) -> list[BuiltKernel]:
    """Remove the kernels of that name, and kept objects. Raises TcplabError without any."""
    named = [kernel for kernel in built_kernels() if kernel.name == name]
    if not named:
        raise TcplabError(f"No kernel {name[:100]} is built.", "See `./tcplab kernel list`.")
    for kernel in named:
        with cache.locked(cache.entry_of(kernel.folder), report):
            shutil.rmtree(kernel.folder, ignore_errors=not kernel.folder.exists())
    shutil.rmtree(kept_objects(), ignore_errors=True)
    return named


RELEASE_FILE = Path(__file__).with_name("release.toml")
NOT_A_RELEASE = "not a release"
CHECKOUT = "a checkout"
"""The lab that comes with this code, which may be newer than the release."""


@dataclass(frozen=True)
class ReleasedLab:
    """A release: its version, and the SHA-256 of its lab's parts, named as in `Lab.digests`."""

    version: str
    digests: Mapping[str, str]


@functools.cache
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


@functools.cache
def _digests_with_code() -> dict[str, str]:
    """Return the digests of kernel and first process as they come; empty if a source changed.

    The image is made by each machine, of locked packages.
    """
    manifests = [
        cache.prebuilt_manifest(part.name, part.key) for part in (kernel_part(), init_part())
    ]
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


if __name__ == "__main__":
    cache.ready(parts()[-1], BuildReport())
