"""A folder with the programs of a minimal Debian that ./tcplab uses."""

import shutil
from pathlib import Path

_PROGRAMS = ("cat", "cp", "dirname", "head", "mkdir", "readlink", "sh", "sha256sum")


def link_programs(folder: Path) -> None:
    """Make `folder`, which can be a whole PATH without cargo, apt and sudo."""
    folder.mkdir()
    for name in _PROGRAMS:
        program = shutil.which(name)
        assert program, name
        (folder / name).symlink_to(program)
