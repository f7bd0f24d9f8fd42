"""Packetdrill scripts as answers: an allow-list of statements, each on its line, and their trials.

The claims of a script are tested on kernels that behave differently. A shell command, Python or a
file could reveal the kernel, so an answer has TCP packets and calls of its sockets only. Lines are
split as packetdrill's lexer.l does, so neither comments nor odd spacing hide a statement. Each run
has its own guest, which differs in the values of sysctls only.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from labs.definition.spec import OtherKernel, Question
from testbed.lab.ready import Lab
from testbed.packetdrill import ScriptCase, ScriptOutcome, ScriptRunner
from testbed.packetdrill.scripts import SUFFIX, Script, ScriptFailure
from topologies import untrusted
from topologies.errors import UsageError
from topologies.notation import toml_file

# As in lexer.l: a C comment goes on beyond "**/". Unclosed, it is no comment (group 1 is empty).
_COMMENT = re.compile(r'"[^"\\\n]*"|//[^\n]*|/\*(?:[^*]|\*[^/])*+(\*/)?')
# The order makes the first match the longest one, which flex takes. Addresses are no tokens here:
# no statement below has their characters in a row.
_TOKEN = re.compile(r'--\w+|-?[0-9]*\.[0-9]+|\.\.\.|-[0-9]+|\w+|"\w*"|[^ \t]', re.ASCII)
_ALLOWED = toml_file(Path(__file__).with_suffix(".toml"))


def _pattern(text: str) -> str:
    return re.sub(r"<([A-Z_]+)>", lambda match: _pattern(_ALLOWED["parts"][match[1]]), text)


_PACKET = re.compile(_pattern("<PACKET>"))
_CALL = re.compile(_pattern("<CALL>"), re.ASCII)
_CALLS = {name: (_pattern(texts[0]), texts[1]) for name, texts in _ALLOWED["calls"].items()}
"""Name of a call to the arguments that it may have, and an example."""
_REMEDY = (
    "Use TCP packets and calls only, each on its own line with its time: no shell commands (`),"
    " Python (%{) or options (--)."
)


def check_statements(script: Script) -> None:
    """Raises UsageError naming the first line that is no permitted statement."""
    descriptors: set[str] = set()
    for number, tokens in _lines(script.text):
        if not _PACKET.fullmatch(tokens):
            descriptors |= _opened_by(tokens, f"Line {number} of '{script.name}'", descriptors)
    if not outbound_lines(script):
        remedy = "Add one, such as: +0 > P. 1:1001(1000) ack 1"
        raise UsageError(f"'{script.name}' expects no packet of the kernel.", remedy)


def outbound_lines(script: Script) -> set[int]:
    """Return the lines, from 1, that expect a packet of the kernel."""
    packets = ((number, _PACKET.fullmatch(tokens)) for number, tokens in _lines(script.text))
    return {number for number, packet in packets if packet and packet["direction"] == ">"}


def _opened_by(tokens: str, place: str, descriptors: set[str]) -> set[str]:
    """Return the descriptor that a call opens, if any. Raises UsageError for a forbidden call."""
    call = _CALL.fullmatch(tokens)
    if call is None:
        raise UsageError(f"{place} is neither a packet nor a call.", _REMEDY)
    if call["name"] not in _CALLS:
        remedy = f"Use these calls only: {', '.join(_CALLS)}."
        raise UsageError(f"{place} calls {call['name'][:40]}().", remedy)
    pattern, example = _CALLS[call["name"]]
    arguments = re.fullmatch(pattern, call["arguments"])
    if arguments is None:
        problem = f"{place} calls {call['name']}() with other arguments than it may have here."
        raise UsageError(problem, f"An example is: {example}")
    given = arguments.groupdict().get("descriptor")
    if given and given not in descriptors:
        raise UsageError(
            f"{place} uses the descriptor {given}, which no socket() or accept() before returned.",
            "Use the number that one of them returned.",
        )
    return {call["result"]} if call["name"] in ("socket", "accept") else set()


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield the number of each line with tokens, and these with a space between every two."""

    def blanked(match: re.Match[str]) -> str:  # with the ends of its lines
        is_comment = match[0].startswith("//") or match[1]
        return " " + "\n" * match[0].count("\n") if is_comment else match[0]

    for number, line in enumerate(_COMMENT.sub(blanked, text).split("\n"), 1):
        if tokens := _TOKEN.findall(line):
            yield number, " ".join(tokens)


_FILE_NAME = re.compile(rf"[A-Za-z0-9_][A-Za-z0-9_.-]{{0,79}}{re.escape(SUFFIX)}")
_LONGEST = 64 << 10  # bytes


def handed_in_script(folder: Path, name: str) -> Script:
    """The script of that name in a student's folder. Raises UsageError with what is wrong."""
    if not _FILE_NAME.fullmatch(name):
        raise UsageError(f"'{name[:60]}' is no name of a script.", f"Such names end in {SUFFIX}.")
    try:
        text = untrusted.text(folder, name, _LONGEST)
    except FileNotFoundError:
        raise UsageError(f"There is no file '{name}'.", "Put it next to answers.toml.") from None
    except (OSError, untrusted.StrangeFile):
        remedy = "Hand in a script."
        raise UsageError(f"'{name}' is no file of up to {_LONGEST >> 10} KiB.", remedy) from None
    if "\0" in text or not text.strip():
        raise UsageError(f"'{name}' is no text, or is empty.", "Hand in a script.")
    script = Script(name, f"{text}\n", {})  # packetdrill reads no // comment without its end
    check_statements(script)
    return script


_SCRIPT_TRIALS_LONGEST = 200  # characters of a reason


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
    """Yield the trial of each script by packetdrill. Raises TcplabError if no guest can be had."""
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
    kernels = [dict(each.split("=", 1) for each in other.settings) for other in question.others]
    names = dict.fromkeys(chain.from_iterable(kernels))
    for values in ({}, *kernels):
        settings = (f"{name}={values[name]}" if name in values else name for name in names)
        yield ScriptCase(script, settings=tuple(settings))


def _trial(
    question: Question, script: Script, usual: ScriptOutcome, others: Sequence[ScriptOutcome]
) -> ScriptTrial:
    for outcome in (usual, *others):
        if outcome.stopped and outcome.failure:
            reason = " ".join(outcome.failure.what.split())[:_SCRIPT_TRIALS_LONGEST]
            return ScriptTrial(problem=reason or "Its guest ended.")
    outbound, unnoticed, elsewhere = outbound_lines(script), [], []
    for other, outcome in zip(question.others, others, strict=True):
        if outcome.failure is None:
            unnoticed.append(other)
        elif outcome.failure.line not in outbound:
            elsewhere.append(other)
    return ScriptTrial("", usual.failure, tuple(unnoticed), tuple(elsewhere))
