"""`python -m labs.notebooks` writes LAB.ipynb for every lab, in the notebook format 4.5.

See nbformat.readthedocs.io.
"""

from __future__ import annotations

import json
import textwrap
from pathlib import Path
from typing import Any

from labs.definition import catalogue
from labs.definition.spec import LabSpec, Question

_FOLDER = Path(__file__).parent
_BEGINNING = """\
This does what `./tcplab lab start`, `run`, `check` and `pack` do, from Python. Install Jupyter
beside tcplab's own Python, and start it in a folder of yours:

    PATH_OF_TCPLAB/.venv/bin/pip install jupyterlab polars
    PATH_OF_TCPLAB/.venv/bin/jupyter lab

The handout is also a page of its own, `handout.html` in the assignment's folder."""
_RUNS = """\
Do the runs; they are kept in the assignment's folder. A run that waits says for what: a prediction
in the cell above, settings in the cell of answers below, or a file of yours in the assignment's
folder. Write it, run the cell in which you wrote, and then this one again."""
_TABLES = """\
What each run measured, in a row for each value. `flow1` is a flow, `run` all flows together,
`nstat` a counter of the kernel; counters that stayed zero are left out. The handout says which
files the values are from, and how to read them there."""
_ANSWER = "tcplab.lab.answer(assignment, predictions)"


def notebook(lab: LabSpec) -> str:
    """The notebook of a lab."""
    predicted = [question for question in lab.questions if question.before]
    others = [question for question in lab.questions if not question.before]
    cells = [
        _text(f"# {lab.title}\n\n**{lab.asks}**\n\n{_BEGINNING}"),
        _code(
            'STUDENT = "your id"\nVARIANTS = None  # or the path of the file that your instructor'
            " gave out"
        ),
        _code(
            "import tcplab\n\n"
            f'assignment = tcplab.lab.start("{lab.name}", STUDENT, variants=VARIANTS)\n'
            "tcplab.lab.handout(assignment)"
        ),
        _text("Your predictions. They are recorded before a run is made."),
        _code("predictions = {\n" + "".join(map(_line, predicted)) + "}\n" + _ANSWER),
        _text(_RUNS),
        _code(
            "runs = tcplab.lab.run(assignment)\n"
            "for name, folder in runs.items():\n"
            "    print(f'{name}: {folder}')"
        ),
        _text(_TABLES),
        _code(
            "import polars\n\n"
            "polars.Config.set_tbl_rows(-1)\n"
            "polars.Config.set_fmt_str_lengths(80)\n"
            "polars.Config.set_fmt_float('full')\n"
            "polars.Config.set_tbl_hide_dataframe_shape(True)\n"
            "polars.Config.set_tbl_hide_column_data_types(True)\n"
            "tables = {name: tcplab.lab.table(run) for name, run in runs.items()}\n"
            "for name, table in tables.items():\n"
            "    print(name, table, sep='\\n')"
        ),
        _text("Your answers, numbers with their unit:"),
        _code(
            "answers = {\n" + "".join(map(_line, others)) + "}\n"
            "tcplab.lab.answer(assignment, answers)\nfor finding in tcplab.lab.check(assignment):\n"
            "    print(f'{finding.where}: {finding.text}')"
        ),
        _text("The one file to hand in, when all runs are there:"),
        _code("if len(runs) == len(assignment.lab.runs):\n    print(tcplab.lab.pack(assignment))"),
    ]
    numbered = [{"id": f"cell-{number}", **cell} for number, cell in enumerate(cells)]
    kernel = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    return (
        json.dumps(
            {"cells": numbered, "metadata": kernel, "nbformat": 4, "nbformat_minor": 5}, indent=1
        )
        + "\n"
    )


def _line(question: Question) -> str:
    empty = "[]" if question.kind == "choices" else json.dumps("")
    options = [f"{json.dumps(option.id)}: {option.text}" for option in question.options]
    lines = [*textwrap.wrap(question.ask, 100), *(f"  {option}" for option in options)]
    return (
        "".join(f"    # {line}\n" for line in lines) + f"    {json.dumps(question.id)}: {empty},\n"
    )


def _text(source: str) -> dict[str, Any]:
    return {"cell_type": "markdown", "metadata": {}, "source": source}


def _code(source: str) -> dict[str, Any]:
    return {
        "cell_type": "code",
        "execution_count": None,
        "metadata": {},
        "outputs": [],
        "source": source,
    }


if __name__ == "__main__":
    for name in catalogue.names():
        (_FOLDER / f"{name}.ipynb").write_text(notebook(catalogue.find(name)))
