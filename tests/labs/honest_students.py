"""Students who did their own run; some misread a unit or a quantity."""

import shutil
from dataclasses import replace
from pathlib import Path

from labs.definition.key import key_module
from labs.definition.runs import variables_of
from labs.definition.spec import LabSpec
from labs.measuring.measures import MeasuredRun, values_of
from labs.student.hand_in import check
from labs.student.runs import carry_out_run
from tests.labs.native_run import dressed
from tests.labs.student import LAB, LATER, Student, packed, sheet, written

_OTHER_SEED = 3  # its figures are among those of other seeds, as most are


def honest(student: Student, lab: LabSpec, target: Path) -> None:
    assert student.key and student.assignment
    sheet(student, written(lab, student.key))
    rules = {question.id for question in lab.questions if question.kind == "forecast"}
    assert {finding.where for finding in check(student.assignment)} == LATER | rules
    packed(student, target)


def honest_in_other_units(student: Student, lab: LabSpec, target: Path) -> None:
    assert student.key

    def other(name: str, value: float) -> str:
        unit = lab.question(name).unit
        return {"kbit/s": f"{value / 8:.2f} kB/s", "s": f"{1000 * value:.0f} ms"}.get(
            unit, f"{value:.4g} {unit}"
        )

    sheet(student, written(lab, student.key, other))
    packed(student, target)


def honest_rounded(student: Student, lab: LabSpec, target: Path) -> None:
    """Two or three digits, Mbit/s, decimal commas; handed in as a folder in a folder."""
    assert student.key

    def rounded(name: str, value: float) -> str:
        unit = lab.question(name).unit
        return (
            f"{value / 1000:.3f} Mbps".replace(".", ",", 1)
            if unit == "kbit/s"
            else f"{value:.3g} {unit}"
        )

    sheet(student, written(lab, student.key, rounded))
    shutil.copytree(student.folder, target.with_suffix("") / "my lab", symlinks=True)


def without_units(student: Student, lab: LabSpec, target: Path) -> None:
    assert student.key
    sheet(student, written(lab, student.key, lambda _, value: f"{value:.4g}"))
    packed(student, target)


def off_by_eight(student: Student, lab: LabSpec, target: Path) -> None:
    """Reads kbit/s as kB/s."""
    assert student.key

    def times(name: str, value: float) -> str:
        unit = lab.question(name).unit
        return f"{value:.4g} kB/s" if unit == "kbit/s" else f"{value:.4g} {unit}"

    sheet(student, written(lab, student.key, times))
    packed(student, target)


def mixed_up(student: Student, lab: LabSpec, target: Path) -> None:
    """Counts the needless copies at the receiver for the retransmissions."""
    assert student.key
    answers = written(lab, student.key)
    answers["resent_off"] = f"{student.key.mistakes['resent_off']['at_receiver']:.0f} segments"
    sheet(student, answers)
    packed(student, target)


def follows(student: Student, lab: LabSpec, target: Path) -> None:
    """One rate is wrong, and the factor follows from it."""
    assert student.key
    answers, wrong = written(lab, student.key), 1.7 * student.key.numbers["goodput_on"]
    answers["goodput_on"] = f"{wrong:.4g} kbit/s"
    answers["factor"] = f"{wrong / student.key.numbers['goodput_off']:.4g}"
    sheet(student, answers)
    packed(student, target)


def honest_in_real_time(student: Student, lab: LabSpec, target: Path) -> None:
    """What `vagrant up` gives: the own link and other packets.

    Made with another seed, since no two are alike.
    """
    assert student.assignment
    shutil.rmtree(student.folder / "runs")
    other = replace(
        student.assignment, variant=replace(student.assignment.variant, seed=_OTHER_SEED)
    )
    run = carry_out_run(other, lab.runs[0], "virtual")
    values = values_of(run)
    key = key_module(LAB).key(
        {LAB: MeasuredRun(tuple(values.values()))}, variables_of(lab, other.variant)
    )
    seed = student.assignment.variant.seed
    (run / "raw" / f"seed-{_OTHER_SEED}").rename(run / "raw" / f"seed-{seed}")
    dressed(run, lambda manifest: manifest.update(seeds=[seed]))
    sheet(student, written(lab, key))
    packed(student, target)
