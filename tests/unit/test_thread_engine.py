"""The engine of one machine: results as they come, and no task left when the caller goes away."""

from collections.abc import Iterator
from threading import Barrier, Event
from typing import Any

import pytest

from testbed.engine import Done, Stopped, Task, local_engine
from testbed.host.supervise import Progress
from testbed.lab.ready import Lab
from tests.unit.made_sweeps import LAB
from topologies.errors import TcplabError

PATIENCE = 300.0  # seconds: for hangs


class Told:
    """A listener that keeps what it hears."""

    def __init__(self) -> None:
        self.words: list[tuple[str, str, float]] = []

    def running(self, key: str, phase: str, elapsed: float) -> None:
        self.words.append((key, phase, elapsed))

    def note(self, text: str) -> None:
        raise AssertionError(text)


def doubled(number: int, lab: Lab, progress: Progress) -> int:
    assert lab is LAB
    progress("doubling", 1.5)
    return 2 * number


def test_every_task_ends_once_and_tells_how_far_it_is() -> None:
    told = Told()
    with local_engine(LAB, 3, told) as engine:
        done = list(engine.run(Task(f"n{n}", doubled, (n,)) for n in range(40)))
    assert {result.key: result.result() for result in done} == {f"n{n}": 2 * n for n in range(40)}
    assert sorted(told.words) == sorted((f"n{n}", "doubling", 1.5) for n in range(40))


def test_as_many_tasks_as_slots_run_at_once() -> None:
    together = Barrier(4)

    def met(_lab: Lab, _progress: Progress) -> int:
        return together.wait(PATIENCE)

    with local_engine(LAB, 4, Told()) as engine:
        done = list(engine.run(Task(str(n), met, ()) for n in range(4)))
    assert sorted(result.result() for result in done) == [0, 1, 2, 3]


def test_an_error_belongs_to_its_task() -> None:
    def failing(error: Exception, _lab: Lab, _progress: Progress) -> None:
        raise error

    def ended(error: Exception) -> Done:
        with local_engine(LAB, 1, Told()) as engine:
            return next(engine.run([Task("bad", failing, (error,))]))

    expected = TcplabError("The guest died.", "Look.")
    assert ended(expected).result() is expected
    bug = ended(ZeroDivisionError("by nothing"))
    assert "in failing" in bug.trace
    with pytest.raises(ZeroDivisionError):
        bug.result()


def test_what_runs_is_ended_if_the_caller_goes_away() -> None:
    begun, ended = Event(), Event()

    def endless(_lab: Lab, progress: Progress) -> None:
        try:
            begun.set()
            while True:
                progress("for ever", 0.0)
        except Stopped:
            ended.set()
            raise

    def tasks() -> Iterator[Task]:
        yield Task("quick", doubled, (1,))
        yield Task("endless", endless, ())
        yield Task("never begun", never, ())

    def never(*_: Any) -> None:
        raise AssertionError("its slot was not free")

    with pytest.raises(KeyboardInterrupt), local_engine(LAB, 1, Told()) as engine:
        for done in engine.run(tasks()):
            assert done.key == "quick"
            assert begun.wait(PATIENCE)
            raise KeyboardInterrupt
    assert ended.wait(PATIENCE)
