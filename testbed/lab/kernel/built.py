"""Kernel, first process and `confine` as this machine builds them, and built kernels in the cache.

Objects of a user's last kernel are kept, so the next build compiles only differences. make(1)
selects stale objects by time. So an unchanged file keeps its time, a changed one gets the current
time, and kept objects lie next to them. The kernel has the same bytes as after a whole build. The
lab's versions are always built whole.

The standard library only: the launcher asks for these before libraries are installed.
"""

from __future__ import annotations

import filecmp
import json
import os
import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from time import time_ns
from typing import Any

from testbed.lab.kernel.choice import LAB_KERNEL, KernelChoice, chosen, paths_below
from testbed.lab.kernel.recipe import BUILD_SPACE, build_kernel, compiler, kernel_recipe
from testbed.lab.kernel.version import HERE
from testbed.recipes import cache
from testbed.recipes.building import BuildReport, Workshop, need_tools
from testbed.recipes.cache import Facts, Recipe
from topologies.foundation.errors import TcplabError, UsageError

_LISTED = ".tcplab-sources"
"""In a kept tree: what compiled it and the paths of its sources, as JSON."""


def kept_tree() -> Path:
    """Return the place of the tree of the user's last kernel: about 2 GB."""
    return cache.folder() / "kept-objects"


def build_from_kept(workshop: Workshop, choice: KernelChoice) -> Facts:
    """Build the kernel as kernel_recipe does, and keep its tree, also if it does not compile.

    Raises TcplabError, CommandError. If anything else ends it an object may be half written, so
    objects are dropped.
    """
    tree, made_with = workshop.folder / "tree", f"{choice.series} {compiler()}"
    resumed = _ResumedWorkshop(workshop.folder, workshop.log, workshop.report, tree, made_with)
    try:
        facts = build_kernel(resumed, choice, None)
    except TcplabError:
        _keep(tree)
        raise
    _keep(tree)
    return facts


@dataclass(frozen=True)
class _ResumedWorkshop(Workshop):
    """A workshop that takes kept objects over once all sources are patched.

    Before what modules need of the tree is kept, stale marks are dropped.
    """

    tree: Path
    made_with: str

    def run(self, text: str, command: Sequence[str], **options: Any) -> str:
        if command[-1] == "allnoconfig":
            self.report.step("Comparing with what was compiled last")
            take_over(self.tree, self.made_with)
        if command[-1] == "modules_prepare":
            drop_stale_marks(self.tree)
        return super().run(text, command, **options)


def take_over(tree: Path, made_with: str) -> None:
    """Lay the kept objects into `tree`, which holds sources, and give these their times.

    What is kept is gone from its place then. It is of no use if something else made it.
    """
    names = paths_below(tree)
    listed = {"made_with": made_with, "sources": names}
    (tree / _LISTED).write_text(json.dumps(listed))
    kept = tree.parent / "kept"
    try:
        os.replace(kept_tree(), kept)
    except FileNotFoundError:
        return
    before = json.loads((kept / _LISTED).read_text())
    if before["made_with"] == made_with:
        _keep_times(kept, tree, names)
        _move(kept, tree, {*names, *before["sources"], _LISTED})
    shutil.rmtree(kept)


def _keep_times(kept: Path, tree: Path, names: Sequence[str]) -> None:
    """Give unchanged sources their earlier time, and changed ones the current time."""
    for name in names:
        if (tree / name).is_symlink():
            continue
        same = (kept / name).is_file() and filecmp.cmp(kept / name, tree / name, shallow=False)
        moment = (kept / name).stat().st_mtime_ns if same else time_ns()
        os.utime(tree / name, ns=(moment, moment))


def _move(kept: Path, tree: Path, without: set[str]) -> None:
    """Move what was made of the sources, without the sources themselves."""
    for name in paths_below(kept):
        if name not in without:
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            os.replace(kept / name, tree / name)


