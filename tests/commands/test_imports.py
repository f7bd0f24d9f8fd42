"""Imports point one way, and what travels into a guest needs nothing but Mininet."""

import ast
import sys
from pathlib import Path

import pytest

from experiments.study.catalogue import catalogue

ROOT = Path(__file__).resolve().parents[2]
ALLOWED = {
    "topologies": set(),
    "testbed": {"topologies"},
    "experiments": {"testbed", "analysis", "topologies"},
    "analysis": {"testbed", "topologies"},
    "labs": {"experiments", "testbed", "analysis", "topologies"},
}
OURS = {package for package in ALLOWED if (ROOT / package).is_dir()}
TRAVELLING = [
    "topologies",
    "testbed/guest",
    "experiments/flows",
    *sorted(f"experiments/{file.name}" for file in (ROOT / "experiments").glob("[!_]*.py")),
]

MEASURING = ("study", "sweep", "play", "documentation", "reporting", "programs")
"""Folders of experiments that compare or show what was measured."""


def imported(file: Path) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: relative import"
            names.add(node.module or "")
    return names


def files(*places: str) -> list[Path]:
    paths = [ROOT / place for place in places]
    return [
        file for path in paths for file in (sorted(path.rglob("*.py")) if path.is_dir() else [path])
    ]


@pytest.mark.parametrize("package", sorted(OURS))
def test_a_package_imports_only_what_is_below_it(package: str) -> None:
    for file in files(package):
        ours = {name.split(".")[0] for name in imported(file)} & OURS
        assert ours <= ALLOWED[package] | {package}, (
            f"{file.relative_to(ROOT)} imports {sorted(ours)}"
        )


def test_the_analysis_needs_of_the_testbed_only_the_engine_and_optional_libraries() -> None:
    names = {name for file in files("analysis") for name in imported(file)}
    allowed = {"testbed.builds.engine", "testbed.lab.libraries"}
    assert {name for name in names if name.startswith("testbed")} == allowed


def test_a_single_run_does_not_know_the_analysis() -> None:
    """Its report is made by a process of its own, so that it reads the run as anyone's."""
    studies = {named.name for named in catalogue()}
    for file in files("experiments"):
        if any(name.split(".")[0] == "analysis" for name in imported(file)):
            part_of_study = file.parent.name in studies and file.name != "__init__.py"
            assert part_of_study or file.parent.name in MEASURING, file


def test_the_analysis_names_no_study() -> None:
    naming = [
        file.relative_to(ROOT).as_posix()
        for file in files("analysis")
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and node.value.startswith("experiments")
    ]
    assert naming == []


def test_only_code_beside_the_network_imports_mininet() -> None:
    for file in files(*sorted(OURS)):
        if any(name.split(".")[0] == "mininet" for name in imported(file)):
            assert file.is_relative_to(ROOT / "testbed" / "guest"), file


@pytest.mark.parametrize("place", TRAVELLING)
def test_what_travels_into_the_guest_needs_the_standard_library_and_mininet_only(place) -> None:
    for file in files(place):
        foreign = (
            {name.split(".")[0] for name in imported(file)} - set(sys.stdlib_module_names) - OURS
        )
        assert foreign <= {"mininet"}, f"{file.relative_to(ROOT)} imports {sorted(foreign)}"
        inner = {name for name in imported(file) if name.startswith("testbed")}
        assert all(name.startswith("testbed.guest") for name in inner), (
            f"{file.relative_to(ROOT)}: {sorted(inner)}"
        )
