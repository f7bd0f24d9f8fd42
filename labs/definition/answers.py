"""The student's files: answers.toml, predictions.json, texts and pictures as programs save them.

Texts are UTF-8 with or without a byte order mark, or UTF-16 from Windows' Notepad and Excel.
Pictures are PNG or JPEG by their first bytes: neither format can hold a program. A student can
rewrite predictions.json undetected, so a prediction earns no points."""

import codecs
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from analysis.records.json_reader import Problems, printable
from labs.definition.spec import FIXED_FILES, LabRun, LabSpec, Question
from topologies import untrusted
from topologies.errors import TcplabError, UsageError
from topologies.notation import json_value, toml_table

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, whose mark begins it
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
"""Byte order marks (The Unicode Standard, section 23.8) and the encodings that they announce."""


def byte_order_mark(content: bytes) -> tuple[bytes, str]:
    """The byte order mark of a file, empty if it has none, and its encoding, UTF-8 without one."""
    marks = ((mark, encoding) for mark, encoding in _MARKS if content.startswith(mark))
    return next(marks, (b"", "utf-8"))


def decoded(content: bytes) -> str:
    """Return a text without its byte order mark. Raises ValueError with a reason for people."""
    mark, encoding = byte_order_mark(content)
    if not mark and b"\0" in content[:2]:
        encoding = "utf-16-be" if content[:1] == b"\0" else "utf-16-le"
    content = content.removeprefix(mark)
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        problem = f"line {line} is no text in {encoding.upper()}; save it as UTF-8"
        raise ValueError(problem) from None
    if "\0" in text:
        raise ValueError("it holds zero bytes, so it is no text; save it as UTF-8")
    return text


def as_json(value: Any) -> str:
    return json.dumps(value, indent=1) + "\n"


def displayable(name: str) -> str:
    """A file's name as pages, tables and terminals can show it: on a disk it may hold anything."""
    text = printable(name.encode(errors="replace").decode())
    return text.replace("\n", "\N{REPLACEMENT CHARACTER}")


LARGEST_PICTURE = 5_000_000  # bytes
_BEGINNINGS = {b"\x89PNG\r\n\x1a\n": "png", b"\xff\xd8\xff": "jpeg"}


def picture_kind(file: Path) -> str | None:
    """`png` or `jpeg`; None if the file is neither, is too large or is missing."""
    try:
        beginning = untrusted.content(file.parent, file.name, LARGEST_PICTURE)[:8]
    except (OSError, untrusted.StrangeFile):
        return None
    return next((kind for start, kind in _BEGINNINGS.items() if beginning.startswith(start)), None)


LARGEST = 64 * 1024  # bytes
_LONGEST = 8000  # characters of one answer
_MOST_MISSPELT = 20
_MOST_DIGITS = 1000
"""Digits of a number that are read: more are no answer, and Python's int() refuses 4301."""
_TOO_MANY_DIGITS = re.compile(rf"([0-9](?:_?[0-9]){{{_MOST_DIGITS - 1}}})(?:_?[0-9])+")
_ENTRY = re.compile(
    r"^(?P<name>[a-z][a-z0-9_]{0,39})[ \t]*=.*(?:\n(?![a-z][a-z0-9_]{0,39}[ \t]*=|\[).*)*", re.M
)
"""A name and its value, up to the line of the next name."""
_QUOTES = dict.fromkeys(map(ord, "\u201c\u201d\u201e\u201f\u00ab\u00bb"), '"')
Answers = dict[str, list[str]]
"""Question id to the answer: an empty list, one text, or the ticked options."""


def read_sheet(file: Path, lab: LabSpec) -> Answers:
    """Return the answers in a file and in files of fixed names next to it. Raises TcplabError."""
    table, _ = _table(file)

    answers = {}
    for question in lab.questions:
        names = FIXED_FILES.get(question.kind, ())
        is_there = all((file.parent / name).is_file() for name in names)
        given = _given(table.get(question.id), question)
        answers[question.id] = given or ([*names[:1]] if is_there else [])
    return answers


