"""bubblewrap and mksquashfs with their libraries, from Debian's packages: they run on any Linux.

The dynamic loader next to them starts them, whatever C library the machine has.
"""

import shutil
from dataclasses import replace
from pathlib import Path

from testbed.builds import BuildReport, Workshop, cache
from testbed.builds.cache import Facts, Recipe
from testbed.builds.debian import contents, extract, read_lock
from testbed.host.packages import install_missing
from topologies.errors import TcplabError

LOCK = Path(__file__).with_name("packages.lock")
SUITE = "bookworm"
WANTED = ("bubblewrap", "squashfs-tools")
BUBBLEWRAP, SQUASH, LOADER = "bwrap", "mksquashfs", "ld-linux-x86-64.so.2"
FILES = tuple(Path(__file__).with_name("files.txt").read_text().split())
"""Paths in the packages; libgcc_s ends threads (pthread_exit(3)), and no program names it."""
_FOLDERS = {file.rpartition("/")[0] for file in FILES}


def tools_recipe() -> Recipe:
    outputs = tuple(Path(file).name for file in FILES)

    def build(workshop: Workshop) -> Facts:
        lock, root = read_lock(LOCK), workshop.folder / "root"
        for _, packed in contents(lock, SUITE, workshop.report):
            extract(packed, root, lambda name: name.rpartition("/")[0] in _FOLDERS)
        for file, output in zip(FILES, outputs, strict=True):
            shutil.copyfile(root / file, workshop.folder / output)
            (workshop.folder / output).chmod(0o755)
        return {"packages": lock.versions}

    return Recipe("tools", (LOCK,), outputs, build, steps=FILES)


def fetched_command(program: str, report: BuildReport) -> list[str]:
    """Return the command of one of these programs, fetched if need be. Raises TcplabError."""
    folder = cache.ready(tools_recipe(), report).folder
    return by_loader(folder, folder / program)


def bubblewrap_command() -> list[str]:
    """Return bubblewrap's command: this machine's, or the fetched one. Raises TcplabError."""
    if own := shutil.which(BUBBLEWRAP):
        return [own]
    if (fetched := tools_recipe().place).exists():
        return by_loader(fetched, fetched / BUBBLEWRAP)
    problem = "bubblewrap, which makes the sandbox of a guest, is not here."
    raise TcplabError(problem, "Fetch it: ./tcplab image build, or install the package bubblewrap.")


def sealed(workshop: Workshop, *tools: str) -> Workshop:
    """Return the workshop for commands that need these tools of the machine. Raises TcplabError."""
    install_missing(tools)
    if not shutil.which(BUBBLEWRAP):
        cache.ready(tools_recipe(), workshop.report)
    return replace(workshop, bubblewrap=tuple(bubblewrap_command()))


def by_loader(libraries: Path, program: Path) -> list[str]:
    """Return the command that starts a program with the C library of a folder (ld.so(8))."""
    loader = [str(libraries / LOADER), "--inhibit-cache", "--library-path", str(libraries)]
    return [*loader, str(program)]
