"""The kernels in the cache, whoever built them."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path

from testbed.lab.kernel.kept_objects import kept_tree
from testbed.lab.kernel.kernel_choice import KernelChoice, chosen
from testbed.lab.kernel.kernel_parts import kernel_part
from testbed.recipes import cache
from testbed.recipes.building import BuildReport
from topologies.foundation.errors import TcplabError, UsageError


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
        """Whether this tcplab would use it."""
        try:
            return bool(self.name) and kernel_part(chosen(self.name)).place == self.folder
        except TcplabError:
            return False  # its source is gone, or is another by now


def built_kernels() -> list[BuiltKernel]:
    """Every kernel that is built, by its name."""
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
