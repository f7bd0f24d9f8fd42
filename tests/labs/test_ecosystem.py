"""What goes along with the labs: notebooks that do what they say, and whole scripts."""

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import polars
import pytest
from click.testing import CliRunner

from labs.commands import lab as lab_commands
from labs.definition import catalogue
from labs.definition.assignment import variant
from labs.student.handout import notebook
from labs.student.python_api import start
from tests.labs.conftest import COURSE
from tests.labs.student import PREDICTED

LABS = catalogue.FOLDER


@pytest.mark.parametrize("name", catalogue.names())
def test_the_code_of_notebooks_compiles(name: str) -> None:
    lab = catalogue.find(name)
    content = json.loads(notebook(lab, variant(COURSE, lab, "ann")))
    assert [cell["cell_type"] for cell in content["cells"]].count("code") == 7
    for cell in content["cells"]:
        if cell["cell_type"] == "code":
            compile(cell["source"], name, "exec")


@pytest.mark.parametrize(
    "script", sorted((LABS / "ecosystem" / "gradescope").iterdir()), ids=lambda file: file.name
)
def test_scripts_are_whole(script: Path) -> None:
    subprocess.run(["sh", "-n", str(script)], check=True)
    assert script.stat().st_mode & 0o100


@pytest.mark.virtual
def test_the_key_of_a_student_is_printed(tmp_path: Path) -> None:
    words = ["key", "packet_loss", "--student", "ann", "--out", str(tmp_path)]
    result = CliRunner().invoke(lab_commands, words)
    assert result.exit_code == 0, result.output
    lines = [
        line for line in result.output.splitlines() if line.startswith("   ")
    ]  # of the key, not of the progress
    numbers = [line for line in lines if line.endswith((" s", " %", " kB/s"))]
    assert len(numbers) == 5 and "read by a person. 20 %:" in result.output


@pytest.mark.virtual
def test_a_notebook_does_the_lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    start("sack", "ann", folder=tmp_path / "sack-ann")
    monkeypatch.chdir(tmp_path / "sack-ann")
    names: dict[str, Any] = {}
    for cell in json.loads(Path("sack.ipynb").read_text())["cells"]:
        if cell["cell_type"] == "code":
            source = cell["source"]
            for name, prediction in PREDICTED.items():
                source = source.replace(f'"{name}": ""', f'"{name}": "{prediction}"')
            exec(source, names)
    rates = names["tables"]["sack"].filter(polars.col("what") == "server.rate")
    assert rates["sack_on"].item() > 0
    page = names["tcplab"].lab.handout(names["assignment"])._repr_markdown_()
    drawings = re.findall(r"\]\((.*?\.svg)\)", page)
    assert drawings and all(Path(name).is_file() for name in drawings)
    counters = names["tables"]["sack"].filter(polars.col("what").str.starts_with("nstat."))
    assert 10 < len(counters) < 100, "those that stayed zero are left out"
    assert names["runs"].keys() == {"sack"}, "the second run waits for its settings"
    names["tcplab"].lab.pack(names["assignment"])
    assert (tmp_path / "sack-ann" / "sack-ann.zip").stat().st_size > 10_000
