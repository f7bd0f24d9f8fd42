"""JSON files from a run directory: a file that is absent or broken becomes a problem, not a
traceback.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from analysis.records.problems import Problems, printable
from topologies import untrusted
from topologies.errors import TcplabError, UsageError

Object = dict[str, Any]

_GREATEST = 1e300
"""JSON knows no limit, and Python's reader takes NaN and Infinity too; nothing that is measured
comes near.
"""


def read_object(path: Path, problems: Problems, name: str, most: int = untrusted.MOST) -> Object:
    """The JSON object in `path`, or an empty one after noting under `name` why there is none.

    A file of more than `most` bytes has none.
    """
    try:
        content = json.loads(untrusted.text(path.parent, path.name, most))
    except FileNotFoundError:
        problems.add(f"{name} is missing: what it would have told is left out.")
        return {}
    except (OSError, untrusted.StrangeFile) as error:
        problems.add(
            f"{name} cannot be read ({why_not(error)}): what it would have told is left out."
        )
        return {}
    except (ValueError, RecursionError) as error:
        problems.add(
            f"{name} is no valid JSON, perhaps cut short ({error}): what it would have told is left"
            " out."
        )
        return {}
    if not isinstance(content, dict):
        problems.add(f"{name} holds no JSON object: what it would have told is left out.")
        return {}
    return content


def why_not(error: OSError | untrusted.StrangeFile) -> str:
    """Why a file cannot be read, in words."""
    return str(error.strerror) if isinstance(error, OSError) else error.reason


def read_main(path: Path, name: str, command: str, newest: int) -> Object:
    """The object in `path/name`, the file that makes a folder what `command` printed.

    Raises UsageError where it is not such a folder, TcplabError where the file is broken or of a
    format above `newest`.
    """
    if not path.is_dir():
        raise UsageError(
            f"There is no folder '{path}'.", f"Name the folder that {command} printed."
        )
    if not (path / name).exists():
        raise UsageError(f"'{path}' has no {name}.", f"Name the folder that {command} printed.")
    broken = Problems()
    facts = read_object(path / name, broken, name)
    if broken.found or not facts:
        reason = broken.found[0].partition(": what")[0] if broken.found else f"{name} is empty"
        raise TcplabError(
            f"{reason}.", f"Run {command} again: finished points are taken from the store."
        )
    found = number(facts, "format")
    if found is not None and found > newest:
        raise TcplabError(
            f"The folder was written in format {found:g}; this tcplab reads formats up to"
            f" {newest}.",
            "Update tcplab (git pull) and try again.",
        )
    return facts


def objects(holder: Object, key: str) -> list[Object]:
    """The objects in the list at `key`; whatever else the list holds is passed over."""
    found = holder.get(key)
    return [entry for entry in found if isinstance(entry, dict)] if isinstance(found, list) else []


def inner(holder: Object, key: str) -> Object:
    """The object at `key`, or an empty one."""
    found = holder.get(key)
    return found if isinstance(found, dict) else {}


def texts(holder: Object, key: str) -> tuple[str, ...]:
    """The entries of the list at `key`, each as printable text."""
    found = holder.get(key)
    return tuple(printable(entry) for entry in found) if isinstance(found, list) else ()


def text(holder: Object, key: str, default: str = "") -> str:
    """The printable text at `key`; a number is written out, anything else is the default."""
    found = holder.get(key)
    return printable(found) if isinstance(found, str | int | float) else default


def number(holder: Object, key: str) -> float | None:
    """The finite number at `key`, or None."""
    found = holder.get(key)
    if isinstance(found, bool) or not isinstance(found, int | float):
        return None
    return float(found) if -_GREATEST < found < _GREATEST else None
