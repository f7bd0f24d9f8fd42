"""The runs of a student: combination and seeds that a variant makes of each run of a lab."""

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import get_type_hints

from experiments import custom_cc
from experiments.spec import ExperimentSpec
from experiments.study.catalogue import find
from experiments.study.grid import Combination, single
from labs.definition.answers import OwnParts, examples_of
from labs.definition.assignment import Variant
from labs.definition.spec import FIXED_FILES, LabRun, LabSpec
from topologies.errors import UsageError
from topologies.units import Count, Quantity

FOLDER = "runs"
NO_PARTS = OwnParts()
(MODULE,) = FIXED_FILES["module"]
"""The name of a module that is handed in; a module's file is called as what it registers."""


SENDER, RECEIVER = FIXED_FILES["program"]  # the names of programs that are handed in
TYPED = "typed.json"  # the record of commands that were typed into hosts


def settings(
    run: LabRun, values: tuple[tuple[str, str], ...], own: OwnParts = NO_PARTS
) -> list[str]:
    """NAME=VALUE for everything that the run sets, each name once.

    These are its own settings, the student's values and choices, and the module. Of a name that is
    set twice the later counts: a fault is drawn over what was asked for.
    """
    varied = [(name, value) for name, value in values if name in run.varies]
    drawn = (value if "=" in value else f"{name}={value}" for name, value in varied)
    texts = [*run.settings, *drawn, *own.settings.get(run.name, ())]
    if run.module:
        texts.append(f"module={own.module}")
    if run.program and own.program:
        texts += [f"sender={own.program / SENDER}", f"receiver={own.program / RECEIVER}"]
    named = dict(text.partition("=")[::2] for text in texts)
    return [f"{name}={value}" for name, value in named.items()]


def combination_of(run: LabRun, variant: Variant, own: OwnParts = NO_PARTS) -> Combination:
    """Return the combination that this student runs. Raises UsageError if a part is missing."""
    if run.module and (own.module is None or not own.module.is_file()):
        remedy = f"Put {MODULE} into the folder of the lab."
        raise UsageError(f"The run {run.name} needs your module.", remedy)
    if run.program and own.program and not has_programs(own.program):
        remedy = f"Put {SENDER} and {RECEIVER} into the folder of the lab."
        raise UsageError(f"The run {run.name} needs your programs.", remedy)
    if run.chosen and run.name not in own.settings:
        remedy = "Write them into answers.toml first."
        raise UsageError(f"The run {run.name} needs your settings.", remedy)
    return single(find(run.experiment), settings(run, variant.values, own))


def has_programs(folder: Path) -> bool:
    return all((folder / name).is_file() for name in (SENDER, RECEIVER))


def is_possible(run: LabRun, own: OwnParts) -> bool:
    """Return whether the student chose the settings of a run; without them it is left out."""
    return not run.chosen or run.name in own.settings


def told(lab: LabSpec, variant: Variant) -> Variant:
    """Return the variant without faults, as handouts tell it."""
    hidden = {span.name for span in lab.varies if span.hidden}
    return replace(variant, values=tuple(pair for pair in variant.values if pair[0] not in hidden))


def seeds_of(run: LabRun, variant: Variant) -> tuple[int, ...]:
    return tuple(range(variant.seed, variant.seed + run.seeds))


def command_of(run: LabRun, variant: Variant) -> str:
    """Return the command that does a run outside the lab's folder."""
    own = OwnParts(Path(MODULE))
    words = " ".join(f"--set {text}" for text in settings(run, variant.values, own))
    seeds = f"--seed {variant.seed} --repeat {run.seeds}"
    return f"./tcplab run {run.experiment} {words} {seeds}"


def run_folder(folder: Path, name: str) -> Path | None:
    """Return the newest finished run of that name in a lab's folder or an unpacked hand-in."""
    place = folder / FOLDER / name
    if (place / "manifest.json").is_file():
        return place
    folders = (file.parent for file in place.glob("*/*/manifest.json"))
    return max((each for each in folders if not each.is_symlink()), default=None)


def variables_of(lab: LabSpec, variant: Variant) -> dict[str, Quantity]:
    """Return drawn parameters by name, settings by RUN.NAME, and faults by RANGE.SETTING."""
    variables: dict[str, Quantity] = {}
    for run in lab.runs:
        kinds = get_type_hints(find(run.experiment).parameters())
        for name, _, value in (text.partition("=") for text in settings(run, variant.values)):
            if isinstance(kinds.get(name), type) and issubclass(kinds[name], Quantity):
                names = [f"{run.name}.{name}", *([name] if name in run.varies else [])]
                variables |= dict.fromkeys(names, kinds[name].parse(value))
    faults = (f"{name}.{value.partition('=')[0]}" for name, value in variant.values if "=" in value)
    return variables | dict.fromkeys(faults, Count(1))


def example_module(folder: Path) -> Path:
    """Return the package's own module as a student would hand it in: under the name of the lab."""
    source = Path(custom_cc.__file__).with_name("exp.c")
    target = folder / MODULE
    target.write_text(re.sub(r"\bexp(?=_|\b)", Path(MODULE).stem, source.read_text()))
    return target


def example_specs(lab: LabSpec, variant: Variant, runs: Sequence[LabRun]) -> list[ExperimentSpec]:
    with TemporaryDirectory() as folder:
        own = examples_of(lab, example_module(Path(folder)))
        return [combination_of(run, variant, own).spec for run in runs]
