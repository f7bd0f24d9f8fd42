"""The two programs around the lab kernel: the first process in it, and `confine` before it."""

from __future__ import annotations

import shutil

from testbed.lab.kernel.kernel_version import HERE
from testbed.recipes.building import Workshop, need_tools
from testbed.recipes.cache import Facts, Recipe

PROGRAMS = {
    "init": ("init.c",),
    "confine": ("confine.c", "confine_filter.c", "supervisor.c", "places.c"),
}
"""Each program and its sources."""
_HEADERS = ("confine.h",)
_FLAGS = ("-O2", "-Wall", "-Wextra", "-static", "-s", "-Wl,--build-id=none")


def init_recipe() -> Recipe:
    """The recipe for both programs. They are linked statically: they run without a C library."""
    names = [*_HEADERS, *(name for names in PROGRAMS.values() for name in names)]
    return Recipe("init", tuple(HERE / name for name in names), tuple(PROGRAMS), build_init)


def build_init(workshop: Workshop) -> Facts:
    """Leave both programs in the workshop. Raises TcplabError, CommandError."""
    need_tools(("bwrap", "gcc"))
    for source in init_recipe().sources:
        shutil.copy(source, workshop.folder)
    for program, sources in PROGRAMS.items():
        command = ["gcc", *_FLAGS, "-o", program, *sources]
        workshop.run(f"Compiling the guest's {program}", command)
    return {}
