"""README's pictures as SVG, from a run and a sweep; `tcplab docs` draws them into docs/."""

import re
import shlex
import tempfile
import textwrap
from collections.abc import Callable, Sequence
from html import escape
from pathlib import Path

from analysis.graphs.inline_stage import STAGE_WIDE, StageFrame, first_repair
from analysis.measures.results import measure_all
from analysis.records.json_reader import Problems
from analysis.records.run_directory import read_run
from analysis.reporting.run_graphs import run_stage
from testbed.host import CODE
from testbed.release.files import called

RUN = "run sack"
SWEEP = "sweep sack --set loss=0%,2%,5%,10% --set delay=10ms,40ms --seeds 10"
_FRAMES, _STEP = 50, 4_000_000  # ns between two moments
_SHOWN = 0.12  # s of each
_PICTURE = re.compile(r'<svg class="first"(.*?)</svg>', re.S)
_TITLE = re.compile(r"<h1>(.*?)</h1>.*?<p class=\"headline\">(.*?)</p>", re.S)
_STYLE = (
    "svg{background:#fff}text{font:12px system-ui,sans-serif;fill:#1a1a1a}"
    "path:not([fill]){fill:none}"
    ".name{font-weight:600}.title{font-size:17px;font-weight:600}.grid{stroke:#d5dbe1}"
    ".axis,.end,.pipe{stroke:#767676;fill:none}.pipe{fill:#d5dbe1}"
)


def write(program: Sequence[str], report: Callable[[str], None]) -> None:
    for name, text in drawn(program).items():
        file = CODE / "docs" / name
        if not file.exists() or file.read_text(encoding="utf-8") != text:
            file.write_text(text, encoding="utf-8")
            report(f"README's picture changed: docs/{name}")


def drawn(program: Sequence[str]) -> dict[str, str]:
    with tempfile.TemporaryDirectory(prefix="tcplab-front-") as name:
        work = Path(name)
        for command in (RUN, SWEEP):
            called([*program, *shlex.split(command)], work, PYTHONPATH=str(CODE))
        run = (work / "runs/sack/latest").resolve()
        sweep = (work / "runs/sweeps/latest/sweep.html").read_text(encoding="utf-8")
        report = (run / "report.html").read_text(encoding="utf-8")
        return {
            "stage.svg": _stage(run),
            "report.svg": _page(report, 340, 2),
            "sweep.svg": _page(sweep, 1000, 1),
        }


def _page(page: str, wide: int, most: int) -> str:
    """Return the question of a page, its verdict, and its first pictures next to each other."""
    title = _TITLE.search(page)
    assert title
    parts = [f'<text class="title" x="8" y="22">{title[1]}</text>']
    lines = textwrap.wrap(title[2], (wide * most - 20) // 8, break_on_hyphens=False)
    parts += [f'<text x="8" y="{46 + 18 * at}">{line}</text>' for at, line in enumerate(lines)]
    top, tall = 50 + 18 * len(lines), 0
    for at, picture in enumerate(_PICTURE.findall(page)[:most]):
        tall = max(tall, int(re.findall(r'height="(\d+)"', picture)[0]))
        parts.append(f'<svg x="{wide * at}" y="{top}" width="{wide}"{picture}</svg>')
    return _whole(wide * most, top + tall, parts)


def _stage(run: Path) -> str:
    problems = Problems()
    trials = run_stage(measure_all(read_run(run, problems), problems))
    begin, parts = first_repair(trials), []
    for at, trial in enumerate(trials):
        moments = [StageFrame(trial, begin + _STEP * frame) for frame in range(_FRAMES)]
        parts.append(f'<g transform="translate(0 {176 * at})">')
        parts.append(f'<text class="name" x="6" y="12">{escape(trial.label)}</text>')
        parts.append(moments[0].drawn("still"))
        for number, moment in enumerate(moments):
            times = f"0;{number / _FRAMES:.3f};{(number + 1) / _FRAMES:.3f}"
            parts.append(
                f'<g visibility="{"hidden" if number else "visible"}">'
                f'<animate attributeName="visibility" values="hidden;visible;hidden"'
                f' keyTimes="{times}" dur="{_SHOWN * _FRAMES:g}s" calcMode="discrete"'
                f' repeatCount="indefinite"/>{moment.drawn("moving")}</g>'
            )
        parts.append("</g>")
    return _whole(STAGE_WIDE, 176 * len(trials), parts)


def _whole(wide: int, tall: int, parts: Sequence[str]) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {tall}" width="{wide}">'
        f"<style>{_STYLE}</style>{''.join(parts)}</svg>\n"
    )
