"""The lab kernel and its first process: patch, configure, compile, strip.

The same sources give the same bytes in any folder on any machine with the same compiler: the
build is sealed (testbed.recipes.building) and sees a fixed path, a fixed environment and a fixed
date.
"""

from __future__ import annotations

import os
import platform
from pathlib import Path

from testbed.lab.kernel.kernel_source import HERE, TARBALL, ObtainedSource, obtain, pinned
from testbed.lab.kernel.module_tree import MODULE_TREE, pack_tree
from testbed.lab.kernel.selftests import SELFTESTS, pack_selftests
from testbed.recipes.building import Workshop, need_space, need_tools
from testbed.recipes.cache import Facts, Recipe
from topologies.errors import CommandError, TcplabError

KERNEL_TOOLS = ("bwrap", "gcc", "ld", "make", "flex", "bison", "bc", "xz", "tar", "patch")
BUILD_SPACE = 2_500_000_000
"""Bytes: source and objects take 1.9 GB, the tarball and its package 0.3 GB."""

# What the kernel's banner would say of this machine and of the day.
FIXED = {
    "KBUILD_BUILD_TIMESTAMP": "2000-01-01",
    "KBUILD_BUILD_USER": "tcplab",
    "KBUILD_BUILD_HOST": "tcplab",
    "KBUILD_BUILD_VERSION": "1",
    # programs of the build that are kept for modules (module_tree.py) run on other machines too
    "HOSTLDFLAGS": "-static",
}
MAKE = ("make", "ARCH=um")


def kernel_recipe(given: Path | None = None) -> Recipe:
    """The recipe for `linux`, the kernel, and for what modules need of it.

    `given` is a tarball to build it from ($TCPLAB_KERNEL_SOURCE if None).
    """
    named = os.environ.get("TCPLAB_KERNEL_SOURCE")
    source = given or (Path(named) if named else None)
    files = (
        HERE / "lab.config",
        HERE / "lab.patch",
        Path(__file__),
        HERE / "module_tree.py",
        HERE / "selftests.py",
    )
    variant = f"{pinned().version} {pinned().sha256}"
    return Recipe(
        "kernel",
        files,
        ("linux", MODULE_TREE, SELFTESTS),
        lambda workshop: build_kernel(workshop, source),
        variant,
    )


def init_recipe() -> Recipe:
    """The recipe for `init`, the guest's first process, and `confine`, which starts the kernel."""
    return Recipe("init", (HERE / "init.c", HERE / "confine.c"), ("init", "confine"), build_init)


def build_kernel(workshop: Workshop, given: Path | None) -> Facts:
    """Leave the stripped kernel in the workshop as `linux`, and MODULE_TREE.

    Raises TcplabError, CommandError.
    """
    if platform.machine() != "x86_64":
        raise TcplabError(
            f"The lab kernel runs on x86-64 only, not on {platform.machine()}.",
            "Use --testbed native.",
        )
    need_tools(KERNEL_TOOLS)
    need_space(workshop.folder, BUILD_SPACE)
    source = obtain(workshop, given)
    unpack(workshop, source)
    release = configure(workshop)
    compile_kernel(workshop)
    pack_tree(workshop, MAKE, FIXED)
    pack_selftests(workshop)
    return {
        "release": release,
        "seccomp": has_seccomp(workshop),
        "source": source.origin,
        "source_sha256": source.sha256,
        "pinned": source.pinned,
        "compiler": workshop.run("Stripping the lab kernel", ["gcc", "--version"]).splitlines()[0],
    }


def unpack(workshop: Workshop, source: ObtainedSource) -> None:
    """Unpack the tarball into `tree` and patch it."""
    (workshop.folder / "tree").mkdir()
    command = ["tar", "-xJ", "-C", "tree", "--strip-components=1", "-f", TARBALL]
    workshop.run("Unpacking the kernel's source", command)
    (workshop.folder / TARBALL).unlink()
    apply(workshop, HERE / "lab.patch", source)


def has_seccomp(workshop: Workshop) -> bool:
    """Whether this kernel has the option seccomp=on (6.16 and later)."""
    return "seccomp=" in (workshop.folder / "tree/arch/um/os-Linux/start_up.c").read_text()


def apply(workshop: Workshop, patch: Path, source: ObtainedSource) -> None:
    """Apply one patch.

    Raises TcplabError with patch's own words when it does not fit this source.
    """
    command = [
        "patch",
        "--directory=tree",
        "--strip=1",
        "--batch",
        "--forward",
        "--no-backup-if-mismatch",
    ]
    try:
        workshop.run(f"Applying {patch.name}", command, source=patch)
    except CommandError as error:
        problem = f"{patch.name} does not apply to {source.origin}.\n{error.problem}"
        raise TcplabError(problem, f"It is made for Linux {pinned().version}.") from error


def configure(workshop: Workshop) -> str:
    """Write .config and return the kernel's release; every line of lab.config must be in it."""
    fragment = HERE / "lab.config"
    wanted = [line for line in fragment.read_text().splitlines() if line.startswith("CONFIG_")]
    (workshop.folder / "lab.config").write_bytes(fragment.read_bytes())
    command = [*MAKE, "-C", "tree", "KCONFIG_ALLCONFIG=../lab.config", "allnoconfig"]
    workshop.run("Configuring the lab kernel", command, environment=FIXED)
    made = (workshop.folder / "tree/.config").read_text().splitlines()
    if absent := [line for line in wanted if line not in made]:
        problem = f"This kernel does not take these lines of lab.config: {', '.join(absent)}."
        raise TcplabError(problem, "The option is gone or something that it depends on is off.")
    return workshop.run(
        "Configuring the lab kernel", [*MAKE, "-s", "-C", "tree", "kernelrelease"]
    ).strip()


def compile_kernel(workshop: Workshop) -> None:
    """Compile and strip; the share done is the share of the lines that a whole build prints."""
    cores = len(os.sched_getaffinity(0))
    start, steps = lines(workshop.log), pinned().steps

    def share() -> float:
        return min(0.99, (lines(workshop.log) - start) / steps)

    command = [*MAKE, "-C", "tree", f"-j{cores}", "linux"]
    workshop.run(
        f"Building the lab kernel ({cores} cores)", command, environment=FIXED, share=share
    )
    workshop.run("Stripping the lab kernel", ["strip", "-o", "linux", "tree/linux"])


def lines(file: Path) -> int:
    """How many lines the file has now."""
    return file.read_bytes().count(b"\n")


def build_init(workshop: Workshop) -> Facts:
    """Leave both programs in the workshop, linked statically."""
    need_tools(("bwrap", "gcc"))
    flags = ["-O2", "-Wall", "-Wextra", "-static", "-s", "-Wl,--build-id=none"]
    for name in ("init", "confine"):
        command = ["gcc", *flags, "-x", "c", "-o", name, "-"]
        workshop.run(f"Compiling the guest's {name}", command, source=HERE / f"{name}.c")
    return {}
