"""A study is one folder: it stands on the shared parts alone, and nothing else knows its name."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from experiments.study.catalogue import catalogue
from experiments.study.published import targets_of

ROOT = Path(__file__).resolve().parents[2]
NAMES = [named.name for named in catalogue()]
UNPUBLISHED = ("playground", "own_transport", "home_uplink")  # of the live page and of labs
PACKAGES = ("topologies", "testbed", "analysis", "experiments")
NOT_FOR_STUDIES = ("analysis.pages", "analysis.analyze")
SHARED = ("experiments.spec", "experiments.study", "experiments.study.published")
OTHER_MEANINGS = {
    "analysis/measures/flow_readings.py": "reordering: a field of ss",
    "experiments/flows/proof.py": "sack: a word of tcpdump",
    "experiments/flows/link_proof.py": "reordering: expected of a path",
    "analysis/graphs/layers.py": "sack: a series of a graph",
    "analysis/graphs/timelines.py": "sack: a series of a graph",
    "analysis/flows/columns.py": "sack: a kind of retransmission",
    "analysis/analyze/causes.py": "reordering: a cause",
    "analysis/analyze/facts.py": "sack: a kind of retransmission",
    "testbed/guest/socket_sampling.py": "sack, reordering: fields of ss",
    "topologies/disciplines/managed.py": "pacing: a parameter of fq, which tc reads back",
}


def imported(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""


def inside(module: str, *packages: str) -> bool:
    return any(module == package or module.startswith(f"{package}.") for package in packages)


@pytest.mark.parametrize("study", NAMES)
def test_a_study_imports_shared_parts_and_its_own_folder_only(study: str) -> None:
    folder = ROOT / "experiments" / study
    for file in sorted(folder.glob("*.py")):
        allowed = (*SHARED, f"experiments.{study}")
        for module in imported(file):
            assert not inside(module, *NOT_FOR_STUDIES, "labs"), f"{file} imports {module}"
            assert not inside(module, "experiments") or inside(module, *allowed), (
                f"{file} imports {module}"
            )


@pytest.mark.parametrize("study", [name for name in NAMES if name not in UNPUBLISHED])
def test_a_study_is_a_folder_that_says_what_was_found(study: str) -> None:
    folder = ROOT / "experiments" / study
    parts = {file.name for file in folder.iterdir()}
    assert {"__init__.py", "README.md"} <= parts
    assert parts & {"published.csv", "law.toml"}
    assert "published.csv" not in parts or targets_of(study, quick=True)
    assert not targets_of(study, quick=True) or parts & {"published.csv", "law.toml"}
    assert f"experiments/{study}/README.md" in (ROOT / "docs/studies/index.md").read_text()


def test_nothing_but_its_own_folder_has_a_studys_name_as_a_word() -> None:
    """The names of some are words of TCP too: the files in which they are say so above."""
    having: dict[str, set[str]] = {}
    for file in (file for package in PACKAGES for file in (ROOT / package).rglob("*.py")):
        own = file.relative_to(ROOT).parts[1] if file.is_relative_to(ROOT / "experiments") else ""
        constants = (
            node.value
            for node in ast.walk(ast.parse(file.read_text()))
            if isinstance(node, ast.Constant) and isinstance(node.value, str)
        )
        if words := {word for word in constants if word in NAMES} if own not in NAMES else set():
            having[file.relative_to(ROOT).as_posix()] = words
    assert {name: words for name, words in having.items() if name not in OTHER_MEANINGS} == {}
    assert {*OTHER_MEANINGS} - {*having} == set()
    assert set().union(*having.values()) <= {"pacing", "sack", "reordering"}
