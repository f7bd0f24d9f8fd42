"""`tcplab lab lint`: problems in a lab's texts, key and tests, found without a run.

It finds questions that the handout does not explain, answers given away, too many points for
reading, missing hints, hard prose, and by made-up values names that do not exist."""

import re
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from pathlib import Path

from labs.definition import catalogue
from labs.definition.assignment import SELF_STUDY, variant
from labs.definition.forecast import hidden_networks, limit
from labs.definition.key import FILE, WrittenKey, key_module
from labs.definition.runs import example_specs, variables_of
from labs.definition.spec import Kind, LabSpec, Question, ValueSource
from labs.measuring.measures import MeasuredRun, UnknownName, Values
from labs.measuring.references import program_value
from labs.student.hand_in import LabFinding
from labs.student.handout import handout_text
from topologies.errors import TcplabError
from topologies.notation import toml_file

MOST_COPIED, MOST_GUESSED, MOST_READ = Fraction(15, 100), Fraction(10, 100), Fraction(25, 100)
"""Of a lab's points."""


class _AnyValue(dict[str, int | float]):
    """Each key has a value, and another key another one."""

    def __missing__(self, key: str) -> float:
        return 1 + zlib.crc32(key.encode()) % 1000 / 10


@dataclass(frozen=True)
class RehearsedRun(MeasuredRun):
    """A run that has each measure and event which a run of its spec can have."""

    captures: tuple[str, ...] = field(default=())

    def frames(self, capture: str, event: str) -> dict[int, float]:
        """Return two frames. Raises UnknownName."""
        super().frames(capture, event)
        self.require_capture(capture)
        return {1: 0.25, 2: 0.5}

    def require_capture(self, capture: str) -> None:
        """Raises UnknownName for a place that the run does not capture."""
        condition, _, place = capture.partition("/")
        self._require_condition(condition)
        if place not in self.captures:
            known = ", ".join(self.captures)
            raise UnknownName(f"The run captures no '{place[:40]}'.", f"It has: {known}.")


def rehearse(lab: LabSpec) -> Iterator[LabFinding]:
    """Find names of runs, conditions, measures, events and questions that do not exist."""
    drawn = variant(SELF_STUDY, lab, "lint")
    specs = example_specs(lab, drawn, lab.runs)
    runs = {}
    for run, spec in zip(lab.runs, specs, strict=True):
        hosts = [f"{node.name}.sockets" for node in spec.topology.nodes]
        values: Values = {condition.name: _AnyValue() for condition in spec.conditions}
        runs[run.name] = RehearsedRun((values,), captures=(*spec.captures, *hosts))
    module = key_module(lab.name)
    file = FILE if isinstance(module, WrittenKey) else "key.py"
    tries: list[tuple[str, Callable[[], object]]] = [
        (file, lambda: _asked(lab, module.key(runs, variables_of(lab, drawn)))),
        (file, lambda: module.lesson(runs)),
        *((each.id, partial(_try_names, lab, each, runs)) for each in lab.questions),
    ]
    for where, tried in tries:
        try:
            tried()
        except TcplabError as error:
            yield LabFinding(where, str(error))
        except KeyError as error:
            yield LabFinding(where, f"There is no {error}.")
        except (ArithmeticError, ValueError):
            continue  # of made-up values


def _asked(lab: LabSpec, key: object) -> None:
    for answers in ("numbers", "choices", "frames", "mistakes", "wrong_frames", "measured"):
        for name in getattr(key, answers):
            lab.question(name)


def _try_names(lab: LabSpec, question: Question, runs: dict[str, RehearsedRun]) -> None:
    if question.kind == "evidence":
        runs[question.run].require_capture(question.capture)
    for value in (question.value, *(test.value for test in question.tests)):
        if value:
            program_value(runs[question.run], value)
    for network in hidden_networks(lab, question, SELF_STUDY)[:1] if question.hidden else ():
        texts = [known.rule for known in question.mistakes]
        for text in (
            *texts,
            *(text for test in question.tests for text in (test.least, test.most)),
        ):
            limit(text, network.variables)


HARDEST = 45.0  # up to 40 is a newspaper, up to 50 the text of an office (Björnsson 1968)
_LONG_WORD = 7  # letters from which on a word is long
_CODE = re.compile(r"```.*?```|`[^`]*`|\{[{%].*?[%}]\}|!\[.*?\)", re.DOTALL)


def lix(markdown: str) -> float:
    """Words in a sentence plus percent of long words (C. H. Björnsson, Läsbarhet, 1968)."""
    text = re.sub(r"\([^)]*RFC[^)]*\)", "", _CODE.sub(" ", markdown))
    words = re.findall(r"[^\W\d_]+", text)
    sentences = len(re.findall(r"[.!?:](?=\s|$)", text)) or 1
    long = sum(len(word) >= _LONG_WORD for word in words)
    return len(words) / sentences + 100 * long / max(len(words), 1)


