"""Kernel, first process and `confine` as this machine builds them, and built kernels in the cache.

The standard library only: the launcher asks for these before libraries are installed.
"""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import dataclass, replace
from pathlib import Path

from testbed.builds import cache
from testbed.builds.building import BuildReport, Workshop
from testbed.builds.cache import Facts, Recipe
from testbed.lab.kernel.choice import LAB_KERNEL, KernelChoice, chosen
from testbed.lab.kernel.recipe import compiler, kept_objects, kernel_recipe, modules_recipe
from testbed.lab.kernel.version import HERE
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
    return sorted((_read(manifest) for manifest in manifests), key=lambda kernel: kernel.name)


def _read(manifest: Path) -> BuiltKernel:
    content = json.loads(manifest.read_bytes())
    facts = content["facts"]
    digest = content["files"]["linux"]["sha256"]
    name, compiler = facts.get("name", ""), facts.get("compiler", "")
    cost = content.get("build_seconds", 0.0)
    return BuiltKernel(manifest.parent, name, facts["release"], digest, compiler, cost)


def build(
    kernel: KernelChoice, report: BuildReport, source: Path | None, rebuild: bool
) -> BuiltKernel:
    """Build the kernel unless it is built; `source` is a tarball for a version of the lab."""
    recipe = kernel_part(kernel, source)
    if source and kernel.digest:
        raise UsageError(f"{kernel.name} has its own source.", "Leave --source out.")
    if source and not rebuild and recipe.place.exists():
        raise UsageError(f"{kernel.name} is built: --source would not be used.", "Add --rebuild.")
    return _read(cache.ready(recipe, report, rebuild=rebuild).folder / cache.MANIFEST)


def remove(name: str, report: BuildReport) -> list[BuiltKernel]:
    """Remove the kernels of that name, and kept objects. Raises TcplabError without any."""
    named = [kernel for kernel in built_kernels() if kernel.name == name]
    if not named:
        raise TcplabError(f"No kernel {name[:100]} is built.", "See `./tcplab kernel list`.")
    for kernel in named:
        with cache.locked(cache.entry_of(kernel.folder), report):
            shutil.rmtree(kernel.folder, ignore_errors=not kernel.folder.exists())
    shutil.rmtree(kept_objects(), ignore_errors=True)
    return named
