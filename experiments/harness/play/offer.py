"""What the page offers beside the sliders: choices by name, defaults, lessons."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, get_args

from experiments.harness.play.lesson_files import Lesson
from experiments.harness.play.settings import PlaySettings
from experiments.spec import CONGESTION_CONTROLS
from topologies.topology_spec import Discipline


@dataclass(frozen=True)
class PageOffer:
    """Lessons, and the name of the one to begin with."""

    lessons: tuple[Lesson, ...] = ()
    first: str = ""

    def as_data(self) -> dict[str, Any]:
        """For the page, in JSON's terms."""
        return {
            "lessons": [lesson.as_data() for lesson in self.lessons],
            "first": self.first,
            "defaults": PlaySettings().as_data(),
            "disciplines": list(get_args(Discipline)),
            "algorithms": list(CONGESTION_CONTROLS),
        }
