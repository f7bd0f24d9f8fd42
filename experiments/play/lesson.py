"""Lessons: Markdown with front matter (docs/guides/play.md), whose author is not trusted.

`expect` is a comparison for a test, such as `goodput < 5`; `kept_` means the previous run.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from markdown_it import MarkdownIt

from experiments.play.settings import PlaySettings
from topologies.errors import UsageError

LESSONS = Path(__file__).resolve().parent / "lessons"
GRAPHS = ("window", "rate", "trip", "flight", "sequence")
"""Names of the page's graphs, for a step's `look`."""
_LARGEST = 1 << 18
_LINE = re.compile(r"([a-z]+)(\*?):\s*(.*)")
_FRONT = ("title", "minutes", "labs", "start")
_OF_CHOICES = ("choice", "because")
_IN_STEP = ("set", "keep", "seeds", "ask", *_OF_CHOICES, "answer", "look", "expect")
_SETTING = re.compile(r"(\w+)=(\"[^\"]*\"|\S+)")


@dataclass(frozen=True)
class LessonChoice:
    """One prediction to choose; `because` explains why it is wrong."""

    text: str
    right: bool
    because: str = ""


@dataclass(frozen=True)
class LessonStep:
    """A step: `before`, a prediction, a run, `after`. Texts are HTML; `settings` are complete."""

    title: str
    before: str
    after: str
    settings: dict[str, str]
    keep: bool
    ask: str
    choices: tuple[LessonChoice, ...]
    answer: str
    unit: str
    look: tuple[str, ...]
    expect: str
    line: int


@dataclass(frozen=True)
class Lesson:
    """A lesson by the name of its file; `labs` continue its subject."""

    name: str
    title: str
    minutes: int
    intro: str
    steps: tuple[LessonStep, ...]
    labs: tuple[str, ...]


def all_lessons() -> tuple[Lesson, ...]:
    return tuple(lesson_from(file) for file in sorted(LESSONS.glob("*.md")))


def lesson_from(file: Path) -> Lesson:
    """Read a lesson's file. Raises UsageError with the line of an error."""
    try:
        with file.open("rb") as opened:
            data = opened.read(_LARGEST + 1)
        text = data.decode("utf-8")
    except OSError as error:
        raise UsageError(f"{file}: {error.strerror}.", "Name a lesson's file.") from None
    except UnicodeDecodeError:
        raise UsageError(f"{file} is not UTF-8.", "Save it as UTF-8.") from None
    if len(data) > _LARGEST:
        raise UsageError(f"{file} is longer than a lesson can be.", "Make several of it.")
    return lesson_of(re.sub(r"^\d+-", "", file.stem), text)


def lesson_of(name: str, text: str) -> Lesson:
    """Read a lesson from a text. Raises UsageError with the line of an error."""
    try:
        return _Reader(name, text.splitlines()).lesson()
    except _Wrong as error:
        problem = f"Lesson {name}, line {error.line}: {error.problem}."
        raise UsageError(problem.replace("..", "."), error.remedy) from None


class _Wrong(UsageError):
    def __init__(self, line: int, problem: str, remedy: str) -> None:
        super().__init__(problem, remedy)
        self.line = line


class _Field(NamedTuple):
    """A line `name: text`, or `name*: text`, which is marked."""

    name: str
    marked: bool
    text: str
    line: int


