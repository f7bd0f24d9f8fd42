"""The key of a point has every file in it whose change can change what is measured."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from experiments.definition.catalogue import find
from experiments.definition.grid import combinations as grid_of
from experiments.sweep.point import _CAPTURES, _MEASURING, origin
from tests.unit.made_sweeps import LAB

ROOT = Path(__file__).parents[2]
ANALYSIS = ROOT / "analysis"


def listed(patterns: tuple[str, ...]) -> set[Path]:
    return {file for pattern in patterns for file in ANALYSIS.glob(pattern)}


def file_of(module: str) -> Path | None:
    path = ROOT.joinpath(*module.split("."))
    return next(
        (file for file in (path.with_suffix(".py"), path / "__init__.py") if file.is_file()), None
    )


def imported(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("analysis"):
            yield node.module or ""
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def test_every_pattern_names_a_file() -> None:
    for pattern in (*_CAPTURES, *_MEASURING):
        assert listed((pattern,)), pattern


def test_what_measuring_needs_is_in_the_key() -> None:
    needed, waiting = set[Path](), ["analysis.measures.trial_measures"]
    for file in (ROOT / "experiments").glob("*/statistics_file.py"):
        waiting += imported(file)
    while waiting:
        file = file_of(waiting.pop())
        if file and file not in needed and file != ANALYSIS / "__init__.py":
            needed.add(file)
            waiting += imported(file)
    assert len(needed) > 15
    assert needed <= listed(_CAPTURES) | listed(_MEASURING)


def test_the_code_of_a_studys_own_files_is_in_its_keys_only(monkeypatch: Any) -> None:
    (lossy,), (plain,) = (grid_of(find(name), []) for name in ("sack_loss_sweep", "sack"))
    source = origin(LAB)
    before = [source.point(combination, 1).key for combination in (lossy, plain)]
    monkeypatch.setattr("experiments.sweep.point._statistics_digest", lambda _: ())
    after = [source.point(combination, 1).key for combination in (lossy, plain)]
    assert (before[0] == after[0], before[1] == after[1]) == (False, True)
