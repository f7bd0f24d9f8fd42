"""A packetdrill script as an answer: read, and refused if it could look at more than packets.

What a script claims of TCP is tested on kernels that do otherwise. A shell command, Python or a
file could reveal which kernel it is, so an answer has packets and calls of its sockets only.
"""

from __future__ import annotations

import re
from pathlib import Path

from labs.definition.script_statements import check_statements
from testbed.packetdrill.script_files import SUFFIX, Script
from topologies.foundation import untrusted
from topologies.foundation.errors import UsageError

_NAME = re.compile(rf"[A-Za-z0-9_][A-Za-z0-9_.-]{{0,79}}{re.escape(SUFFIX)}")
_LONGEST = 64 << 10  # bytes


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
    script = Script(name, f"{text}\n", {})  # packetdrill reads no // comment without its end
    check_statements(script)
    return script
