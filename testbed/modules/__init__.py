"""A congestion control built from its source: sealed off, the same bytes every time, and kept.

The source may be hostile: its compiler sees /usr and a folder with source and kernel tree only,
within limits, and the module is loaded in a guest only.
"""

import os
import platform
import re
import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from testbed.builds import FOLDER, BuildReport, Workshop, cache
from testbed.builds.cache import Facts, Recipe
from testbed.guest.kernel_modules import KernelModule
from testbed.host.packages import install_missing
from testbed.lab.kernel import kernel_version
from testbed.lab.kernel.recipe import FIXED, compiler
from testbed.lab.ready import Lab, module_tree
from testbed.lab.tools import sealed
from topologies.errors import CommandError, TcplabError

MODULE_TOOLS = ("gcc", "ld", "make", "tar", "gzip")
LOADED, WITH_LINES = "module.ko", "lines.ko"
"""The module as it is loaded, and with the line numbers that explain a crash."""
_KEPT = 200  # modules that stay in the cache; a student's tries have half a megabyte each
_SHOWN = 40  # lines of the compiler; the first error explains the others
# Wall seconds, CPU seconds, bytes of memory and of a file: exp takes 1.5 s in all, 0.2 GB, 0.4 MB.
_PRLIMIT = ("prlimit", "--cpu=40", "--as=2000000000", "--fsize=67108864")
LIMITS = ("timeout", "--signal=KILL", "60", *_PRLIMIT)
# A module draws as the network does (patches/start-line.patch): include/linux/random.h.
_KBUILD = "obj-m := {name}.o\nccflags-y := -g -DFOR_NETWORK\n"
_STRIP = ("strip", "--strip-debug", "-o")
_NOISE = re.compile(
    r"^(make(\[\d+\])?: |  [A-Z]+ |compilation terminated|In file included from .*[,:]$)"
)

Prepare = Callable[[Workshop], list[str]]
"""Makes a kernel's tree ready in the workshop, and gives the `make` that uses it."""


@dataclass(frozen=True)
class BuiltModule:
    """A built module, a file of it `with_lines` for addr2line, the compiler's warnings."""

    module: KernelModule
    content: bytes
    digest: str
    with_lines: Path
    warnings: str


def built(module: KernelModule, lab: Lab, report: BuildReport | None = None) -> BuiltModule:
    """Return the module for the lab kernel. Raises TcplabError with the compiler's errors."""

    tree, digest = module_tree(lab, report)

    def prepare(workshop: Workshop) -> list[str]:
        (workshop.folder / "tree").mkdir()
        command = ["tar", "-xz", "-C", "tree"]
        workshop.run("Unpacking the kernel's headers", command, source=tree, bare=True)
        return ["make", "ARCH=um", "-C", "tree", *kernel_version(lab.choice.series).make]

    return _built(module, digest, prepare, report)


def built_for_this_kernel(module: KernelModule, report: BuildReport | None = None) -> BuiltModule:
    """Return the module for the kernel of this computer. Raises TcplabError without headers."""
    release = platform.release()
    headers = Path("/lib/modules", release, "build")
    if not (headers / "Makefile").exists():
        remedy = f"sudo apt-get install linux-headers-{release}, or use --testbed virtual."
        raise TcplabError(f"The headers of this kernel, {release}, are not installed.", remedy)
    make = ["make", "-C", str(headers)]
    return _built(module, f"this {release}", lambda _workshop: make, report)


def build_all(modules: Iterable[KernelModule], lab: Lab) -> list[BuiltModule]:
    return [built(module, lab) for module in modules]


def attached(modules: Iterable[BuiltModule]) -> dict[str, bytes]:
    """Return the files that a job needs to load these modules, by name."""
    return {f"{built.module.name}.ko": built.content for built in modules}


def _built(
    module: KernelModule, kernel: str, prepare: Prepare, report: BuildReport | None
) -> BuiltModule:
    install_missing(MODULE_TOOLS)
    variant = f"{module.name} {module.digest} {kernel} {compiler()}"
    steps = (LIMITS, _KBUILD, FIXED, _STRIP)
    outputs, build = (LOADED, WITH_LINES), lambda work: _build(work, module, prepare)
    recipe = Recipe("module", (), outputs, build, variant, steps)
    entry = cache.ready(recipe, report or BuildReport())
    content = (entry.folder / LOADED).read_bytes()
    digest, warnings = entry.files[LOADED], str(entry.facts["warnings"])
    return BuiltModule(module, content, digest, entry.folder / WITH_LINES, warnings)


def _build(workshop: Workshop, module: KernelModule, prepare: Prepare) -> Facts:
    """Leave the module in the workshop, as LOADED and as WITH_LINES."""
    workshop = sealed(workshop, *MODULE_TOOLS)
    make = prepare(workshop)
    (workshop.folder / "module").mkdir()
    (workshop.folder / "module" / f"{module.name}.c").write_text(module.source)
    (workshop.folder / "module" / "Kbuild").write_text(_KBUILD.format(name=module.name))
    command = [*LIMITS, *make, f"M={FOLDER}/module", "modules"]
    try:
        output = workshop.run(f"Building {module.name}", command, environment=FIXED, bare=True)
    except CommandError as error:
        essence = _essence(error.output).splitlines()
        problem = f"{module.name}.c was not built within 40 s, 2 GB of memory and 64 MB of output."
        if error.status not in (124, 137) and essence:  # else it reached a limit
            left = len(essence) - _SHOWN
            more = [f"... and {left} more lines"] if left > 0 else []
            lines = [f"{module.name}.c cannot be built:", *essence[:_SHOWN], *more]
            problem = "\n".join(lines) + "\n"
        raise TcplabError(problem, "Correct it and build it again.") from None
    product = workshop.folder / "module" / f"{module.name}.ko"
    if product.is_symlink() or not product.is_file():
        raise TcplabError(f"{product.name} was not made.", f"The log is {workshop.log}.")
    os.replace(product, workshop.folder / WITH_LINES)
    strip = [*LIMITS, *_STRIP, LOADED, WITH_LINES]
    workshop.run(f"Stripping {module.name}", strip, bare=True)
    modules = sorted(cache.folder().glob("module-*/"), key=lambda folder: folder.stat().st_mtime)
    for folder in modules[:-_KEPT]:  # those that were built longest ago
        shutil.rmtree(folder, ignore_errors=True)  # another build may do the same
        folder.with_suffix(".log").unlink(missing_ok=True)
    return {"module": module.name, "source": module.digest, "warnings": _essence(output)}


def _essence(output: str) -> str:
    """Return the lines of the compiler and of modpost, without those of make."""
    lines = (line.replace(f"{FOLDER}/module/", "") for line in output.splitlines())
    return "\n".join(line for line in lines if line.strip() and not _NOISE.match(line))