def misspelt(file: Path, lab: LabSpec) -> dict[str, str]:
    """Return names that no question has or whose answer cannot be read, each with the reason."""
    ids = [question.id for question in lab.questions]
    answers, broken = _table(file)
    unknown = [name[:40] for name in answers if name not in ids]
    sentences = dict(broken)
    for name in unknown[:_MOST_MISSPELT]:
        near = "".join(f"; is {other} meant?" for other in get_close_matches(name, ids, 1))
        sentences[untrusted.plain(name)] = f"no question has this name{near}"
    return sentences


def _table(file: Path) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the table [answers], and what of it cannot be read, why. Raises TcplabError."""
    try:
        content = untrusted.content(file.parent, file.name, LARGEST)
    except OSError as error:
        remedy = "Hand it in together with your runs."
        raise TcplabError(f"{file.name} cannot be read: {error.strerror}.", remedy) from None
    except untrusted.TooLarge:
        problem = f"{file.name} is larger than {LARGEST // 1024} KiB."
        raise TcplabError(problem, "It should hold short answers only.") from None
    try:
        text = _TOO_MANY_DIGITS.sub(r"\1", decoded(content))
    except ValueError as error:
        raise _unreadable(file, error) from None
    try:
        table = toml_table(text).get("answers")
    except ValueError as error:
        return _salvaged(file, text, error)
    if not isinstance(table, dict):
        remedy = "Keep the line [answers] above your answers."
        raise TcplabError(f"{file.name} has no [answers].", remedy)
    return table, {}


def _unreadable(file: Path, error: Exception) -> TcplabError:
    remedy = 'Write each answer in quotation marks, on its line: goodput = "231 kbit/s".'
    return TcplabError(f"{file.name} cannot be read: {str(error)[:200]}.", remedy)


def _salvaged(file: Path, text: str, error: Exception) -> tuple[dict[str, Any], dict[str, str]]:
    answers: dict[str, Any] = {}
    broken: dict[str, str] = {}
    for entry in _ENTRY.finditer(text):
        try:
            answers |= _entry(entry[0])
        except ValueError as reason:
            broken[entry["name"]] = f"its answer cannot be read: {str(reason)[:200]}"
    if not answers:
        raise _unreadable(file, error)
    return answers, broken


def _entry(text: str) -> dict[str, Any]:
    """Return an answer; quotation marks of word processors around it are taken for plain ones."""
    try:
        return toml_table(text)
    except ValueError:
        return toml_table(text.translate(_QUOTES))


def _given(value: object, question: Question) -> list[str]:
    """Return the answer, cut to a length for a page; numbers may stand without quotation marks."""
    given = []
    for item in (value if isinstance(value, list) else [value])[:50]:
        if isinstance(item, str | int | float) and not isinstance(item, bool):
            try:
                text = str(item)
            except ValueError:  # a whole number in other digits than decimal ones has no limit
                text = hex(item) if isinstance(item, int) else ""
            given.append(untrusted.plain(text[:_LONGEST]).strip())
    given = [text for text in given if text]
    return sorted(set(given)) if question.kind == "choices" else given[:1]


PREDICTIONS = "predictions.json"
LEAST_WORDS = 6  # of a prediction in words: fewer give no reason
_LARGEST_PREDICTIONS = 64 * 1024  # bytes
_LONGEST_PREDICTION = 2000  # characters


def is_made(question: Question, given: list[str]) -> bool:
    """Return whether this is a prediction: an option that there is, or a sentence."""
    if question.options:
        return bool(given) and given[0] in {option.id for option in question.options}
    return bool(given) and len(given[0].split()) >= LEAST_WORDS


def read_predictions(folder: Path, lab: LabSpec, problems: Problems | None = None) -> Answers:
    """Return recorded predictions; empty if the file is absent or, with a problem, is none."""
    try:
        table = json_value(untrusted.content(folder, PREDICTIONS, _LARGEST_PREDICTIONS))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, untrusted.StrangeFile):
        table = None
    if not isinstance(table, dict):
        if problems is not None:
            problems.add(f"{PREDICTIONS} cannot be read: no prediction of it counts.")
        return {}
    given = {question.id: table.get(question.id) for question in lab.questions if question.before}
    return {
        name: [untrusted.plain(text[:_LONGEST_PREDICTION])]
        for name, text in given.items()
        if isinstance(text, str) and text
    }


def record(folder: Path, lab: LabSpec, run: LabRun, answers: Answers) -> None:
    """Record new predictions of `run`. Raises UsageError if one is missing."""
    known = read_predictions(folder, lab)
    asked = [each for each in lab.questions if each.before == run.name and each.id not in known]
    for question in asked:
        if not is_made(question, answers.get(question.id, [])):
            how = "one of its options" if question.options else f"at least {LEAST_WORDS} words"
            raise UsageError(
                f"The run {run.name} waits for your prediction '{question.id}'.",
                f"Write {how} into answers.toml, then ./tcplab lab run {folder}.",
            )
    if asked:
        new = {question.id: answers[question.id][0] for question in asked}
        whole = {name: given[0] for name, given in known.items()} | new
        (folder / PREDICTIONS).write_text(as_json(whole))


@dataclass(frozen=True)
class OwnParts:
    """A module, the folder of programs that hosts run, and NAME=VALUE by the name of a run."""

    module: Path | None = None
    program: Path | None = None
    settings: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def examples_of(lab: LabSpec, module: Path | None) -> OwnParts:
    """Return parts that show the lab without a student: the lab's good choices."""
    return OwnParts(module, settings={run.name: run.example for run in lab.runs if run.chosen})


