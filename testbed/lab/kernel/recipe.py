"""The lab kernel: patch, configure, compile, strip, and keep the parts that modules need.

The same sources give the same bytes on any machine with the same compiler: the sealed build
(testbed.builds) sees a fixed path, environment and date. What modules need of the lab's own kernel
is an entry by itself; its programs fixdep and modpost are static, to run anywhere.

packetdrill needs the kernel's scripts, which exist since 6.12, and the tunnel's driver.
"""

from __future__ import annotations

import functools
import os
import platform
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from testbed.builds import FOLDER, Workshop, cache, need_space
from testbed.builds.cache import Facts, Recipe
from testbed.host.packages import present
from testbed.lab.kernel import HERE, KernelVersion, kernel_version
from testbed.lab.kernel import choice as choices
from testbed.lab.kernel.choice import LAB_KERNEL, KernelChoice, OwnSource
from testbed.lab.kernel.source import TARBALL, ObtainedSource, obtain
from testbed.lab.tools import sealed
from topologies.errors import CommandError, TcplabError
from topologies.notation import toml_file

_BASH = ("bash", "-o", "pipefail", "-e", "-c")
MODULE_TREE = "modules.tar.gz"
"""5800 files, 45 MB, 10 MB compressed; unpacked in 0.3 s (xz: 7 MB, and 18 s to make)."""

PACK_TREE, PACK_SELFTESTS, COPY_TUNNEL = toml_file(HERE / "scripts.toml").values()
SYMBOL_VERSIONS = "Module.symvers"
"""The kernel's exported symbols: all that a module needs of it that its source does not give."""


def pack_tree(build: KernelBuild) -> None:
    """Leave what modules need of the prepared `tree` in the workshop as MODULE_TREE."""
    build.workshop.run("Keeping what modules need", [*_BASH, f"({PACK_TREE}) >{MODULE_TREE}"])


def modules_recipe(kernel: Recipe) -> Recipe:
    """Return the recipe for what modules need of the lab's own kernel, without its compilation."""

    def build(workshop: Workshop) -> Facts:
        workshop = sealed(workshop, *KERNEL_TOOLS)
        made, source, _ = configured(workshop, LAB_KERNEL)
        built = cache.ready(kernel, workshop.report)
        if source.sha256 != built.facts["source_sha256"]:
            problem = f"The lab kernel was built from another source than {source.origin}."
            raise TcplabError(problem, "Build it again: ./tcplab image build --rebuild.")
        prepare = [*made.make, "modules_prepare"]
        workshop.run("Preparing the tree for modules", prepare, environment=FIXED)
        shutil.copyfile(built.folder / SYMBOL_VERSIONS, workshop.folder / "tree" / SYMBOL_VERSIONS)
        pack_tree(made)
        return {}

    return replace(kernel, name="modules", outputs=(MODULE_TREE,), build=build)


SYMBOLS = "linux.debug"
"""The source lines of a kernel of the user's own, for the explanation of a crash."""
_KEEP_SYMBOLS = ("objcopy", "--only-keep-debug", "--compress-debug-sections")
SELFTESTS, TUNNEL = "selftests.tar.gz", "tun.ko"
"""160 scripts in 7.2, 240 KB, 36 KB compressed; and the driver, empty if the kernel has its own."""


def build_tunnel(build: KernelBuild) -> None:
    """Leave the driver as TUNNEL, empty if it is built in or, noted, cannot be built."""
    text, workshop = "Building the tunnel for packetdrill", build.workshop
    workshop.run(text, ["bash", "-e", "-c", COPY_TUNNEL])
    if "CONFIG_TUN=y" in (workshop.folder / "tree/.config").read_text().splitlines():
        return
    try:
        command = [*build.make, f"M={FOLDER}/tunnel", "modules"]
        workshop.run(text, command, environment=FIXED)
    except CommandError as error:
        workshop.report.note(f"packetdrill will not run on this kernel: {error}")
        return
    workshop.run(text, ["strip", "--strip-debug", "-o", TUNNEL, "tunnel/tun.ko"])


KERNEL_TOOLS = ("gcc", "ld", "make", "flex", "bison", "bc", "xz", "tar", "patch")
ELSEWHERE = (
    "Run natively: sudo ./tcplab run NAME --testbed native, on macOS in a virtual machine (vagrant"
    " up). Captures can be analyzed here."
)
"""What works on other processors."""
BUILD_SPACE = 3_500_000_000
"""Bytes: source and objects take 1.9 GB, the tarball and its package up to 1.5 GB."""

