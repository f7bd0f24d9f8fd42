"""JSON and TOML as values: all text in either is parsed here.

Python's parsers also raise RecursionError, and ValueError for numbers with too many digits.
"""

import json
from math import isfinite
from pathlib import Path
from typing import Any

from topologies import untrusted

_DEEP = "it is nested too deeply"
_DIGITS = "a whole number in it has more than 4,300 digits"


def json_value(text: str | bytes) -> Any:
    """Return the value of JSON; a number with too many digits is infinite. Raises ValueError."""
    try:
        return json.loads(text)
    except (json.JSONDecodeError, UnicodeDecodeError):
        raise
    except RecursionError:
        raise ValueError(_DEEP) from None
    except ValueError:
        return json.loads(text, parse_int=_whole)


def _whole(digits: str) -> float:
    try:
        return int(digits)
    except ValueError:
        return float(digits)


UNENDED = "null stands for the infinite time of what did not end."


def json_document(document: dict[str, Any]) -> str:
    """Return the text of a document, with null for infinity, which JSON lacks, and a word on it."""
    try:
        return json.dumps(document, indent=1, allow_nan=False)
    except ValueError:
        return json.dumps(_finite(document) | {"note": UNENDED}, indent=1)


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _finite(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(part) for part in value]
    return None if isinstance(value, float) and not isfinite(value) else value


def toml_table(text: str) -> dict[str, Any]:
    """Return the table of a TOML text. Raises ValueError for text that is no TOML."""
    import tomllib  # late: no guest needs it

    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError(_DEEP) from None
    except ValueError as error:
        if isinstance(error, tomllib.TOMLDecodeError) or "digits" not in str(error):
            raise
        raise ValueError(_DIGITS) from None


def toml_file(file: Path) -> dict[str, Any]:
    """Return the table of a TOML file in UTF-8. Raises OSError, ValueError."""
    try:
        with untrusted.named(file) as opened:
            return toml_table(opened.read().decode("utf-8-sig"))
    except untrusted.StrangeFile as error:
        raise ValueError(error.reason) from None
    except UnicodeDecodeError:
        raise ValueError("it is not UTF-8 text") from None