def parts_of(
    lab: LabSpec, answers: Answers, module: Path | None, program: Path | None = None
) -> OwnParts:
    """Return the chosen settings; a run whose answer is blank or wrong has none."""
    settings = {}
    for run in lab.runs:
        try:
            if chosen := chosen_in(lab, run, answers):
                settings[run.name] = chosen
        except UsageError:
            continue
    return OwnParts(module, program, settings)


def chosen_in(lab: LabSpec, run: LabRun, answers: Answers) -> tuple[str, ...]:
    """Return the settings of a run that the answers choose. Raises UsageError for wrong ones."""
    designs = (each for each in lab.questions if each.kind == "design" and each.run == run.name)
    question = next(designs, None)
    if not run.chosen or question is None:
        return ()
    given = answers.get(question.id, [])
    if not given:
        remedy = f"Write your choice into answers.toml: {question.id} = {sample_of(run)!r}."
        raise UsageError(f"The run {run.name} needs your settings.", remedy)
    return _checked(run, given[0], question.id)


def _checked(run: LabRun, text: str, question: str) -> tuple[str, ...]:
    words = re.sub(r"\s*=\s*", "=", text).replace(",", " ").split()
    given = dict(word.partition("=")[::2] for word in words)
    spans = {span.name: span.values for span in run.chosen}
    for name, value in given.items():
        if name not in spans:
            remedy = f"There is {', '.join(spans)}."
            raise UsageError(f"{question}: '{name[:40]}' cannot be chosen.", remedy)
        if value not in spans[name]:
            remedy = f"Choose from {', '.join(spans[name])}."
            raise UsageError(f"{question}: {name} cannot be '{value[:40]}'.", remedy)
    if len(words) != len(given) or len(given) != (1 if run.one else len(spans)):
        wanted = "one setting" if run.one else "a value for each of " + ", ".join(spans)
        raise UsageError(f"{question}: {wanted} is wanted.", f"Write for example {sample_of(run)}.")
    return tuple(f"{name}={given[name]}" for name in spans if name in given)


def sample_of(run: LabRun) -> str:
    """Return a choice as it is written: first values, which are not the run's good choice."""
    spans = run.chosen[:1] if run.one else run.chosen
    return " ".join(f"{span.name}={span.values[0]}" for span in spans)
