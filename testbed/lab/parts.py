"""The recipes of what a lab is made of: kernel, first process, image.

The standard library only: the launcher asks for these before anything is installed.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from testbed.lab.image.image_recipe import image_recipe
from testbed.lab.kernel.kernel_choice import LAB_KERNEL, KernelChoice
from testbed.lab.kernel.kernel_parts import init_part, kernel_part, toolchain
from testbed.recipes.cache import Recipe


def parts(kernel: KernelChoice = LAB_KERNEL, source: Path | None = None) -> list[Recipe]:
    """Kernel, init and image, in this order; `source` is a tarball to build the kernel from."""
    return [kernel_part(kernel, source), init_part(), replace(image_recipe(), tools=toolchain)]
