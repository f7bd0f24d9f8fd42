"""Folders depend one way, names of classes occur once, and imports can be rewritten for a wheel."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import tcplab
from testbed.host import HOME, PACKAGES, as_in_checkout, as_installed

ROOT = Path(__file__).resolve().parents[2]


@cache
def modules() -> dict[str, ast.Module]:
    """Every module of the product, by its dotted name."""
    files = (file for package in PACKAGES for file in sorted((ROOT / package).rglob("*.py")))
    return {
        ".".join(file.relative_to(ROOT).with_suffix("").parts): ast.parse(file.read_text())
        for file in files
    }


def twice(places: dict[str, list[str]]) -> dict[str, list[str]]:
    return {name: where for name, where in places.items() if len(where) > 1}


def test_no_class_has_the_name_of_another() -> None:
    places = defaultdict(list)
    for name, tree in modules().items():
        for node in tree.body:
            if isinstance(node, ast.ClassDef):
                places[node.name].append(name)
    assert twice(places) == {}


def imported(tree: ast.Module) -> Iterator[str]:
    """The modules of the product that a module imports, wherever it does."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                yield whole if {whole, f"{whole}.__init__"} & modules().keys() else node.module


def folder_of(module: str) -> str:
    """The folder of a module; a package's __init__ is in the package's own."""
    return module if f"{module}.__init__" in modules() else module.rpartition(".")[0]


def folders() -> dict[str, set[str]]:
    """What each folder imports of others.

    A __main__ is an entry point, which nothing imports. A folder and those in it are one unit here:
    test_no_modules_import_each_other looks inside.
    """
    edges = defaultdict(set)
    for name, tree in modules().items():
        own, _, last = name.rpartition(".")
        for module in imported(tree) if last != "__main__" else ():
            other = folder_of(module)
            nested = f"{own}.".startswith(f"{other}.") or f"{other}.".startswith(f"{own}.")
            if module.partition(".")[0] in PACKAGES and not nested:
                edges[own].add(other)
    return edges


def test_no_two_folders_import_each_other() -> None:
    edges = folders()
    both = {
        frozenset((first, second))
        for first, seconds in edges.items()
        for second in seconds
        if first in edges.get(second, ())
    }
    assert sorted(map(sorted, both)) == []


def test_no_modules_import_each_other() -> None:
    edges = {
        (own := name.removesuffix(".__init__")): {*imported(tree)} - {own}
        for name, tree in modules().items()
    }
    try:
        [*TopologicalSorter(edges).static_order()]
    except CycleError as error:
        pytest.fail(" imports ".join(reversed(error.args[1])))


@pytest.mark.parametrize("package", PACKAGES)
def test_imports_are_of_the_forms_that_a_wheel_can_rewrite(package: str) -> None:
    for name, tree in modules().items():
        if name.partition(".")[0] != package:
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Import) and _ours(node.names):
                dotted = "." in node.names[0].name and not node.names[0].asname
                assert len(node.names) == 1 and not dotted, f"{name}, line {node.lineno}"
            if isinstance(node, ast.ImportFrom):
                assert node.level == 0, f"{name}, line {node.lineno}: a relative import"


def _ours(names: list[ast.alias]) -> bool:
    return any(alias.name.partition(".")[0] in PACKAGES for alias in names)


@pytest.mark.parametrize("file", [f"{HOME}.py", *PACKAGES])
def test_a_wheel_imports_below_its_own_name_and_the_way_back_is_exact(file: str) -> None:
    place = ROOT / file
    for path in sorted(place.rglob("*.py")) if place.is_dir() else [place]:
        source = path.read_text()
        moved = as_installed(source)
        assert as_in_checkout(moved.encode()) == as_in_checkout(source.encode()) == source.encode()
        for node in ast.walk(ast.parse(moved)):
            if isinstance(node, ast.Import):
                assert not _ours(node.names), f"{path}, line {node.lineno}"
            if isinstance(node, ast.ImportFrom):
                assert (node.module or "").partition(".")[0] not in PACKAGES, path


_BEGINNING = re.compile(rf"(?:{'|'.join(PACKAGES)})\.[\w.]*")
NAMED = {
    "experiments.run.seed": "what runs in a guest has the names of a checkout there",
    "experiments.programs.start": "the same",
    "testbed.guest.typed_shell": "the same",
    "testbed.packetdrill.__init__": "the same",
    "testbed.virtual.run": "the same",
    "experiments.sweep.point": "fingerprints are of files by the names of a checkout",
    "labs.measuring.references": "the same",
    "experiments.run.report": "a program, which `command` names with the prefix",
    "testbed.host.__init__": "its own, from which the prefix follows",
    "testbed.lab.environment": "a program, as the report",
    "experiments.cli.machine": "the same",
}


def test_no_module_is_named_in_a_string() -> None:
    """A name in a string would not be found in an installed copy; one behind a prefix is.

    testbed.host.job_archive follows what is behind a prefix too.
    """
    named = defaultdict(list)
    for name, tree in modules().items():
        for text, goes_on in texts(tree):
            if is_module(text) or (goes_on and _BEGINNING.fullmatch(text)):
                named[name].append(text)
    assert {*named} == {*NAMED}, dict(named)


def texts(tree: ast.Module) -> Iterator[tuple[str, bool]]:
    """Each text of a module, and whether an f-string goes on with a value behind it."""
    formatted = [node.values for node in ast.walk(tree) if isinstance(node, ast.JoinedStr)]
    beginnings = {id(parts[0]) for parts in formatted if parts}
    later = {id(part) for parts in formatted for part in parts[1:]}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in later:
            yield node.value, id(node) in beginnings


def is_module(name: str) -> bool:
    dotted = "." in name
    return dotted and (name in modules() or f"{name}.__init__" in modules())


def test_tcplab_loads_nothing_before_it_is_asked() -> None:
    code = "import sys, tcplab; print({'polars', 'click', 'numpy', 'analysis'} & {*sys.modules})"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout == "set()\n"


def test_a_run_loads_no_frames_and_no_pictures() -> None:
    """The analysis is a process of its own, which a processor may be too old for."""
    code = (
        "import sys, experiments.cli.run;"
        " from experiments.study.catalogue import catalogue; list(catalogue());"
        " print({'polars', 'numpy', 'matplotlib', 'distributed'} & {*sys.modules})"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout == "set()\n"


@pytest.mark.parametrize("name", dir(tcplab))
def test_everything_that_tcplab_promises_is_there(name: str) -> None:
    assert getattr(tcplab, name) is not None
    is_module = isinstance(getattr(tcplab, name), type(tcplab))
    assert is_module == (name in {"lab", "plugin", "testing"})


def test_what_tcplab_does_not_have_is_said() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = tcplab.nothing
