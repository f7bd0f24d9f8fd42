"""Lessons: Markdown with front matter (docs/guides/play.md), whose author is not trusted.

`expect` is a comparison for a test, such as `goodput < 5`; `kept_` means the previous run.
"""

import re
from collections import defaultdict
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from markdown_it import MarkdownIt

from experiments.play.settings import PlaySettings
from topologies.errors import UsageError

LESSONS = Path(__file__).resolve().parent / "lessons"
GRAPHS = ("window", "rate", "trip", "flight", "sequence")
"""Names of the page's graphs, for a step's `look`."""
_LARGEST = 1 << 18
_RULE, _FENCE, _END = "---", "```play", "```"
_LINE = re.compile(r"([a-z]+)(\*?):\s*(.*)")
_TITLE, _STEP = (
    ("title", "minutes", "labs", "start"),
    ("set", "keep", "seeds", "ask", "choice", "because"),
)
_OF_CHOICES = ("choice", "because")
_IN_STEP = (*_STEP, "answer", "look", "expect")
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
    keep: bool = False
    ask: str = ""
    choices: tuple[LessonChoice, ...] = ()
    answer: str = ""
    unit: str = ""
    look: tuple[str, ...] = ()
    expect: str = ""
    line: int = 0


@dataclass(frozen=True)
class Lesson:
    """A lesson by the name of its file; `labs` continue its subject."""

    name: str
    title: str
    minutes: int
    intro: str
    steps: tuple[LessonStep, ...]
    labs: tuple[str, ...] = ()

    def as_data(self) -> dict[str, Any]:
        return asdict(self)


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
    return _Reader(name, text.splitlines()).lesson()


@dataclass(frozen=True)
class _Field:
    name: str
    marked: bool
    text: str
    line: int


