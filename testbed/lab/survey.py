"""Packages that this machine lacks, for the tests and for native runs.

The launcher and provision.sh start it: `python3 -m testbed.lab.survey native` prints the missing
packages, one in a line; `test` installs what tests need, if the user agrees.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from contextlib import suppress

from testbed.host import packages
from testbed.host.packages import KINDS, VIRTUAL, install_missing, of_tools, present
from testbed.lab.bubblewrap.recipe import bubblewrap_recipe
from testbed.lab.image.recipe import patient_recipe
from testbed.lab.parts import parts
from testbed.recipes.cache import Recipe, manifest_of
from topologies.foundation.errors import TcplabError

_BUILDING = {"kernel": packages.KERNEL, "init": packages.COMPILER, "image": packages.IMAGE}


def missing(kind: str) -> list[str]:
    """Return the packages that a kind of command needs and that are not installed."""
    return of_tools(tool for tool in KINDS[kind] if not present(tool))


def tools_for(recipes: Iterable[Recipe]) -> list[str]:
    """Return the tools that guests need, and those that build the absent parts of a lab."""
    absent = [_BUILDING[recipe.name] for recipe in recipes if not manifest_of(recipe)]
    if packages.IMAGE in absent and not manifest_of(patient_recipe()):
        absent.append(packages.COMPILER)
    brought = bubblewrap_recipe().place.exists() and not absent
    return [tool for table in ({} if brought else VIRTUAL, *absent) for tool in table]


def require_for_tests() -> None:
    """Install what the tests need, and for root, who tests submissions, what more of them need."""
    install_missing([*KINDS["test"], *tools_for(parts())])
    if os.environ.get(packages.YES) and os.geteuid() == 0:
        for tool in packages.MORE_TESTS:
            with suppress(TcplabError):  # such tests are skipped, with that reason
                install_missing([tool])


def main(kind: str) -> None:
    """Print the missing packages, or install those of tests."""
    try:
        if kind == "test":
            require_for_tests()
        else:
            print("".join(f"{package}\n" for package in missing(kind)), end="")
    except TcplabError as error:
        sys.exit(f"Error: {error}")


if __name__ == "__main__":
    main(sys.argv[1])
