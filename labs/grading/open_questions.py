"""Points for answers that are no numbers: predictions, evidence, and designs that are run."""

from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean

from analysis.measures.evidence import EVENTS
from labs.definition import forecast as forecasts
from labs.definition.answers import is_made
from labs.definition.key import Key
from labs.definition.scripts import ScriptTrial
from labs.definition.spec import Question
from labs.definition.written import WrittenFrame, in_digits, parse_frame
from labs.grading.case import AnswerMark, Verdict
from labs.measuring.measures import MeasuredRun, UnknownName
from topologies.errors import UsageError

_SHOWN = 3
_FROM_ZERO = "The right one is the next: lines and frames are counted from 1."


def prediction(
    question: Question, given: list[str], recorded: list[str], empty: AnswerMark
) -> AnswerMark:
    """Give all points if it was made before the run, whatever it was."""
    if recorded and is_made(question, recorded):
        texts = {option.id: option.text for option in question.options}
        text = texts.get(recorded[0], recorded[0])
        made = replace(empty, given=text, points=float(question.points))
        return replace(made, verdict=Verdict.GIVEN, note="")
    if given:
        return replace(empty, verdict=Verdict.LATE, note="It was not recorded before the run.")
    return empty


def evidence(
    question: Question, text: str, key: Key, empty: AnswerMark, run: MeasuredRun | None = None
) -> AnswerMark:
    """Give all points for a frame that proves it, and say what a wrong one is."""
    if question.id not in key.frames:
        return empty.for_person("The run has no captures that tell; a person looks at it.")
    try:
        frame = parse_frame(text)
    except ValueError as error:
        return empty.for_person(f"{as_sentence(error)}. A person reads it.", Verdict.UNREADABLE)
    if frame.among(dict(key.frames[question.id])):
        return empty.earning(1.0, question.points)
    wrong = key.wrong_frames.get(question.id, {})
    known = [each for each in question.mistakes if frame.among(dict(wrong.get(each.id, {})))]
    if len(known) == 1:
        return replace(empty, verdict=Verdict.MISTAKE, note=known[0].note, mistake=known[0].id)
    if not known and (frame.number or 0) + 1 in key.frames[question.id]:
        return replace(empty, verdict=Verdict.MISTAKE, note=_FROM_ZERO, mistake="from_zero")
    note = _what_it_is(question, frame, run) if run and not question.names_a_line else ""
    return replace(empty, verdict=Verdict.WRONG, note=note)


def _what_it_is(question: Question, frame: WrittenFrame, run: MeasuredRun) -> str:
    try:
        seen = {event: run.frames(question.capture, event) for event in EVENTS}
    except UnknownName:  # a run that was broken off has no such condition
        return ""
    events = [meaning for event, meaning in EVENTS.items() if frame.among(seen[event])]
    if not events:
        return "This frame is ordinary: no repetition, no report of a loss or a mark, no SYN."
    return f"This frame is {', and '.join(events)}."


def design(question: Question, key: Key, empty: AnswerMark) -> AnswerMark:
    """Give a share for each bound that the student's run keeps; without bounds all for the run."""
    measured = key.measured.get(question.id)
    if measured is None:
        return replace(empty, verdict=Verdict.WRONG, note="It could not be run as it is written.")
    kept, sentences = [bound.keeps(measured[bound.id]) for bound in question.bounds], []
    for bound, is_kept in zip(question.bounds, kept, strict=True):
        shown = f"{in_digits(measured[bound.id])} {bound.unit}".strip()
        sentences.append(f"{bound.text}: {shown}, {'kept' if is_kept else 'not kept'}.")
    return empty.earning(fmean(kept or [1]), question.points, " ".join(sentences))


