"""Scripts that were handed in, run in guests: on the lab's kernel, and on some that do otherwise.

Every run has a guest of its own, which sees nothing of this computer, as any script's has.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from labs.definition.question import OtherKernel, Question
from labs.grading.answer_mark import AnswerMark
from testbed.lab.ready import Lab
from testbed.packetdrill.script_files import Script
from testbed.packetdrill.script_message import ScriptFailure
from testbed.packetdrill.script_runs import ScriptCase, ScriptRunner

_SETTER = "set_other_kernel.sh"


@dataclass(frozen=True)
class ScriptTrial:
    """What became of a script: why it was not run, or failed on the lab's kernel, if so.

    `unnoticed` are the other kernels on which it passed all the same.
    """

    refusal: str = ""
    failure: ScriptFailure | None = None
    unnoticed: tuple[OtherKernel, ...] = ()


def tried(
    scripts: Sequence[tuple[Question, Script]], lab: Lab, program: Path
) -> Iterator[ScriptTrial]:
    """The trial of each script, in their order; `program` is packetdrill. Raises TcplabError."""
    cases = [case for question, script in scripts for case in _cases(question, script)]
    outcomes = ScriptRunner(lab, program).run(cases)
    for question, _ in scripts:
        usual = next(outcomes)
        others = [(other, next(outcomes)) for other in question.others]
        yield ScriptTrial(
            "", usual.failure, tuple(other for other, outcome in others if outcome.passed)
        )


def _cases(question: Question, script: Script) -> Iterator[ScriptCase]:
    yield ScriptCase(script)
    for other in question.others:
        lines = ["#!/bin/sh -e", *(f"sysctl -q -w {setting}" for setting in other.settings)]
        beside = {_SETTER: "\n".join([*lines, ""]).encode()}
        own = replace(script, beside=beside)
        yield ScriptCase(own, other.id, (f"--init_scripts=./{_SETTER}",))


def marked(
    question: Question,
    given: list[str],
    trial: ScriptTrial | None,
    empty: AnswerMark,
) -> AnswerMark:
    """All points if it passes on the lab's kernel, and on none that does otherwise.

    A script that fails on the lab's kernel earns nothing: it says what is not so.
    """
    if not given:
        return empty
    if trial is None:
        note = "It was not run: a person reads it."
        return replace(empty, points=None, verdict="read", note=note)
    if trial.refusal:
        return replace(empty, verdict="wrong", note=trial.refusal)
    if trial.failure:
        place = f", line {trial.failure.line}" if trial.failure.line else ""
        note = f"On the lab's kernel it fails{place}: {trial.failure.what}."
        return replace(empty, verdict="wrong", note=note)
    share = 1 - len(trial.unnoticed) / len(question.others)
    notes = [f"It passes as well on a kernel that {other.text}." for other in trial.unnoticed]
    verdict = "right" if share == 1 else "part" if share else "wrong"
    points = round(share * question.points, 2)
    return replace(empty, points=points, verdict=verdict, note=" ".join(notes))


def expectation(question: Question) -> str:
    """What a script has to do, as a page shows it."""
    others = "; ".join(other.text for other in question.others)
    return f"It passes on the lab's kernel, and fails on each that does otherwise: {others}."
