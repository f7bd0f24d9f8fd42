"""The guest's image, fetched in the background while libraries are installed.

The standard library only. A failure is left to the command that needs the image: it tries again
and says why.
"""

from __future__ import annotations

import subprocess
from collections.abc import Sequence

from testbed.builds import cache
from testbed.builds.building import BuildReport
from testbed.host.naming import command
from testbed.lab.parts import parts

_WANTED_BY = ("exec", "play", "reproduce", "run", "sweep", "test")
_LOOKS = {"-h", "--help", "--list", "--dry-run", "native", "--testbed=native"}


def is_wanted_by(words: Sequence[str]) -> bool:
    """Check for a command line whose first start needs the lab."""
    return bool(words) and words[0] in _WANTED_BY and not _LOOKS & {*words}


def begin() -> None:
    """Start to make the image if it is absent."""
    if not cache.manifest_of(parts()[-1]):
        quiet = subprocess.DEVNULL
        subprocess.Popen(command("testbed.lab.ahead"), stdin=quiet, stdout=quiet, stderr=quiet)


if __name__ == "__main__":
    cache.ready(parts()[-1], BuildReport())
