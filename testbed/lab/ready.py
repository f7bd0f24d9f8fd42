"""The lab: kernel, first process and image, built if missing and checked at every use.

The standard library only. `python -m testbed.lab.ready` makes the image.
"""

import functools
import hashlib
import os
import shutil
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from testbed.builds import BuildReport, Workshop, cache
from testbed.builds.cache import Facts, Recipe
from testbed.lab.image import IMAGE, image_recipe
from testbed.lab.kernel import HERE, OPEN_VSWITCH, ORDERS_PATCH, kernel_version
from testbed.lab.kernel import recipe as kernel_recipes
from testbed.lab.kernel.choice import LAB_KERNEL, KernelChoice, chosen
from testbed.lab.kernel.recipe import MODULE_TREE, SELFTESTS, TUNNEL, compiler
from testbed.lab.tools import sealed
from topologies.errors import TcplabError
from topologies.notation import toml_file

PROGRAMS = {
    "init": ("init.c", "strangers.c", "filter.c"),
    "confine": ("confine.c", "confine_filter.c", "filter.c", "supervisor.c", "places.c"),
}
"""Each program and its sources."""
_HEADERS = ("confine.h", "filter.h", "init.h")
_FLAGS = ("-O2", "-Wall", "-Wextra", "-static", "-s", "-Wl,--build-id=none")


def init_part() -> Recipe:
    """Return the recipe for both programs, which run without a C library."""
    names = [*_HEADERS, *(name for names in PROGRAMS.values() for name in names)]
    files = tuple(HERE / name for name in names)

    def build(workshop: Workshop) -> Facts:
        workshop = sealed(workshop, "gcc")
        for file in files:
            shutil.copy(file, workshop.folder)
        for program, sources in PROGRAMS.items():
            command = ["gcc", *_FLAGS, "-o", program, *sources]
            workshop.run(f"Compiling the guest's {program}", command)
        return {}

    return Recipe("init", files, tuple(PROGRAMS), build, steps=_FLAGS, tools=toolchain())


def kernel_part(choice: KernelChoice = LAB_KERNEL, source: Path | None = None) -> Recipe:
    """Return the recipe of a kernel; only the lab's own may come from another machine."""
    recipe = kernel_recipes.kernel_recipe(choice, source)
    return replace(recipe, tools=toolchain()) if choice.is_default else recipe


def modules_part() -> Recipe:
    """Return the recipe of what modules need of the lab's own kernel."""
    return kernel_recipes.modules_recipe(kernel_part())


def toolchain() -> str:
    """Return the compiler and the C library, which is linked into kernel and first process."""
    return f"{compiler()}, {os.confstr('CS_GNU_LIBC_VERSION') or 'another C library'}"


RELEASE_FILE = Path(__file__).with_name("release.toml")
NOT_A_RELEASE = "not a release"
CHECKOUT = "a checkout"  # the lab that comes with this code, which may be newer than the release


@functools.cache
def released_lab() -> dict[str, Any]:
    """Read release.toml: `version`, and the `digests` of its lab's parts as in `Lab.digests`."""
    return toml_file(RELEASE_FILE)


def release_of(digests: Mapping[str, str]) -> str:
    """Return the release whose lab has these digests, as `tcplab 1.2`, or another origin."""
    known = released_lab()
    if known["digests"].items() <= digests.items():
        return f"tcplab {known['version']}"
    # Those of kernel and first process as they come with the code, unless a source changed.
    parts = kernel_part(), init_part()
    manifests = [each for part in parts if (each := cache.prebuilt_manifest(part.name, part.key))]
    is_whole = len(manifests) == len(parts) and stated_digests(manifests).items() <= digests.items()
    return CHECKOUT if is_whole else NOT_A_RELEASE


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
    return {name: files[file] for name, file in _FILES.items() if file in files}


