"""Lessons: their format with its errors, and that what they state is true in the lab."""

import re
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from experiments.play.columns import PlayEvent
from experiments.play.lesson import Lesson, all_lessons, lesson_from, lesson_of
from experiments.play.player import Player, measures_of
from experiments.play.settings import PlaySettings
from labs.definition.catalogue import names
from topologies.errors import UsageError

LESSONS = all_lessons()
WRITTEN = """---
title: A title
start: bw=5mbit flows="cubic+bbr@2s"
---
What *this* is about.

## First

Before.

```play
set: loss=1%
ask: How many
  of them?
choice: one
because: It is
  more.
choice*: two
look: window, rate
expect: goodput < 5
```

After.

## Second
```play
set: loss=0%
keep: yes
```
"""


def test_a_lesson_is_read_whole() -> None:
    lesson = lesson_of("mine", WRITTEN)
    first, second = lesson.steps
    assert (lesson.title, lesson.minutes, lesson.labs) == ("A title", 5, ())
    assert "<em>this</em>" in lesson.intro
    assert (first.title, first.ask) == ("First", "How many of them?")
    assert "Before." in first.before and "After." in first.after
    assert [(choice.text, choice.right, choice.because) for choice in first.choices] == [
        ("one", False, "It is more."),
        ("two", True, ""),
    ]
    assert first.look == ("window", "rate") and first.expect == "goodput < 5"
    assert first.settings == PlaySettings().as_data() | {
        "bw": "5mbit",
        "flows": "cubic+bbr@2s",
        "loss": "1%",
    }
    assert second.settings == first.settings | {"loss": "0%"} and second.keep and not second.ask


def test_each_wrong_choice_has_an_explanation_that_no_other_has() -> None:
    for lesson in LESSONS:
        for step in lesson.steps:
            given = [choice.because for choice in step.choices if not choice.right]
            assert all(given) and len(set(given)) == len(given), (lesson.name, step.title)


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        ("---\ntitle: A title", "title: A title", 1, "front matter"),
        ("title: A title", "name: A title", 2, "'name' is unknown"),
        ("title: A title\n", "", 1, "no title"),
        ("title: A title", "title: A title\nminutes: few", 3, "minutes"),
        ("bw=5mbit", "bw=5b", 3, "bits or bytes"),
        ("bw=5mbit", "speed=5mbit", 3, "speed"),
        ("bw=5mbit", "5mbit", 3, "missing '=' in '5mbit'"),
        ("## First", "# First", 28, "no run to keep"),
        ("```play\nset: loss=1%", "```\nset: loss=1%", 7, "0 blocks"),
        ("set: loss=1%", "set: loss=200%", 12, "loss"),
        ("look: window, rate", "look: windows", 19, "no graph windows"),
        ("choice*: two", "choice: two", 11, "not exactly one choice"),
        ("ask: How many\n  of them?\n", "", 11, "no question"),
        ("choice: one\nbecause: It is\n  more.\nchoice*: two\n", "", 13, "question has no answer"),
        ("choice: one", "choice one", 15, "not understood"),
        ("set: loss=1%", "keep: yes", 12, "no run to keep"),
        ("choice: one\nbecause", "because", 15, "follows no wrong choice"),
        ("choice: one", "choice*: one", 16, "follows no wrong choice"),
        ("set: loss=0%\nkeep: yes\n```\n", "set: loss=0%", 26, "not closed"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(old, new, line, words) -> None:
    assert old in WRITTEN
    with pytest.raises(UsageError, match=words) as refused:
        lesson_of("mine", WRITTEN.replace(old, new, 1))
    assert "Lesson mine, line " in str(refused.value)
    assert line is None or f"line {line}: " in str(refused.value)


def test_files_that_are_no_lesson_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="No such file"):
        lesson_from(tmp_path / "nothing.md")
    (tmp_path / "binary.md").write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match="UTF-8"):
        lesson_from(tmp_path / "binary.md")
    (tmp_path / "long.md").write_text("x" * (1 << 19))
    with pytest.raises(UsageError, match="longer"):
        lesson_from(tmp_path / "long.md")


def test_no_html_of_a_stranger_is_html_of_the_page() -> None:
    nasty = (
        "<script>alert(1)</script> <img src=x onerror=alert(1)>"
        " [a](javascript:alert(1)) ![b](http://elsewhere.example/x.png)"
    )
    (step, _) = lesson_of("mine", WRITTEN.replace("Before.", nasty)).steps
    assert "<script" not in step.before and "<img" not in step.before
    assert 'href="javascript' not in step.before


def test_lessons_are_whole() -> None:
    assert {lab for lesson in LESSONS for lab in lesson.labs} == {*names()}
    assert len(LESSONS) >= 12 and len({lesson.name for lesson in LESSONS}) == len(LESSONS)
    for lesson in LESSONS:
        for step in lesson.steps:
            assert step.ask and step.after and step.expect and step.look, (lesson.name, step.title)


def holds(expectation: str, measures: dict[str, float]) -> bool:
    """Judge an expectation of one of our lessons; an unknown measure is a NameError."""
    counts = dict.fromkeys(re.findall(r"(?:kept_)?count_\w+", expectation), 0)
    return bool(eval(expectation, {"__builtins__": {}}, counts | measures))


def test_an_expectation_compares_measures() -> None:
    measures = {"goodput": 4.0, "kept_goodput": 5.0}
    assert holds("goodput == kept_goodput - 1 and count_time_out == 0", measures)
    assert not holds("goodput > 5", measures)
    with pytest.raises(NameError, match="speed"):
        holds("speed < 1", measures)


@pytest.fixture(scope="module")
def player() -> Iterator[Player]:
    with Player(waiting=1) as made:
        yield made


@pytest.mark.virtual
@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.name)
def test_what_a_lesson_states_is_true_in_the_lab(lesson: Lesson, player: Player) -> None:
    kept: dict[str, float] = {}
    for step in lesson.steps:
        events: list[PlayEvent] = []
        outcome = player.play(
            PlaySettings.from_data(step.settings),
            lambda heard, events=events: (  # type: ignore[misc]
                events.append(heard) if isinstance(heard, PlayEvent) else None
            ),
            threading.Event(),
        )
        measures = measures_of(outcome, events)
        before = {f"kept_{name}": value for name, value in kept.items()}
        assert outcome.verdict == "good", (lesson.name, step.title)
        assert holds(step.expect, measures | before), (step.title, step.expect, measures, before)
        assert not step.answer or step.answer in measures
        kept = measures