def drop_stale_marks(tree: Path) -> None:
    """Remove the empty files that stand for options of an earlier kernel; a whole build has none.

    Their times tell make which options have changed. Those of old kernels lie in folders, and stay.
    """
    config = tree / "include/config"
    options = set(re.findall(r"(?m)^CONFIG_(\w+)=", (config / "auto.conf").read_text()))
    for mark in config.iterdir():
        if mark.is_file() and not mark.stat().st_size and mark.name not in options:
            mark.unlink()


def _keep(tree: Path) -> None:
    """Keep the tree if it was compiled, and if there is room for another build."""
    if (tree / _LISTED).exists() and shutil.disk_usage(tree).free > BUILD_SPACE:
        os.replace(tree, kept_tree())


PROGRAMS = {
    "init": ("init.c",),
    "confine": ("confine.c", "confine_filter.c", "supervisor.c", "places.c"),
}
"""Each program and its sources."""
_HEADERS = ("confine.h",)
_FLAGS = ("-O2", "-Wall", "-Wextra", "-static", "-s", "-Wl,--build-id=none")


def init_recipe() -> Recipe:
    """Return the recipe for both programs.

    They are linked statically: they run without a C library.
    """
    names = [*_HEADERS, *(name for names in PROGRAMS.values() for name in names)]
    files = tuple(HERE / name for name in names)
    return Recipe("init", files, tuple(PROGRAMS), build_init, steps=_FLAGS)


def build_init(workshop: Workshop) -> Facts:
    """Leave both programs in the workshop. Raises TcplabError, CommandError."""
    need_tools(("bwrap", "gcc"))
    for source in init_recipe().sources:
        shutil.copy(source, workshop.folder)
    for program, sources in PROGRAMS.items():
        command = ["gcc", *_FLAGS, "-o", program, *sources]
        workshop.run(f"Compiling the guest's {program}", command)
    return {}


def kernel_part(choice: KernelChoice = LAB_KERNEL, source: Path | None = None) -> Recipe:
    """Return the recipe of a kernel; `source` is a tarball to build it from.

    The key of any other kernel than the lab's own holds the compiler already: it is never given.
    """
    recipe = kernel_recipe(choice, source)
    if choice.digest:
        return replace(recipe, build=partial(build_from_kept, choice=choice))
    return replace(recipe, tools=toolchain) if choice.is_default else recipe


def init_part() -> Recipe:
    """Return the recipe of the guest's first process."""
    return replace(init_recipe(), tools=toolchain)


def toolchain() -> str:
    """Return the compiler and the C library, which is linked into kernel and first process."""
    return f"{compiler()}, {os.confstr('CS_GNU_LIBC_VERSION') or 'another C library'}"


@dataclass(frozen=True)
class BuiltKernel:
    """A kernel's entry in the cache. `name` is empty if an older tcplab built it.

    `build_seconds` its build took by the clock; 0 if that was not noted.
    """

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
    """Build the kernel unless it is built; `source` is a tarball for a version of the lab.

    Raises TcplabError, CommandError.
    """
    recipe = kernel_part(kernel, source)
    if source and kernel.digest:
        raise UsageError(f"{kernel.name} has its own source.", "Leave --source out.")
    if source and not rebuild and recipe.place.exists():
        raise UsageError(f"{kernel.name} is built: --source would not be used.", "Add --rebuild.")
    return _read(cache.ready(recipe, report, rebuild=rebuild).folder / cache.MANIFEST)


def remove(name: str, report: BuildReport) -> list[BuiltKernel]:
    """Remove the kernels of that name, of whatever age, once no other build runs.

    The objects that are kept for the next build of a kernel of one's own go as well. Raises
    TcplabError if there is no such kernel.
    """
    with cache.locked("kernel", report):
        named = [kernel for kernel in built_kernels() if kernel.name == name]
        if not named:
            raise TcplabError(f"No kernel {name[:100]} is built.", "See `./tcplab kernel list`.")
        for kernel in named:
            shutil.rmtree(kernel.folder)
        shutil.rmtree(kept_tree(), ignore_errors=not kept_tree().exists())
    return named