class _Reader:
    def __init__(self, name: str, lines: list[str]) -> None:
        self._name, self._lines = name, lines
        self._markdown = MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")

    def lesson(self) -> Lesson:
        rules = [at for at, line in enumerate(self._lines) if line.strip() == "---"]
        if len(rules) < 2 or rules[0] != 0:
            problem = "the lesson does not begin with a front matter"
            raise _Wrong(1, problem, "Put it between lines of ---.")
        body = rules[1] + 1
        front = _by_name(self._fields(1, rules[1], _FRONT), 1)
        if not front["title"].text:
            raise _Wrong(1, "the lesson has no title", "Write `title: ...` between the rules.")
        minutes = front["minutes"].text or "5"
        if not minutes.isdecimal():
            raise _Wrong(front["minutes"].line, "minutes is no number", "Write minutes: 5.")
        heads = [at for at in range(body, len(self._lines)) if self._lines[at].startswith("## ")]
        if not heads:
            raise _Wrong(body + 1, "the lesson has no step", "Begin each with `## Its title`.")
        settings = _settings(PlaySettings().as_data(), front["start"])
        steps = list[LessonStep]()
        for head, end in zip(heads, [*heads[1:], len(self._lines)], strict=True):
            steps.append(self._step(head, end, settings, bool(steps)))
            settings = steps[-1].settings
        return Lesson(
            self._name,
            front["title"].text,
            int(minutes),
            self._html(body, heads[0]),
            tuple(steps),
            tuple(front["labs"].text.split()),
        )

    def _step(self, head: int, end: int, before: dict[str, str], later: bool) -> LessonStep:
        fences = [at for at in range(head, end) if self._lines[at].strip() == "```play"]
        if len(fences) != 1:
            raise _Wrong(head + 1, f"the step has {len(fences)} blocks of play", "Write one.")
        (fence,) = fences
        closed = [at for at in range(fence + 1, end) if self._lines[at].strip() == "```"]
        if not closed:
            raise _Wrong(fence + 1, "the block is not closed", "Close it with ```.")
        written = self._fields(fence + 1, closed[0], _IN_STEP)
        fields = _by_name((each for each in written if each.name not in _OF_CHOICES), fence + 1)
        choices = _choices(written)
        _check(fields, choices, fence + 1, later)
        answer, _, unit = fields["answer"].text.partition(" ")
        return LessonStep(
            title=self._lines[head][3:].strip(),
            before=self._html(head + 1, fence),
            after=self._html(closed[0] + 1, end),
            settings=_settings(before, fields["set"]),
            keep=fields["keep"].text == "yes",
            ask=fields["ask"].text,
            choices=choices,
            answer=answer,
            unit=unit,
            look=_graphs(fields["look"]),
            expect=fields["expect"].text,
            line=head + 1,
        )

    def _fields(self, begin: int, end: int, known: tuple[str, ...]) -> list[_Field]:
        """Read the lines `name: text`; an indented line continues the previous one."""
        written: list[_Field] = []
        for at in range(begin, end):
            line = self._lines[at]
            if line.startswith(" ") and line.strip() and written:
                joined = f"{written[-1].text} {line.strip()}".strip()
                written[-1] = written[-1]._replace(text=joined)
            elif match := _LINE.fullmatch(line.rstrip()):
                if match[1] not in known:
                    raise _Wrong(at + 1, f"'{match[1]}' is unknown", f"{', '.join(known)}.")
                written.append(_Field(match[1], bool(match[2]), match[3], at + 1))
            elif line.strip():
                raise _Wrong(at + 1, f"'{line.strip()[:40]}' is not understood", "name: text.")
        return written

    def _html(self, begin: int, end: int) -> str:
        rendered: str = self._markdown.render("\n".join(self._lines[begin:end]).strip())
        return rendered


def _by_name(fields: Iterable[_Field], line: int) -> Mapping[str, _Field]:
    """Map names to fields; a field that is not written is empty, at `line`."""
    named = {field.name: field for field in fields}
    return defaultdict(lambda: _Field("", False, "", line), named)


def _choices(written: list[_Field]) -> tuple[LessonChoice, ...]:
    """Return the choices; `because` belongs to the wrong choice on the line before."""
    choices = list[LessonChoice]()
    for before, field in zip([None, *written], written, strict=False):
        if field.name == "choice":
            choices.append(LessonChoice(field.text, field.marked))
        elif field.name == "because":
            if before is None or before.name != "choice" or before.marked:
                raise _Wrong(field.line, "`because` follows no wrong choice", "Put it below one.")
            choices[-1] = replace(choices[-1], because=field.text)
    return tuple(choices)


def _check(
    fields: Mapping[str, _Field], choices: tuple[LessonChoice, ...], line: int, later: bool
) -> None:
    ask, answer, keep = (fields[name] for name in ("ask", "answer", "keep"))
    if ask.text and not choices and not answer.text:
        remedy = "Add `choice:` lines, or `answer:`."
        raise _Wrong(ask.line, "the question has no answer", remedy)
    if (choices or answer.text) and not ask.text:
        raise _Wrong(line, "an answer has no question", "Add `ask: ...`.")
    if choices and sum(choice.right for choice in choices) != 1:
        raise _Wrong(line, "not exactly one choice is right", "Mark it: `choice*: ...`.")
    if keep.text == "yes" and not later:
        raise _Wrong(keep.line, "the first step has no run to keep", "Drop it.")


def _graphs(look: _Field) -> tuple[str, ...]:
    names = look.text.replace(",", " ").split()
    if unknown := [name for name in names if name not in GRAPHS]:
        raise _Wrong(look.line, f"there is no graph {unknown[0][:40]}", f"{', '.join(GRAPHS)}.")
    return tuple(names)


def _settings(before: dict[str, str], field: _Field) -> dict[str, str]:
    if rest := _SETTING.sub("", field.text).strip():
        raise _Wrong(field.line, f"missing '=' in '{rest[:40]}'", "Write loss=1%.")
    given = {name: value.strip('"') for name, value in _SETTING.findall(field.text)}
    try:
        return PlaySettings.from_data(before | given).as_data()
    except UsageError as error:
        raise _Wrong(field.line, error.problem, error.remedy) from None
