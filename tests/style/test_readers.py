"""What a guest or a hand-in left is opened by topologies.untrusted only."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from experiments.study.catalogue import catalogue

ROOT = Path(__file__).resolve().parents[2]
PLACES = (
    "analysis",
    "labs",
    "testbed/virtual/guest.py",
    "testbed/virtual/processes.py",
    "testbed/modules/crash.py",
    "testbed/modules/crash.py",
    "testbed/host/supervise.py",
    "testbed/virtual/guest.py",
    "experiments/cli/cc.py",
    "experiments/run/seed.py",
    "experiments/run/store.py",
    "experiments/sweep/point.py",
    *(f"experiments/{named.name}" for named in catalogue()),
    "experiments/sweep/point.py",
)
OPENING = ("open", "read_text", "read_bytes", "copyfile", "copytree", "fdopen")
OTHER_FILES = {
    "analysis/analyze/live.py": "a capture that is named on the command line",
    "analysis/flows/columns.py": "the package's own tables",
    "analysis/flows/reader.py": "a pipe that is named on the command line",
    "analysis/measures/metrics.py": "the package's own list of counters",
    "analysis/reporting/tables.py": "a study's own table",
    "analysis/reporting/studies.py": "templates of the package and its studies",
    "analysis/rendering/__init__.py": "files that are written",
    "labs/definition/catalogue.py": "the package's own labs",
    "labs/instructor/lint.py": "the package's own texts",
    "labs/definition/assignment.py": "a student's assignment, the instructor's course and variants",
    "labs/student/hand_in.py": "a student's own runs",
    "labs/definition/runs.py": "the package's own module",
    "labs/grading/archives.py": "members of an archive that is open, and what is written",
    "labs/grading/exports.py": "Gradescope's own metadata",
    "labs/grading/log.py": "what grading wrote",
    "labs/grading/tables.py": "the instructor's worksheet, gradebook and class",
    "labs/grading/decisions.py": "the instructor's decisions",
    "testbed/modules/crash.py": "a module, and lines of a kernel, that were made here",
    "testbed/virtual/processes.py": "a file of this kernel's",
    "experiments/own_transport/stop_and_wait_": "what the program itself sends and gets",
    "experiments/own_transport/fixed_window_": "what the program itself sends and gets",
    "testbed/virtual/guest.py": "the console, which is made here",
}


def openings(file: Path) -> Iterator[str]:
    """Each call that opens a file, but those of the reader itself."""
    for node in ast.walk(ast.parse(file.read_text())):
        if not isinstance(node, ast.Call):
            continue
        function = node.func
        if isinstance(function, ast.Name) and function.id in OPENING:
            yield f"{function.id} in line {node.lineno}"
        elif isinstance(function, ast.Attribute) and function.attr in OPENING:
            yield f"{ast.unparse(function)} in line {node.lineno}"


def test_there_is_one_reader_of_what_strangers_left() -> None:
    found = {}
    for place in PLACES:
        path = ROOT / place
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            if "target" in file.parts:  # sources of crates
                continue
            if calls := list(openings(file)):
                found[file.relative_to(ROOT).as_posix()] = calls
    excused = {name for name in found if any(name.startswith(other) for other in OTHER_FILES)}
    assert {name: calls for name, calls in found.items() if name not in excused} == {}
    unused = [other for other in OTHER_FILES if not any(name.startswith(other) for name in excused)]
    assert unused == []
