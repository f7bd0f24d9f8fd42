"""What a student runs: the combination and the seeds that a variant makes of each run of a lab."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_type_hints

from experiments import custom_cc
from experiments.definition.catalogue import find
from experiments.definition.grid import Combination
from experiments.definition.single_run import single
from labs.definition.course import Variant
from labs.definition.lab_spec import LabRun, LabSpec
from topologies.errors import UsageError
from topologies.units import Quantity

FOLDER = "runs"
MODULE = "mine.c"
"""The name of a module that is handed in; a module's file is called as what it registers."""


def settings(
    run: LabRun, values: tuple[tuple[str, str], ...], module: Path | None = None
) -> list[str]:
    """NAME=VALUE for everything that the run sets.

    These are its own settings, the student's values, and the module.
    """
    drawn = [f"{name}={value}" for name, value in values if name in run.varies]
    return [*run.settings, *drawn, *([f"module={module}"] if run.module else [])]


def combination_of(run: LabRun, variant: Variant, module: Path | None = None) -> Combination:
    """What this student runs.

    Raises UsageError if it is impossible, or if its module is missing.
    """
    if run.module and (module is None or not module.is_file()):
        raise UsageError(
            f"The run {run.name} needs your module.", f"Put {MODULE} into the folder of the lab."
        )
    return single(find(run.experiment), settings(run, variant.values, module))


def seeds_of(run: LabRun, variant: Variant) -> tuple[int, ...]:
    """The seeds of a run, counted up from the student's."""
    return tuple(range(variant.seed, variant.seed + run.seeds))


def command_of(run: LabRun, variant: Variant) -> str:
    """The same by hand, outside the lab's folder."""
    words = " ".join(f"--set {text}" for text in settings(run, variant.values, Path(MODULE)))
    seeds = f"--seed {variant.seed} --repeat {run.seeds}"
    return f"./tcplab run {run.experiment} {words} {seeds}"


def run_folder(folder: Path, name: str) -> Path | None:
    """The run directory of that name; of several, the newest that is finished.

    `folder` is a lab's folder or an unpacked hand-in.
    """
    place = folder / FOLDER / name
    if (place / "manifest.json").is_file():
        return place
    finished = sorted(
        file.parent for file in place.glob("*/*/manifest.json") if not file.parent.is_symlink()
    )
    return finished[-1] if finished else None


def variables_of(lab: LabSpec, variant: Variant) -> dict[str, Quantity]:
    """The drawn parameters by name, and by RUN.NAME everything that a run sets, as quantities."""
    variables: dict[str, Quantity] = {}
    for run in lab.runs:
        kinds = get_type_hints(find(run.experiment).parameters())
        for name, _, value in (text.partition("=") for text in settings(run, variant.values)):
            if isinstance(kinds.get(name), type) and issubclass(kinds[name], Quantity):
                quantity = kinds[name].parse(value)
                variables |= {f"{run.name}.{name}": quantity} | (
                    {name: quantity} if name in run.varies else {}
                )
    return variables


def example_module(folder: Path) -> Path:
    """The package's own module as a student would hand it in: under the name of the lab."""
    source = Path(custom_cc.__file__).with_name("exp.c")
    target = folder / MODULE
    target.write_text(re.sub(r"\bexp(?=_|\b)", Path(MODULE).stem, source.read_text()))
    return target
