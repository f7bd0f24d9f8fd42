"""Keys: what the printed `how` of a numeric question gives earns its points in every variant."""

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from experiments.run.session import ready_lab
from labs.definition import catalogue
from labs.definition.answers import examples_of
from labs.definition.assignment import Variant, variant
from labs.definition.key import Key, key_module
from labs.definition.runs import combination_of, example_module, variables_of
from labs.definition.spec import LabSpec
from labs.grading.case import Verdict
from labs.grading.marking import marker_of
from labs.measuring.measures import MeasuredRun, as_run_directory, values_of
from labs.measuring.references import carry_kept
from testbed.host.packages import install_missing
from testbed.lab.kernel.recipe import KERNEL_TOOLS
from tests.labs.conftest import COURSE
from tests.labs.independent_keys import OF_LAB, LabFolder

_SECONDS = 3600.0


def carried(lab: LabSpec, drawn: Variant, folder: Path) -> dict[str, MeasuredRun]:
    """Do the runs that have no settings to choose, and keep their files in `folder`."""
    runs = {}
    own = examples_of(lab, example_module(folder))
    for run in lab.runs:
        if run.chosen:
            continue
        asked = combination_of(run, drawn, own)
        raw = folder / run.name / "raw" / f"seed-{drawn.seed}"
        raw.mkdir(parents=True)
        ready = ready_lab([asked.spec.kernel])
        carry_kept(str(raw), asked.data, drawn.seed, _SECONDS, ready, lambda _phase, _at: None)
        as_run_directory(folder / run.name, asked.data, [drawn.seed])
        runs[run.name] = MeasuredRun(tuple(values_of(folder / run.name).values()))
    return runs


def disagreements(lab: LabSpec, drawn: Variant, folder: Path) -> list[str]:
    """Return the numbers that the marker does not call right, though the handout leads to them."""
    key: Key = key_module(lab.name).key(carried(lab, drawn, folder), variables_of(lab, drawn))
    marker = marker_of(lab, key, {}, drawn)
    found = []
    asked = {each.id: each for each in lab.questions if each.kind == "number"}
    answers = OF_LAB[lab.name](LabFolder(folder, dict(drawn.values)))
    assert set(answers) == set(asked)
    for name, value in answers.items():
        given = f"{value:.6g} {asked[name].unit}".strip()
        mark = next(each for each in marker.marks({name: [given]}) if each.question == name)
        if mark.verdict is not Verdict.RIGHT:
            found.append(f"{drawn.student} {name}: {given}, and the key is {mark.expected}")
    return found


def test_every_lab_has_a_second_key() -> None:
    assert sorted(OF_LAB) == catalogue.names()


_SHORT = {"first_look", "packet_loss", "reliable_transport", "retransmission", "sack"}
_NAMES = [pytest.param(name, marks=[] if name in _SHORT else [pytest.mark.long]) for name in OF_LAB]


@pytest.mark.virtual
@pytest.mark.parametrize("name", _NAMES)
def test_the_printed_how_gives_the_key(name: str, pytestconfig: pytest.Config) -> None:
    """One variant of each lab takes seconds; fifty, `--variants 50`, take an hour or two."""
    install_missing(KERNEL_TOOLS if name == "own_congestion_control" else ())
    lab = catalogue.find(name)
    found = []
    for number in range(pytestconfig.getoption("--variants")):
        with TemporaryDirectory() as folder:
            found += disagreements(lab, variant(COURSE, lab, f"student{number}"), Path(folder))
    assert found == []
