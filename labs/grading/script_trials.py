"""Scripts that were handed in, run in guests: on the lab's kernel, and on some that do otherwise.

Each run has its own guest, so a script that stops a guest stops no other. The guests of a script
differ in the values of sysctls only: file names, arguments, environment and clock are equal.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from labs.definition.question import OtherKernel, Question
from labs.definition.script_statements import outbound_lines
from labs.grading.answer_mark import AnswerMark
from testbed.lab.ready import Lab
from testbed.packetdrill.script_files import Script
from testbed.packetdrill.script_message import ScriptFailure
from testbed.packetdrill.script_runs import ScriptCase, ScriptOutcome, ScriptRunner

_LONGEST = 200  # characters of a reason


@dataclass(frozen=True)
class ScriptTrial:
    """What became of a script: why it was not run, or failed on the lab's kernel, if so.

    `problem` is the reason why it could not be run to its end. `unnoticed` are the other kernels
    on which it passed all the same, `elsewhere` those on which it failed without a packet.
    """

    refusal: str = ""
    failure: ScriptFailure | None = None
    unnoticed: tuple[OtherKernel, ...] = ()
    elsewhere: tuple[OtherKernel, ...] = ()
    problem: str = ""


def tried(
    scripts: Sequence[tuple[Question, Script]], lab: Lab, program: Path
) -> Iterator[ScriptTrial]:
    """Yield the trial of each script, in their order; `program` is packetdrill.

    Raises TcplabError if no guest can be had, and for no reason that lies in a script.
    """
    cases = [case for question, script in scripts for case in trial_cases(question, script)]
    outcomes = ScriptRunner(lab, program, confined=True).run(cases)
    for question, script in scripts:
        usual, *others = [next(outcomes) for _ in range(1 + len(question.others))]
        yield _trial(question, script, usual, others)


def trial_cases(question: Question, script: Script) -> Iterator[ScriptCase]:
    """Yield a script's runs: on the lab's kernel, then on each other; they differ in values only.

    Each reads and writes the same sysctls. Where a kernel has no value of its own, the lab
    kernel's is written back.
    """
    names = {setting.partition("=")[0]: "" for o in question.others for setting in o.settings}
    for values in ((), *(other.settings for other in question.others)):
        chosen = names | {
            value.partition("=")[0]: f"={value.partition('=')[2]}" for value in values
        }
        yield ScriptCase(script, settings=tuple(name + value for name, value in chosen.items()))


def _trial(
    question: Question, script: Script, usual: ScriptOutcome, others: Sequence[ScriptOutcome]
) -> ScriptTrial:
    """Return what the runs of a script say together."""
    for outcome in (usual, *others):
        if outcome.stopped and outcome.failure:
            reason = " ".join(outcome.failure.what.split())[:_LONGEST]
            return ScriptTrial(problem=reason or "Its guest ended.")
    outbound = outbound_lines(script)
    by_kernel = list(zip(question.others, others, strict=True))
    return ScriptTrial(
        failure=usual.failure,
        unnoticed=tuple(other for other, outcome in by_kernel if outcome.failure is None),
        elsewhere=tuple(
            other
            for other, outcome in by_kernel
            if outcome.failure and outcome.failure.line not in outbound
        ),
    )


def marked(
    question: Question,
    given: list[str],
    trial: ScriptTrial | None,
    empty: AnswerMark,
) -> AnswerMark:
    """All points if it passes on the lab's kernel, and on none that does otherwise.

    A script that fails on the lab's kernel earns nothing: it says what is not so. Another kernel
    counts only if the script fails there at a packet of the kernel.
    """
    if not given:
        return empty
    if trial is None:
        note = "It was not run: a person reads it."
        return replace(empty, points=None, verdict="read", note=note)
    if trial.problem:
        note = f"It could not be run, so a person reads it: {trial.problem}"
        return replace(empty, points=None, verdict="read", note=note)
    if trial.refusal:
        return replace(empty, verdict="wrong", note=trial.refusal)
    if trial.failure:
        place = f", line {trial.failure.line}" if trial.failure.line else ""
        note = f"On the lab's kernel it fails{place}: {trial.failure.what}."
        return replace(empty, verdict="wrong", note=note)
    missed = len(trial.unnoticed) + len(trial.elsewhere)
    share = 1 - missed / len(question.others)
    notes = [f"It passes as well on a kernel that {other.text}." for other in trial.unnoticed]
    notes += [
        f"On a kernel that {other.text} it fails, but not at a packet that the kernel sends."
        for other in trial.elsewhere
    ]
    verdict = "right" if share == 1 else "part" if share else "wrong"
    points = round(share * question.points, 2)
    return replace(empty, points=points, verdict=verdict, note=" ".join(notes))


def expectation(question: Question) -> str:
    """What a script has to do, as a page shows it."""
    others = "; ".join(other.text for other in question.others)
    return (
        "It passes on the lab's kernel, and fails at a packet of the kernel on each that does"
        f" otherwise: {others}."
    )