class _Reader:
    def __init__(self, name: str, lines: list[str]) -> None:
        self._name, self._lines = name, lines
        self._markdown = MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")

    def lesson(self) -> Lesson:
        front, body = self._front_matter()
        words = {field.name: field for field in front}
        if "title" not in words:
            raise self._wrong(1, "the lesson has no title", "Write `title: ...` between the rules.")
        minutes = words["minutes"].text if "minutes" in words else "5"
        if not minutes.isdecimal():
            raise self._wrong(words["minutes"].line, "minutes is no number", "Write minutes: 5.")
        heads = [at for at in range(body, len(self._lines)) if self._lines[at].startswith("## ")]
        if not heads:
            raise self._wrong(body + 1, "the lesson has no step", "Begin each with `## Its title`.")
        settings = self._settings(PlaySettings().as_data(), words.get("start"))
        steps = list[LessonStep]()
        for head, end in zip(heads, [*heads[1:], len(self._lines)], strict=True):
            steps.append(self._step(head, end, settings, bool(steps)))
            settings = steps[-1].settings
        return Lesson(
            self._name,
            words["title"].text,
            int(minutes),
            self._html(body, heads[0]),
            tuple(steps),
            tuple(words["labs"].text.split()) if "labs" in words else (),
        )

    def _front_matter(self) -> tuple[list[_Field], int]:
        ends = [at for at, line in enumerate(self._lines) if line.strip() == _RULE]
        if len(ends) < 2 or ends[0] != 0:
            raise self._wrong(
                1, "the lesson does not begin with a front matter", "Put it between lines of ---."
            )
        return self._fields(1, ends[1], _TITLE), ends[1] + 1

    def _step(self, head: int, end: int, before: dict[str, str], later: bool) -> LessonStep:
        fences = [at for at in range(head, end) if self._lines[at].strip() == _FENCE]
        if len(fences) != 1:
            raise self._wrong(head + 1, f"the step has {len(fences)} blocks of play", "Write one.")
        (fence,) = fences
        closed = [at for at in range(fence + 1, end) if self._lines[at].strip() == _END]
        if not closed:
            raise self._wrong(fence + 1, "the block is not closed", "Close it with ```.")
        written = self._fields(fence + 1, closed[0], _IN_STEP)
        words = {field.name: field for field in written if field.name not in _OF_CHOICES}
        choices = self._choices(written)
        self._check(words, choices, fence + 1, later)
        texts = defaultdict(str, {name: field.text for name, field in words.items()})
        answer, _, unit = texts["answer"].partition(" ")
        return LessonStep(
            title=self._lines[head][3:].strip(),
            before=self._html(head + 1, fence),
            after=self._html(closed[0] + 1, end),
            settings=self._settings(before, words.get("set")),
            keep=texts["keep"] == "yes",
            ask=texts["ask"],
            choices=choices,
            answer=answer,
            unit=unit,
            look=tuple(texts["look"].replace(",", " ").split()),
            expect=texts["expect"],
            line=head + 1,
        )

    def _choices(self, written: list[_Field]) -> tuple[LessonChoice, ...]:
        """Return the choices; `because` belongs to the wrong choice on the line before."""
        choices = list[LessonChoice]()
        for before, field in zip([None, *written], written, strict=False):
            if field.name == "choice":
                choices.append(LessonChoice(field.text, field.marked))
            elif field.name == "because":
                if before is None or before.name != "choice" or before.marked:
                    raise self._wrong(
                        field.line, "`because` follows no wrong choice", "Put it below one."
                    )
                choices[-1] = replace(choices[-1], because=field.text)
        return tuple(choices)

    def _check(
        self, words: dict[str, _Field], choices: tuple[LessonChoice, ...], line: int, later: bool
    ) -> None:
        if "ask" in words and not choices and "answer" not in words:
            raise self._wrong(
                words["ask"].line,
                "the question has no answer",
                "Add `choice:` lines, or `answer:`.",
            )
        if (choices or "answer" in words) and "ask" not in words:
            raise self._wrong(line, "an answer has no question", "Add `ask: ...`.")
        if choices and sum(choice.right for choice in choices) != 1:
            raise self._wrong(line, "not exactly one choice is right", "Mark it: `choice*: ...`.")
        if "keep" in words and words["keep"].text == "yes" and not later:
            raise self._wrong(words["keep"].line, "the first step has no run to keep", "Drop it.")
        for name in words["look"].text.replace(",", " ").split() if "look" in words else ():
            if name not in GRAPHS:
                raise self._wrong(
                    words["look"].line, f"there is no graph {name[:40]}", f"{', '.join(GRAPHS)}."
                )

    def _settings(self, before: dict[str, str], field: _Field | None) -> dict[str, str]:
        if field is None:
            return before
        pairs = _SETTING.findall(field.text)
        rest = _SETTING.sub("", field.text).strip()
        if rest:
            raise self._wrong(field.line, f"missing '=' in '{rest[:40]}'", "Write loss=1%.")
        made = before | {name: value.strip('"') for name, value in pairs}
        try:
            return PlaySettings.from_data(made).as_data()
        except UsageError as error:
            raise self._wrong(field.line, error.problem, error.remedy) from None

    def _fields(self, begin: int, end: int, known: tuple[str, ...]) -> list[_Field]:
        """Read the lines `name: text`; an indented line continues the previous one."""
        written: list[_Field] = []
        for at in range(begin, end):
            line = self._lines[at]
            if line.startswith(" ") and line.strip() and written:
                last = written[-1]
                joined = f"{last.text} {line.strip()}".strip()
                written[-1] = _Field(last.name, last.marked, joined, last.line)
            elif match := _LINE.fullmatch(line.rstrip()):
                if match[1] not in known:
                    raise self._wrong(at + 1, f"'{match[1]}' is unknown", f"{', '.join(known)}.")
                written.append(_Field(match[1], bool(match[2]), match[3], at + 1))
            elif line.strip():
                raise self._wrong(at + 1, f"'{line.strip()[:40]}' is not understood", "name: text.")
        return written

    def _html(self, begin: int, end: int) -> str:
        rendered: str = self._markdown.render("\n".join(self._lines[begin:end]).strip())
        return rendered

    def _wrong(self, line: int, problem: str, remedy: str) -> UsageError:
        return UsageError(
            f"Lesson {self._name}, line {line}: {problem}.".replace("..", "."), remedy
        )
