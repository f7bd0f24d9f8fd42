"""Every named experiment: a module of this package with a claim, `Parameters` and
`experiment(parameters)`.
"""

from __future__ import annotations

import ast
import importlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import experiments
from experiments.spec import ExperimentSpec, claim_of
from topologies.errors import UsageError


@dataclass(frozen=True)
class Experiment:
    """An experiment by name. `claim` is the first sentence of its module."""

    name: str
    claim: str

    def parameters(self) -> Any:
        """The class of its parameters: a frozen dataclass of quantities with defaults."""
        return self._module().Parameters

    def spec(self, parameters: Any) -> ExperimentSpec:
        """Its spec for these parameters. Raises UsageError where they are impossible together."""
        spec: ExperimentSpec = self._module().experiment(parameters)
        return spec

    def preset(self, word: str) -> dict[str, str]:
        """The parameters of its `quick` or `full` form; empty where it has none."""
        found: dict[str, str] = getattr(self._module(), word.upper(), {})
        return found

    def grid(self) -> dict[str, tuple[str, ...]]:
        """What the study varies, where it is a sweep by itself."""
        found: dict[str, tuple[str, ...]] = getattr(self._module(), "GRID", {})
        return found

    def metric(self) -> str:
        """The column that its study is about."""
        return str(getattr(self._module(), "METRIC", "goodput_kbit_s"))

    def progress(self) -> tuple[str, ...]:
        """The columns that a line for each run of a sweep shows; empty for no such lines."""
        found: tuple[str, ...] = getattr(self._module(), "PROGRESS", ())
        return found

    def _module(self) -> Any:
        return importlib.import_module(f"experiments.{self.name}")


@cache
def catalogue() -> tuple[Experiment, ...]:
    """All experiments, by name. Reads the files; nothing of theirs is run."""
    trees = {name: ast.parse(file.read_text()) for name, file in sorted(_modules())}
    return tuple(
        Experiment(name, _claim(tree)) for name, tree in trees.items() if _is_experiment(tree)
    )


def _modules() -> Iterator[tuple[str, Path]]:
    """Files and folders of the package, each with its name."""
    for folder in map(Path, experiments.__path__):
        yield from ((file.stem, file) for file in folder.glob("*.py"))
        yield from ((file.parent.name, file) for file in folder.glob("*/__init__.py"))


def find(name: str) -> Experiment:
    """The experiment of that name. Raises UsageError with the names there are."""
    known = {named.name: named for named in catalogue()}
    if name not in known:
        raise UsageError(
            f"There is no experiment '{name[:40]}'.", f"There are: {', '.join(known)}."
        )
    return known[name]


def _is_experiment(tree: ast.Module) -> bool:
    defined = {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    return {"Parameters", "experiment"} <= defined


def _claim(tree: ast.Module) -> str:
    return claim_of(ast.get_docstring(tree))