def forecast(
    question: Question, text: str, hidden: Sequence[forecasts.HiddenResult], empty: AnswerMark
) -> AnswerMark:
    """Give the share by a proper score; the note says how far off it is, and tells no value."""
    if not hidden:
        return empty.for_person("The hidden networks were not run; a person looks at it.")
    try:
        rule = forecasts.read_rule(text)
        found = forecasts.scored(rule, hidden)
        known = forecasts.mistake_in(rule, question, hidden) if found.share < 1 else None
    except UsageError as error:
        return empty.for_person(f"{error} A person reads it.", Verdict.UNREADABLE)
    note = f"{known.note} " if known else ""
    mark = empty.earning(found.share, question.points, note + _account(found, question.points))
    return replace(mark, drawn=found, mistake=known.id if known else "")


def _account(found: forecasts.ScoredRule, points: int) -> str:
    width, errors = (in_digits(round(points * max(0.0, part), 1)) for part in found.lost)
    off = ", ".join(map(in_digits, found.offs))
    return (
        f"It holds on {found.held} of {len(found.offs)} networks. Its width of {found.width:.0%}"
        f" takes off {width} points, values outside it {errors}. Your rule's value, divided by the"
        f" measured one on each network: {off}. The best single number for all networks, within"
        f" {found.number_width:.0%}, earns no point."
    )


def program(
    question: Question, tested: Sequence[forecasts.TestedProgram], empty: AnswerMark
) -> AnswerMark:
    """Give the share of the tests, by weight, that the programs passed on the hidden networks."""
    if not tested:
        return empty
    weights = [test.weight for test in question.tests]
    stages = [len(result.passed) for result in tested]
    counted = [min(stages)] if question.everywhere else stages
    share = sum(sum(weights[:stage]) for stage in counted) / (len(counted) * sum(weights))
    reasons = [(number, each.reason) for number, each in enumerate(tested, 1) if each.reason]
    note = " ".join(f"Network {number}: {reason}." for number, reason in reasons)
    given = f"{sum(stages)} of {len(tested) * len(weights)} tests passed"
    return replace(empty, given=given).earning(share, question.points, note)


def as_sentence(words: object) -> str:
    """Return the words with a capital first; `capitalize` would write Mbit/s as mbit/s."""
    text = str(words)
    return text[:1].upper() + text[1:]


def expected(question: Question, key: Key) -> str:
    if question.kind == "script":
        others = "; ".join(other.text for other in question.others)
        return (
            "It passes on the lab's kernel, and fails at a packet of the kernel on each that does"
            f" otherwise: {others}."
        )
    if question.kind == "forecast":
        return question.how
    if question.kind == "program":
        return "; ".join(test.text for test in question.tests)
    if question.kind == "design":
        return "; ".join(bound.text for bound in question.bounds)
    frames = sorted(key.frames.get(question.id, {}).items())
    shown = ", ".join(f"{number} ({time:.6g} s)" for number, time in frames[:_SHOWN])
    more = f" and {len(frames) - _SHOWN} more" if len(frames) > _SHOWN else ""
    kind = "line" if question.names_a_line else "frame"
    return f"{kind} {shown}{more}" if frames else ""


def script(question: Question, trial: ScriptTrial | None, empty: AnswerMark) -> AnswerMark:
    """Give all points if it passes on the lab's kernel, and fails on others at a kernel's packet.

    A script that fails on the lab's kernel earns no points: its claim is false.
    """
    if trial is None:
        return empty.for_person("It was not run: a person reads it.")
    if trial.problem:
        return empty.for_person(f"It could not be run, so a person reads it: {trial.problem}")
    if trial.refusal:
        return replace(empty, verdict=Verdict.WRONG, note=trial.refusal)
    if trial.failure:
        place = f", line {trial.failure.line}" if trial.failure.line else ""
        note = f"On the lab's kernel it fails{place}: {trial.failure.what}."
        return replace(empty, verdict=Verdict.WRONG, note=note)
    notes = [f"It passes as well on a kernel that {other.text}." for other in trial.unnoticed]
    notes += [
        f"On a kernel that {other.text} it fails, but not at a packet that the kernel sends."
        for other in trial.elsewhere
    ]
    return empty.earning(1 - len(notes) / len(question.others), question.points, " ".join(notes))
