"""The entries that come with the code: written from the cache, and built again to compare them."""

from __future__ import annotations

from testbed.lab.image.recipe import patient_recipe
from testbed.lab.kernel.built import init_part, kernel_part
from testbed.recipes import cache, prebuilt
from testbed.recipes.building import BuildReport
from testbed.recipes.cache import Recipe
from testbed.recipes.engine import engine_recipe


def recipes() -> list[Recipe]:
    """Return the recipes whose entries come with the code."""
    return [kernel_part(), init_part(), patient_recipe(), engine_recipe(released=True)]


def write(report: BuildReport) -> list[Recipe]:
    """Write the entries whose recipes changed; return these. Raises TcplabError, CommandError."""
    changed = [recipe for recipe in recipes() if not prebuilt.manifest_of(recipe.name, recipe.key)]
    for recipe in changed:
        # The engine in the cache is compiled for speed of compilation.
        entry = cache.ready(recipe, report, rebuild=recipe.name == "engine")
        prebuilt.pack(recipe.name, recipe.outputs, entry.folder)
    return changed


def differing(report: BuildReport) -> dict[str, list[str]]:
    """Build each entry again; return its files that differ. Raises TcplabError, CommandError."""
    return {recipe.name: cache.differences(recipe, report) for recipe in recipes()}
