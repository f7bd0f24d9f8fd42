"""Scripts that were handed in, run in guests: on the lab's kernel, and on some that do otherwise.

Each run has its own guest, so a script that stops a guest stops no other. The guests of a script
differ in the values of sysctls only: file names, arguments, environment and clock are equal.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from labs.definition.scripts import outbound_lines
from labs.definition.spec import OtherKernel, Question
from testbed.lab.ready import Lab
from testbed.packetdrill import ScriptCase, ScriptOutcome, ScriptRunner
from testbed.packetdrill.scripts import Script, ScriptFailure

_LONGEST = 200  # characters of a reason


@dataclass(frozen=True)
class ScriptTrial:
    """The result of a script: why it was not run, or failed on the lab's kernel, if so.

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
