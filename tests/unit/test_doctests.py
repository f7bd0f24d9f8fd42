"""Examples in the docstrings of the product give the results that they state."""

import doctest
from importlib import import_module
from pathlib import Path

import pytest

from testbed.host import PACKAGES

ROOT = Path(__file__).resolve().parents[2]


def modules() -> list[str]:
    """List the modules that have examples."""
    files = (file for package in PACKAGES for file in sorted((ROOT / package).rglob("*.py")))
    return [
        ".".join(file.relative_to(ROOT).with_suffix("").parts)
        for file in files
        if ">>> " in file.read_text(encoding="utf-8")
    ]


def test_there_are_examples() -> None:
    assert len(modules()) >= 5


@pytest.mark.parametrize("name", modules())
def test_examples_give_what_they_state(name: str) -> None:
    result = doctest.testmod(import_module(name))
    assert result.attempted and not result.failed
