"""The recorded stage: its runs are real, its page plays them, and a call waits in a long queue."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from experiments.documentation import pictures
from experiments.documentation.site import STAGE
from experiments.run.session import ready_lab
from tests.analysis.browser import CHROMIUM, NO_CHROMIUM, Page, browser

LINK = ("2mbit", "10ms", "0%")
MOST = 5_000_000  # bytes of all


@pytest.fixture
def page(tmp_path: Path) -> Iterator[Page]:
    if not CHROMIUM:
        pytest.skip(NO_CHROMIUM)
    with browser(tmp_path) as opened:
        yield opened


def choose(page: Page, name: str, value: str) -> str:
    """Move a slider, and return the page's sentence once it has another."""
    sentence: str = page.run(
        "tcplabRecorded.then(({ chosen }) => new Promise((done) => {"
        " const grid = JSON.parse(document.getElementById('recorded-grid').textContent);"
        " const answer = document.getElementById('answer'), before = answer.textContent;"
        " new MutationObserver(() => done(answer.textContent)).observe(answer, {childList: true});"
        f" const name = {json.dumps(name)};"
        " const sliders = Array.from(document.querySelectorAll('#settings input'));"
        " const slider = sliders[Object.keys(WORDS).indexOf(name)];"
        f" slider.value = grid.axes[name].indexOf({json.dumps(value)});"
        " slider.dispatchEvent(new Event('input')); }))"
    )
    return sentence


def median_ms(sentence: str) -> float:
    value, unit = sentence.partition(" take ")[2].split()[:2]
    return float(value) * {"ms": 1, "s": 1000}[unit]


def slow_start_as_sampled(page: Page) -> list[list[int]]:
    """Return the windows that the stage names in slow start between samples, and the next ones."""
    made: list[list[int]] = page.run(
        "tcplabRecorded.then(({ stage: { models: [model] } }) => {"
        " const { time, window, threshold } = model.samples; const found = [];"
        " for (let at = 1; at < time.length; at += 1) {"
        "  const early = { time: time.slice(0, at), window: window.slice(0, at),"
        "   threshold: threshold.slice(0, at) };"
        "  const known = Object.assign(Object.create(model), { samples: early });"
        "  const said = windowAt(known, 0, time[at] - 1e-6);"
        "  if (said && said.isSlow && said.grown && !threshold[at])"
        "   found.push([said.high / model.segment, window[at] / model.segment]); }"
        " return found; })"
    )
    assert all(abs(said - sampled) <= 1 for said, sampled in made), made
    return made


@pytest.mark.virtual
@pytest.mark.browser
def test_pieces_are_recorded_once_and_loaded_when_chosen(page: Page, tmp_path, monkeypatch) -> None:
    first = pictures.Piece(LINK, "cubic")
    monkeypatch.setattr(pictures, "LINKS", (LINK,))
    monkeypatch.setattr(pictures, "QUEUES", ("20", "500"))
    monkeypatch.setattr(pictures, "_FIRST", first)
    monkeypatch.setattr(pictures, "_folder", lambda lab: tmp_path / "kept")
    said: list[str] = []
    files = pictures.recorded(ready_lab(), said.append)
    assert pictures.recorded(ready_lab(), said.append) == files and len(said) == 1
    for name, path in files.items():
        (tmp_path / "site" / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, tmp_path / "site" / name)
    assert sum(path.stat().st_size for path in files.values()) * len(pictures.QUEUES) < MOST
    page.open(tmp_path / "site" / STAGE)
    short = choose(page, "sender", "reno")
    assert median_ms(choose(page, "queue", "500")) > 5 * median_ms(short)
    assert slow_start_as_sampled(page)
    (tmp_path / "site" / f"recorded/{pictures.Piece(LINK, 'bbr').name}.js").unlink()
    assert "cannot be loaded. Choose other settings." in choose(page, "sender", "bbr")
