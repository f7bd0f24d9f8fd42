"""What was compiled of a user's own kernel last, so that the next one compiles only what differs.

make(1) decides by times which objects are still good. So a file that is as it was keeps its time,
one that differs is of now, and the objects are laid beside them: the kernel's own makefiles do the
rest, and the kernel has the same bytes as if all of it were compiled. The lab's own versions are
always built whole.

The standard library only: the launcher asks for kernels before anything is installed.
"""

from __future__ import annotations

import filecmp
import json
import os
import re
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import time_ns
from typing import Any

from testbed.lab.kernel.kernel_choice import KernelChoice
from testbed.lab.kernel.kernel_recipe import BUILD_SPACE, build_kernel, compiler
from testbed.lab.kernel.own_source import paths_below
from testbed.recipes import cache
from testbed.recipes.building import Workshop
from testbed.recipes.cache import Facts
from topologies.foundation.errors import TcplabError

_LISTED = ".tcplab-sources"
"""In a kept tree: what compiled it and the paths of its sources, as JSON."""


def kept_tree() -> Path:
    """Where the tree of the kernel of one's own is that was built last: about 2 GB."""
    return cache.folder() / "kept-objects"


def build_from_kept(workshop: Workshop, choice: KernelChoice) -> Facts:
    """Build the kernel as kernel_recipe does, and keep its tree, also if it does not compile.

    Raises TcplabError, CommandError. If anything else ends it an object may be half written, so
    nothing is kept.
    """
    tree, made_with = workshop.folder / "tree", f"{choice.series} {compiler()}"
    resumed = _ResumedWorkshop(
        workshop.folder,
        workshop.log,
        workshop.report,
        lambda: take_over(tree, made_with),
        lambda: drop_stale_marks(tree),
    )
    try:
        facts = build_kernel(resumed, choice, None)
    except TcplabError:
        _keep(tree)
        raise
    _keep(tree)
    return facts


@dataclass(frozen=True)
class _ResumedWorkshop(Workshop):
    """A workshop that calls `when_patched` when all sources are there, and nothing is made yet.

    And `when_compiled` before what modules need of the tree is kept.
    """

    when_patched: Callable[[], None]
    when_compiled: Callable[[], None]

    def run(self, text: str, command: Sequence[str], **options: Any) -> str:
        if command[-1] == "allnoconfig":
            self.report.step("Comparing with what was compiled last")
            self.when_patched()
        if command[-1] == "modules_prepare":
            self.when_compiled()
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
    """Sources that are as they were get their time back; others are of now."""
    for name in names:
        if (tree / name).is_symlink():
            continue
        same = (kept / name).is_file() and filecmp.cmp(kept / name, tree / name, shallow=False)
        moment = (kept / name).stat().st_mtime_ns if same else time_ns()
        os.utime(tree / name, ns=(moment, moment))


def _move(kept: Path, tree: Path, without: set[str]) -> None:
    """All that was made of the sources, and not what was a source itself."""
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
    """Keep the tree if it was compiled, and if another build has room beside it."""
    if (tree / _LISTED).exists() and shutil.disk_usage(tree).free > BUILD_SPACE:
        os.replace(tree, kept_tree())