# What the kernel's banner would say of this machine and of the day.
FIXED = {
    "KBUILD_BUILD_TIMESTAMP": "2000-01-01",
    "KBUILD_BUILD_USER": "tcplab",
    "KBUILD_BUILD_HOST": "tcplab",
    "KBUILD_BUILD_VERSION": "1",
    # programs of the build that are kept for modules (module_tree.py) run on other machines too
    "HOSTLDFLAGS": "-static",
}
_CCACHE = {"CCACHE_DIR": f"{FOLDER}/ccache", "CCACHE_MAXSIZE": "2G"}
MAKE = ("make", "ARCH=um")
_ERROR = re.compile(r"(?m)^\S+?:\d+(:\d+)?: (?:fatal )?error: .+$")


@dataclass(frozen=True)
class KernelBuild:
    """A kernel to build: the version of the lab whose patches it takes, and the user's source."""

    kernel: KernelVersion
    choice: KernelChoice
    source: OwnSource | None
    workshop: Workshop

    @property
    def make(self) -> list[str]:
        own = ["CFLAGS_KERNEL=-g"] if self.choice.digest else []
        own += ["CC=ccache gcc"] if self.choice.digest and present("ccache") else []
        return [*MAKE, *self.kernel.make, *own, "-C", "tree"]


def kernel_recipe(choice: KernelChoice = LAB_KERNEL, given: Path | None = None) -> Recipe:
    """Return the recipe for a kernel, of the tarball `given`, with its modules' needs and tests."""
    kernel = kernel_version(choice.series)
    files = (kernel.config_file, *kernel.patch_files)
    variant = f"{kernel.version} {kernel.sha256} {choice.digest} {' '.join(kernel.make)}"
    variant += "".join(f" without {option}" for option in kernel.without)
    own = (SYMBOLS,) if choice.digest else ()
    for_modules = SYMBOL_VERSIONS if choice.is_default else MODULE_TREE
    return Recipe(
        "kernel",
        files,
        ("linux", for_modules, SELFTESTS, TUNNEL, *own),
        lambda workshop: build_kernel(workshop, choice, given),
        variant if choice.is_default else " ".join([variant, compiler(), *own]),
        (MAKE, FIXED, PACK_TREE, PACK_SELFTESTS, COPY_TUNNEL),
    )


@functools.cache
def compiler() -> str:
    """Return the compiler's version line; empty without one."""
    if not shutil.which("gcc"):
        return ""
    done = subprocess.run(["gcc", "--version"], capture_output=True, text=True, check=False)
    return done.stdout.partition("\n")[0]


def require_processor() -> None:
    """Raises TcplabError on a processor for which Linux has no user mode."""
    if platform.machine() != "x86_64":
        problem = f"The lab kernel exists for x86-64 only, and this is {platform.machine()}."
        raise TcplabError(problem, ELSEWHERE)


def build_kernel(workshop: Workshop, choice: KernelChoice, given: Path | None) -> Facts:
    """Leave the outputs of the recipe in the workshop. Raises TcplabError, CommandError."""
    require_processor()
    if given and not given.is_file():
        problem = f"{given} is not a file."
        raise TcplabError(problem, "--source wants a linux-VERSION.tar.xz.")
    workshop = sealed(workshop, *KERNEL_TOOLS)
    need_space(workshop.folder.parent, BUILD_SPACE)
    build, source, release = configured(workshop, choice, given)
    compile_kernel(build)
    for target in ("modules_prepare", "modules"):
        workshop.run("Preparing the tree for modules", [*build.make, target], environment=FIXED)
    if choice.is_default:
        built = workshop.folder / "tree" / SYMBOL_VERSIONS
        shutil.copyfile(built, workshop.folder / SYMBOL_VERSIONS)
    else:
        pack_tree(build)
    build_tunnel(build)
    text = "Keeping the kernel's packetdrill scripts"
    workshop.run(text, [*_BASH, f"({PACK_SELFTESTS}) >{SELFTESTS}"])
    start_up = (workshop.folder / "tree/arch/um/os-Linux/start_up.c").read_text()
    config = (workshop.folder / "tree/.config").read_text()
    facts: dict[str, Any] = {"name": choice.name, "series": choice.series, "release": release}
    facts |= {"seccomp": "seccomp=" in start_up}  # since 6.16
    facts |= {"time_travel": "CONFIG_UML_TIME_TRAVEL_SUPPORT=y" in config}  # since 5.3
    facts |= {"source": source.origin, "source_sha256": source.sha256, "pinned": source.pinned}
    version = workshop.run("Stripping the lab kernel", ["gcc", "--version"])
    return facts | {"compiler": version.splitlines()[0]}


