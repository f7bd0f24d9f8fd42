"""A cache of its own for each test, and a recipe that builds in no time."""

from dataclasses import dataclass, field
from pathlib import Path

import pytest

from testbed.builds import BuildReport, Workshop
from testbed.builds.cache import Facts, Recipe


@dataclass
class RecordingReport(BuildReport):
    """Remembers the notes and steps that it is told."""

    notes: list[str] = field(default_factory=list)
    steps: list[tuple[str, float | None]] = field(default_factory=list)

    def note(self, text: str) -> None:
        self.notes.append(text)

    def step(self, text: str, share: float | None = None) -> None:
        self.steps.append((text, share))


@dataclass
class Oven:
    """Makes recipes and counts how often each was built."""

    sources: Path
    built: list[str] = field(default_factory=list)

    def recipe(self, name: str = "cake", content: str = "sweet", *outputs: str) -> Recipe:
        source = self.sources / f"{name}.txt"
        source.write_text(content)
        outputs = outputs or ("slice",)

        def build(workshop: Workshop) -> Facts:
            self.built.append(name)
            for output in outputs:
                (workshop.folder / output).write_text(content * 100)
            (workshop.folder / "crumbs").mkdir()
            facts = {"release": "7.2", "seccomp": True, "time_travel": True}
            return facts | {"packages": {"iperf": "2.1"}}

        return Recipe(name, (source,), outputs, build)


@pytest.fixture
def cache_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TCPLAB_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def oven(tmp_path: Path, cache_folder: Path) -> Oven:
    return Oven(tmp_path)


@pytest.fixture
def report() -> RecordingReport:
    return RecordingReport()