WORDS_A_MINUTE = 200
"""Of prose that is read with care; 238 is the mean of adults in English (Brysbaert 2019)."""
_DATA = toml_file(Path(__file__).with_suffix(".toml"))
MINUTES: Mapping[Kind, float] = _DATA["minutes"]
_SOURCES: Mapping[ValueSource, str] = _DATA["sources"]
CALCULATED = 1.5  # the same for a number that follows from earlier answers
FAR = 0.2  # share of the computed time by which the time that a lab states may differ
_SPOKEN = re.compile(r"[^\W\d_]+")


@dataclass(frozen=True)
class WorkingTime:
    reading: float
    questions: float

    @property
    def total(self) -> float:
        return self.reading + self.questions


def working_time(lab: LabSpec, handout: str) -> WorkingTime:
    words = len(_SPOKEN.findall(handout))
    minutes = (CALCULATED if each.follows else MINUTES[each.kind] for each in lab.questions)
    return WorkingTime(words / WORDS_A_MINUTE, sum(minutes))


_HOST_FILE = re.compile(r"\b(\w+)(?:\.sockets\.jsonl|-eth\d\.pcap)")
_RUN_NAME = re.compile(r"[Rr]uns? ((?:`\w+`(?:, | and )?)+)")
_HINTS = 2
_TOLD = 0.8  # share of an option's words in one sentence from which on the sentence tells it
_LONG_ENOUGH = 4  # letters from which on a word is counted: shorter ones join sentences


def lint(lab: LabSpec) -> list[LabFinding]:
    folder = catalogue.folder_of(lab.name) / "text" / lab.language
    background = lab.background or (folder / catalogue.BACKGROUND).read_text("utf-8")
    findings = [*rehearse(lab), *_points(lab), *_readable(lab, background)]
    specs = example_specs(lab, variant(SELF_STUDY, lab, "lint"), lab.runs)
    hosts = {node.name for spec in specs for node in spec.topology.nodes}
    for question in lab.questions:
        if (hints := len(question.hints)) != _HINTS:
            findings.append(LabFinding(question.id, f"{hints} hints, and {_HINTS} steps are due"))
        findings += _answerable(lab, question, hosts)
        findings += _told(lab, question, background)
    return findings


def _points(lab: LabSpec) -> Iterator[LabFinding]:
    if lab.copied > MOST_COPIED * lab.points:
        share = f"{lab.copied / lab.points:.0%} of the points are for what tools and files print"
        yield LabFinding("points", f"{share}, and at most {float(MOST_COPIED):.0%} should be")
    if not any(question.kind == "prediction" for question in lab.questions):
        yield LabFinding("questions", "no question asks for a prediction before the run")
    if not any(question.kind == "text" for question in lab.questions):
        yield LabFinding("questions", "no question asks for an explanation in words")
    time = working_time(lab, handout_text(lab, variant(SELF_STUDY, lab, "lint")))
    if abs(lab.minutes - time.total) > FAR * time.total:
        text = f"{lab.minutes} are stated, and {time.total:.0f} are computed"
        yield LabFinding("minutes", f"{text} from its words and points")


def _readable(lab: LabSpec, background: str) -> Iterator[LabFinding]:
    hardness = lix(background)
    if hardness > HARDEST:
        yield LabFinding("background", f"its LIX is {hardness:.0f}: write shorter sentences")
    if lab.claim.rstrip(".").lower() in background.lower():
        yield LabFinding("background", "it holds the claim, which students should find")
    if not lab.background and "drawing(" not in background:
        yield LabFinding("background", "it has no drawing")


def _answerable(lab: LabSpec, question: Question, hosts: set[str]) -> Iterator[LabFinding]:
    """Check that the handout explains how to read the file of the answer."""
    for source, pattern in _SOURCES.items():
        if re.search(pattern, question.how) and source not in lab.reads:
            yield LabFinding(question.id, f"the handout does not show how to read '{source}'")
    for host in _HOST_FILE.findall(question.how):
        if host not in hosts:
            yield LabFinding(question.id, f"its answer is in a file of {host}, which is no host")
    named = re.findall(r"`(\w+)`", " ".join(_RUN_NAME.findall(f"{question.ask} {question.how}")))
    for run in named:
        if run not in {each.name for each in lab.runs}:
            yield LabFinding(question.id, f"it is about the run '{run}', which is never made")
    if "how many times the" in question.ask:
        yield LabFinding(question.id, "ask for the larger over the smaller")


def _told(lab: LabSpec, question: Question, background: str) -> Iterator[LabFinding]:
    others = [other.ask for other in lab.questions if other is not question]
    sentences = re.split(r"(?<=[.?!])\s+", " ".join([background, lab.asks, *others]))
    for sentence in sentences:
        words, told = _words(sentence), []
        for option in question.options:
            wanted = _words(option.text)
            if len(wanted) > 2 and len(wanted & words) >= _TOLD * len(wanted):
                told.append(option)
        if len(told) == 1 and len(question.options) > 1:
            yield LabFinding(question.id, f"'{sentence.strip()[:80]}' gives '{told[0].id}' away")


def _words(text: str) -> set[str]:
    return set(re.findall(rf"[a-z]{{{_LONG_ENOUGH},}}", text.lower()))