def configured(
    workshop: Workshop, choice: KernelChoice, given: Path | None = None
) -> tuple[KernelBuild, ObtainedSource, str]:
    """Patch and configure a kernel's source; also return its origin and the kernel's release."""
    own, patches = choices.require_unchanged(choice)
    kernel = kernel_version(choice.series)
    build = KernelBuild(kernel, choice, choices.OwnTarball(given) if given else own, workshop)
    source = obtain(workshop, kernel, build.source)
    unpack(build)
    for patch in [*kernel.patch_files, *patches]:
        apply(workshop, patch, source, kernel)
    return build, source, configure(build)


def unpack(build: KernelBuild) -> None:
    """Unpack the tarball into `tree`, without what the user's own builds left there."""
    workshop = build.workshop
    (workshop.folder / "tree").mkdir()
    command = ["tar", "-x", "-C", "tree", "--strip-components=1", "-f", TARBALL]
    workshop.run("Unpacking the kernel's source", command)
    (workshop.folder / TARBALL).unlink()
    if isinstance(build.source, choices.OwnTree):
        workshop.run("Cleaning the tree", [*build.make, "mrproper"])


def apply(workshop: Workshop, patch: Path, source: ObtainedSource, kernel: KernelVersion) -> None:
    """Apply a patch. Raises TcplabError with patch(1)'s message if it does not fit."""
    options = "--directory=tree --strip=1 --batch --forward --no-backup-if-mismatch"
    try:
        workshop.run(f"Applying {patch.name}", ["patch", *options.split()], source=patch)
    except CommandError as error:
        problem = f"{patch.name} does not apply to {source.origin}.\n{error.problem}"
        remedy = f"The lab's patches fit Linux {kernel.version}; others fit their own source."
        raise TcplabError(problem, remedy) from error


def configure(build: KernelBuild) -> str:
    """Write .config and return the kernel's release; every line of lab.config must be in it."""
    workshop, fragment = build.workshop, build.kernel.config_file
    wanted = re.findall(r"(?m)^CONFIG_.*$", fragment.read_text())
    wanted = [line for line in wanted if line.partition("=")[0] not in build.kernel.without]
    (workshop.folder / "lab.config").write_bytes(fragment.read_bytes())
    command = [*build.make, "KCONFIG_ALLCONFIG=../lab.config", "allnoconfig"]
    workshop.run("Configuring the lab kernel", command, environment=FIXED)
    made = (workshop.folder / "tree/.config").read_text().splitlines()
    if absent := [line for line in wanted if line not in made]:
        problem = f"This kernel does not take these lines of lab.config: {', '.join(absent)}."
        raise TcplabError(problem, "The option is gone or something that it depends on is off.")
    printed = workshop.run("Configuring the lab kernel", [*build.make, "-s", "kernelrelease"])
    return printed.splitlines()[-1].strip()  # before it an old Kconfig may have warned


def compile_kernel(build: KernelBuild) -> None:
    """Compile and strip. Raises TcplabError with the compiler's first error."""
    workshop, cores = build.workshop, len(os.sched_getaffinity(0))
    start, steps = workshop.log.read_bytes().count(b"\n"), build.kernel.steps

    def share() -> float:
        return min(0.99, (workshop.log.read_bytes().count(b"\n") - start) / steps)

    text = f"Building the lab kernel ({cores} cores)"
    command = [*build.make, f"-j{cores}", "linux"]
    try:
        with _kept_objects(workshop):
            workshop.run(text, command, environment=FIXED | _CCACHE, share=share)
    except CommandError as error:
        if first := _ERROR.search(error.output):
            problem = f"Linux {build.choice.name} does not compile: {first[0]}."
            raise TcplabError(problem, error.remedy) from error
        raise
    text = "Stripping the lab kernel"
    workshop.run(text, ["strip", "-o", "linux", "tree/linux"])
    if build.choice.digest:
        workshop.run(text, [*_KEEP_SYMBOLS, "tree/linux", SYMBOLS])


@contextmanager
def _kept_objects(workshop: Workshop) -> Iterator[None]:
    """Give the build the folder of ccache(1), if an earlier one left it, and keep it again."""
    kept, place = kept_objects(), workshop.folder / kept_objects().name
    with suppress(FileNotFoundError):
        os.replace(kept, place)
    try:
        yield
    finally:
        # FileNotFoundError without ccache; ENOTEMPTY if another build ended first and left its own.
        with suppress(OSError):
            os.replace(place, kept)


def kept_objects() -> Path:
    """Return the place of the objects of users' kernels, of which the next build compiles fewer."""
    return cache.folder() / "ccache"
