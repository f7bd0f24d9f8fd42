"""A packetdrill script as an answer: read, and refused if it could look at more than packets.

What a script claims of TCP is tested on kernels that do otherwise. A shell command or Python could
ask which kernel it is, or change it, so an answer has packets and system calls only.
"""

from __future__ import annotations

import re
from pathlib import Path

from testbed.packetdrill.script_files import SUFFIX, Script
from topologies import untrusted
from topologies.errors import UsageError

_NAME = re.compile(rf"[A-Za-z0-9_][A-Za-z0-9_.-]{{0,79}}{re.escape(SUFFIX)}")
_LONGEST = 64 << 10  # bytes
_OTHER_THAN_PACKETS = {
    "`": "shell commands",
    "%{": "Python",
    "init_scripts": "other scripts",
}


def handed_in_script(folder: Path, name: str) -> Script:
    """The script of that name in a student's folder. Raises UsageError with what is wrong."""
    if not _NAME.fullmatch(name):
        raise UsageError(f"'{name[:60]}' is no name of a script.", f"Such names end in {SUFFIX}.")
    try:
        text = untrusted.text(folder, name, _LONGEST)
    except FileNotFoundError:
        raise UsageError(f"There is no file '{name}'.", "Put it beside the answers.") from None
    except (OSError, untrusted.StrangeFile):
        raise UsageError(
            f"'{name}' is no file of up to {_LONGEST >> 10} KiB.", "Hand in a script."
        ) from None
    if "\0" in text or not text.strip():
        raise UsageError(f"'{name}' is no text, or is empty.", "Hand in a script.")
    for sign, what in _OTHER_THAN_PACKETS.items():
        if sign in text:
            raise UsageError(
                f"'{name}' has {what} in it ({sign}).", "Packets and system calls say it all."
            )
    return Script(name, text, {})