def stated_digests(manifests: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Return these digests as the manifests of entries state them, without reading files."""
    listed = {name: row["sha256"] for stated in manifests for name, row in stated["files"].items()}
    return digests_of_parts(listed)


@dataclass(frozen=True)
class Lab:
    """The files of a ready lab, and what is known of them.

    `selftests` are the kernel's packetdrill scripts, `tunnel` is packetdrill's driver. The kernel
    rules its processes by `seccomp`, else by ptrace; without `time_travel` its time is always
    virtual; without `open_vswitch` its switches are bridges; with `takes_orders` it has
    /dev/orders. `digests` are SHA-256 of kernel, init, image and confine, and `whole` of all.
    """

    kernel: Path
    confine: Path
    init: Path
    image: Path
    kernel_release: str
    seccomp: bool
    digests: Mapping[str, str]
    packages: Mapping[str, str]
    selftests: Path = Path()
    tunnel: Path = Path()
    time_travel: bool = True
    open_vswitch: bool = True
    takes_orders: bool = True
    choice: KernelChoice = LAB_KERNEL


def lab(
    report: BuildReport | None = None,
    *,
    kernel: KernelChoice = LAB_KERNEL,
    source: Path | None = None,
    rebuild: bool = False,
) -> Lab:
    """Return the lab of this source tree, built if need be. Raises TcplabError, CommandError."""
    kernel_recipes.require_processor()
    if not rebuild and (ready := lab_if_ready(kernel)):
        return ready
    report, recipes = report or BuildReport(), parts(kernel, source)
    return _lab(kernel, [cache.ready(recipe, report, rebuild=rebuild) for recipe in recipes])


def lab_if_ready(kernel: KernelChoice = LAB_KERNEL) -> Lab | None:
    """Return the lab of this source tree if it is ready and whole, without building."""
    with ThreadPoolExecutor() as pool:  # a file's digest holds no other thread up
        entries = list(pool.map(lambda recipe: cache.usable(recipe, BuildReport()), parts(kernel)))
    return _lab(kernel, [entry for entry in entries if entry]) if all(entries) else None


def lab_for(kernels: Iterable[str], report: BuildReport | None = None) -> Lab:
    """Return the lab with these kernels built: on its own one if that is there, or the first."""
    choices = sorted(map(chosen, dict.fromkeys(kernels)), key=lambda choice: not choice.is_default)
    labs = [lab(report, kernel=choice) for choice in choices]
    return labs[0]


def with_kernel(ready: Lab, kernel: str) -> Lab:
    """Return the lab on the kernel that a spec names. Raises TcplabError if it is not built."""
    return ready if str(ready.choice) == kernel else built_lab(kernel)


@functools.cache
def built_lab(kernel: str) -> Lab:
    """Return the lab on a kernel that must be built; looked up once in a process."""
    choice = chosen(kernel)
    if ready := lab_if_ready(choice):
        return ready
    problem = f"The kernel {choice.name} is not built on this machine."
    raise TcplabError(problem, f"Run `./tcplab kernel build {choice.name}` there.")


def module_tree(ready: Lab, report: BuildReport | None = None) -> tuple[Path, str]:
    """Return what modules of the lab's kernel are built with, and its SHA-256."""
    part = modules_part() if ready.choice.is_default else kernel_part(ready.choice)
    entry = cache.ready(part, report or BuildReport())
    return entry.folder / MODULE_TREE, entry.files[MODULE_TREE]


def _lab(choice: KernelChoice, entries: list[cache.Entry]) -> Lab:
    kernel, init, image = entries
    seccomp = bool(kernel.facts["seccomp"])
    files = digests_of_parts({**kernel.files, **init.files, **image.files})
    whole = hashlib.sha256(repr((sorted(files.items()), seccomp)).encode()).hexdigest()
    version = kernel_version(choice.series)
    return Lab(
        kernel=kernel.folder / "linux",
        confine=init.folder / "confine",
        init=init.folder / "init",
        image=image.folder / IMAGE,
        selftests=kernel.folder / SELFTESTS,
        tunnel=kernel.folder / TUNNEL,
        kernel_release=kernel.facts["release"],
        seccomp=seccomp,
        digests={**files, "whole": whole},
        packages=image.facts["packages"],
        time_travel=bool(kernel.facts["time_travel"]),
        open_vswitch=OPEN_VSWITCH not in version.lacks,
        takes_orders=ORDERS_PATCH in version.patches,
        choice=choice,
    )


if __name__ == "__main__":
    cache.ready(parts()[-1], BuildReport())
