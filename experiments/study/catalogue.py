"""The catalogue of studies: those in folders of `experiments`, and those of installed packages.

A study is a module, a file or a folder: its docstring begins with its claim, and its function
`experiment` takes one object of parameters and returns the spec. A folder may have a
module `report`. A package registers its studies as entry points:

    [project.entry-points."tcplab.studies"]
    my_study = "my_package.my_study"
"""

import ast
import importlib.util
import os
import typing
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

import experiments
from experiments.spec import ExperimentSpec, claim_of
from testbed.host.job_archive import parsed
from topologies.errors import UsageError
from topologies.plugins import Plugin, additional

GROUP = "tcplab.studies"
T = TypeVar("T")


@dataclass(frozen=True)
class Experiment:
    """A study: its name, its claim (first sentence of the module `file`), and its package."""

    name: str
    claim: str
    file: Path
    plugin: Plugin | None = None

    def parameters(self) -> Any:
        """Return the class that annotates the parameter of `experiment`. Raises UsageError."""
        hints = typing.get_type_hints(self._module().experiment)
        classes = [kind for name, kind in hints.items() if name != "return"]
        if not classes:
            raise UsageError(
                f"experiment() in {self.file} does not say what its parameters are.",
                "Write def experiment(parameters: MyParameters) -> ExperimentSpec.",
            )
        return classes[0]

    def spec(self, parameters: Any) -> ExperimentSpec:
        """Make the spec for these parameters. Raises UsageError if they are impossible together."""
        spec: ExperimentSpec = self._module().experiment(parameters)
        return spec

    def preset(self, word: str) -> dict[str, str]:
        """Return the parameters of its `quick` or `full` form; empty without one."""
        return self._fact(word.upper(), {})

    def grid(self) -> dict[str, tuple[str, ...]]:
        """Return the factors and levels of a study that is a sweep by itself."""
        return self._fact("GRID", {})

    def metric(self) -> str:
        return self._fact("METRIC", "goodput_kbit_s")

    def targets(self) -> tuple[dict[str, Any], ...]:
        """Return the rows of a study whose numbers are those of a law (study.published)."""
        return self._fact("TARGETS", ())

    def loads_modules(self) -> bool:
        return self._fact("LOADS_MODULES", False)

    def _fact(self, name: str, default: T) -> T:
        value: T = getattr(self._module(), name, default)
        return value

    def part(self, name: str) -> ModuleType | None:
        """Import and return a part of the study, such as its report; None if it has none."""
        if self.file.name != "__init__.py":
            return None
        module = f"{self._module().__name__}.{name}"
        return importlib.import_module(module) if importlib.util.find_spec(module) else None

    def _module(self) -> Any:
        if self.plugin:
            return self.plugin.load()
        return importlib.import_module(f"{experiments.__name__}.{self.name}")


@cache
def catalogue() -> tuple[Experiment, ...]:
    """Return all studies, by name, without importing them. Raises UsageError for a broken one."""
    trees = {name: (file, _tree(file)) for name, file in _files().items()}
    studies = {
        name: Experiment(name, claim_of(ast.get_docstring(tree)), file)
        for name, (file, tree) in trees.items()
        if _is_experiment(tree)
    }
    for name, plugin in additional(GROUP, studies).items():
        studies[name] = _from_plugin(name, plugin)
    return tuple(study for _, study in sorted(studies.items()))


def _from_plugin(name: str, plugin: Plugin) -> Experiment:
    try:
        found = importlib.util.find_spec(plugin.entry.module)
    except Exception as error:  # importing the package around the study may raise anything
        raise plugin.broken(f"{type(error).__name__}: {error}") from error
    if plugin.entry.attr or not found or not found.origin or not found.has_location:
        raise plugin.broken(f"{plugin.entry.value} is not a module")
    tree = _tree(Path(found.origin))
    if not _is_experiment(tree):
        raise plugin.broken(f"{found.origin} has no function experiment(parameters)")
    return Experiment(name, claim_of(ast.get_docstring(tree)), Path(found.origin), plugin)


def _tree(file: Path) -> ast.Module:
    try:
        return parsed(file.read_text(encoding="utf-8"))
    except (SyntaxError, ValueError) as error:
        raise UsageError(f"{file} is not Python: {error}", "Fix it, or move it away.") from None


def _files() -> dict[str, Path]:
    """Return the modules of `experiments` by name; the first folder wins, as in imports."""
    files: dict[str, Path] = {}
    for folder in map(Path, experiments.__path__):
        for file in folder.glob("*/__init__.py"):
            files.setdefault(file.parent.name, file)
        for file in folder.glob("*.py"):
            files.setdefault(file.stem, file)
    return files


def find(name: str) -> Experiment:
    """Return the experiment of a name. Raises UsageError with the nearest names, or all."""
    every = {named.name: named for named in catalogue()}
    if name not in every:
        near = get_close_matches(name[:40], every)
        meant = f"Did you mean {' or '.join(near)}?" if near else f"There are: {', '.join(every)}."
        raise UsageError(f"There is no experiment '{name[:40]}'.", meant)
    return every[name]


def known(name: str) -> Experiment | None:
    """Return the study of a name that may be untrusted; None for another."""
    return next((named for named in catalogue() if named.name == name), None)


def add_studies(folders: Sequence[Path]) -> None:
    """Add folders of studies, behind tcplab's, also for processes. Raises UsageError."""
    if not folders:
        return
    for folder in folders:
        if not folder.is_dir():
            remedy = "--studies and TCPLAB_STUDIES name folders that hold studies."
            raise UsageError(f"There is no folder {folder} to take studies from.", remedy)
    places = [os.path.abspath(folder) for folder in folders]
    experiments.__path__.extend(place for place in places if place not in experiments.__path__)
    os.environ[experiments.STUDIES] = os.pathsep.join(experiments.__path__[1:])
    catalogue.cache_clear()


def _is_experiment(tree: ast.Module) -> bool:
    """Return True if a function `experiment` with one parameter is defined."""
    return any(
        isinstance(node, ast.FunctionDef)
        and node.name == "experiment"
        and len([*node.args.posonlyargs, *node.args.args]) == 1
        for node in tree.body
    )
