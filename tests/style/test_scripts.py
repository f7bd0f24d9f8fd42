"""The JavaScript of the pages parses, and uses no name that nobody declares."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from experiments.play.server import PAGE, whole_script

ROOT = Path(__file__).resolve().parents[2]
ESLINT = "eslint@9.39.5"
CONFIGURATION = "eslint.config.mjs"
_SCRIPT = re.compile(r"<script>\n(.*?)</script>", re.DOTALL)
_COMMENT = re.compile(r"\{#.*?#\}\n|\{% (?:if|endif).*?\n", re.DOTALL)
_INCLUDED = re.compile(r"\{% include \"((?:\w+/)*\w+\.js)\" %\}")
SHARED = ROOT / "analysis/rendering/templates"


def whole(text: str, folder: Path) -> str:
    """A script as a page has it, with the files that it includes."""
    text = _COMMENT.sub("", text)
    return _INCLUDED.sub(lambda match: whole(_included(match[1], folder), folder), text)


def _included(name: str, folder: Path) -> str:
    places = (folder / name, folder / Path(name).name, SHARED / name)
    return next(place for place in places if place.exists()).read_text()


def scripts() -> dict[str, str]:
    """Every script of the project by a name."""
    graphs, labs = ROOT / "analysis/rendering/templates/packets", ROOT / "labs/templates"
    (page,) = _SCRIPT.findall((graphs / "page.html").read_text())
    (report,) = _SCRIPT.findall((SHARED / "board.html").read_text())
    (share,) = _SCRIPT.findall((SHARED / "share.html").read_text())
    (recorded,) = _SCRIPT.findall((SHARED / "recorded.html").read_text())
    (index,) = _SCRIPT.findall((SHARED / "index.html").read_text())
    return {
        "graphs.js": whole(page, graphs),
        "report.js": whole(report, SHARED),
        "share.js": whole(share, SHARED),
        "recorded.js": whole(recorded, SHARED),
        "index.js": whole(index, SHARED),
        "reading.js": whole((labs / "reading.js").read_text(), labs),
        "play.js": whole_script(),
        "local_worker.js": (ROOT / "experiments/documentation/local_worker.js").read_text(),
    }


def test_every_script_is_looked_at() -> None:
    together = "\n".join(scripts().values())
    for package in ("analysis", "labs", "experiments", "testbed"):
        for file in (ROOT / package).rglob("*.js"):
            text = whole(file.read_text(), file.parent)
            assert text.rstrip().rpartition("\n")[2] in together, file
    assert [
        file.stem for file in PAGE.glob("*.js") if f"modules.{file.stem} =" not in together
    ] == []


def test_no_script_has_a_fault(tmp_path: Path) -> None:
    if not shutil.which("npx"):
        pytest.skip("no npx here: sudo apt-get install npm")
    for name, text in scripts().items():
        (tmp_path / name).write_text(text)
    shutil.copy(ROOT / CONFIGURATION, tmp_path)
    command = ["npx", "--yes", ESLINT, "--max-warnings", "0", *scripts()]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    if "npm error" in done.stderr or "npm ERR!" in done.stderr:
        pytest.skip("ESLint cannot be fetched here")
    assert done.returncode == 0, done.stdout + done.stderr
