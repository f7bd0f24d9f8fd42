"""Kernel and first process as this machine builds them: with the tools that their bytes depend on.

The standard library only: the launcher asks for these before anything is installed.
"""

from __future__ import annotations

import os
from dataclasses import replace
from functools import partial
from pathlib import Path

from testbed.lab.kernel.init_recipe import init_recipe
from testbed.lab.kernel.kept_objects import build_from_kept
from testbed.lab.kernel.kernel_choice import LAB_KERNEL, KernelChoice
from testbed.lab.kernel.kernel_recipe import compiler, kernel_recipe
from testbed.recipes.cache import Recipe


def kernel_part(choice: KernelChoice = LAB_KERNEL, source: Path | None = None) -> Recipe:
    """The recipe of a kernel; `source` is a tarball to build it from.

    The key of any other kernel than the lab's own holds the compiler already: it is never given.
    """
    recipe = kernel_recipe(choice, source)
    if choice.digest:
        return replace(recipe, build=partial(build_from_kept, choice=choice))
    return replace(recipe, tools=toolchain) if choice.is_default else recipe


def init_part() -> Recipe:
    """The recipe of the guest's first process."""
    return replace(init_recipe(), tools=toolchain)


def toolchain() -> str:
    """The compiler and the C library, which is linked into kernel and first process."""
    return f"{compiler()}, {os.confstr('CS_GNU_LIBC_VERSION') or 'another C library'}"
