"""The recipes of what a lab is made of: kernel, first process, image.

The standard library only: the launcher asks for these before anything is installed.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from testbed.lab.image.image_recipe import IMAGE, image_recipe
from testbed.lab.kernel.kernel_choice import LAB_KERNEL, KernelChoice
from testbed.lab.kernel.kernel_parts import init_part, kernel_part, toolchain
from testbed.lab.kernel.module_tree import MODULE_TREE
from testbed.recipes.cache import MANIFEST, Recipe

_FILES = {
    "kernel": "linux",
    "init": "init",
    "image": IMAGE,
    "confine": "confine",
    "modules": MODULE_TREE,
}


def parts(kernel: KernelChoice = LAB_KERNEL, source: Path | None = None) -> list[Recipe]:
    """Kernel, init and image, in this order; `source` is a tarball to build the kernel from."""
    return [kernel_part(kernel, source), init_part(), replace(image_recipe(), tools=toolchain)]


def digests_of_parts(files: Mapping[str, str]) -> dict[str, str]:
    """The SHA-256 of what decides a run, by its name in `Lab.digests`, from those of all files."""
    return {name: files[file] for name, file in _FILES.items()}


def stated_digests(places: Iterable[Path]) -> dict[str, str]:
    """The same as the manifests of the entries state it, whose files are not read."""
    manifests = (json.loads((place / MANIFEST).read_bytes()) for place in places)
    listed = {name: row["sha256"] for stated in manifests for name, row in stated["files"].items()}
    return digests_of_parts(listed)
