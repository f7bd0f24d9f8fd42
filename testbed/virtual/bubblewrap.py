"""Which bubblewrap makes a guest's sandbox: this machine's own, or else what a release brought.

The machine's own comes first, because a distribution that keeps ordinary users from namespaces lets
its own program make them.
"""

from __future__ import annotations

import shutil

from testbed.lab.bubblewrap.bubblewrap_recipe import PROGRAM, bubblewrap_recipe, command_with
from topologies.errors import TcplabError


def bubblewrap() -> list[str]:
    """The words that start it. Raises TcplabError if there is none."""
    if own := shutil.which(PROGRAM):
        return [own]
    if (brought := bubblewrap_recipe().place).exists():
        return command_with(brought)
    raise TcplabError(
        "bubblewrap, which makes the sandbox of a guest, is not installed.",
        "Install the package bubblewrap, or take a release, which brings it.",
    )
