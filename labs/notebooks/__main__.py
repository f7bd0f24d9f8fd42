"""`python -m labs.notebooks` writes LAB.ipynb for every lab, in the notebook format 4.5.

See nbformat.readthedocs.io.
"""

from __future__ import annotations

import json
import textwrap
from pathlib import Path
from typing import Any

from labs.definition import lab_catalogue
from labs.definition.lab_spec import LabSpec, Question

_FOLDER = Path(__file__).parent


def notebook(lab: LabSpec) -> str:
    """The notebook of a lab."""
    first = lab.runs[0]
    cells = [
        _text(
            f"# {lab.title}\n\n{lab.claim}\n\nThis does what `./tcplab lab start`, `run`, `check`"
            " and `pack` do, from Python. Start Jupyter with tcplab's own Python, in a folder of"
            " yours."
        ),
        _code(
            'STUDENT = "your id"\nVARIANTS = None  # or the path of the file that your instructor'
            " gave out"
        ),
        _code(
            "import tcplab\n\n"
            f'assignment = tcplab.lab.start("{lab.name}", STUDENT, variants=VARIANTS)\n'
            "print((assignment.folder / 'handout.md').read_text())"
        ),
        _text("Do the runs; they are kept in the assignment's folder."),
        _code("runs = tcplab.lab.run(assignment)\nruns"),
        _text(
            "What the run measured in each condition, by the names of"
            " `labs/measuring/lab_measures.py`."
        ),
        _code(
            "import polars\n\n"
            f'measured = tcplab.lab.measured(runs["{first.name}"])\n'
            "rows = [(name, *(values.get(name) for values in measured.values())) for name in "
            "sorted(set().union(*measured.values()))]\n"
            'polars.DataFrame(rows, schema=["what", *measured], orient="row")'
        ),
        _text("Your answers, numbers with their unit:"),
        _code(
            "answers = {\n" + "".join(map(_line, lab.questions)) + "}\n"
            "tcplab.lab.answer(assignment, answers)\nfor finding in tcplab.lab.check(assignment):\n"
            "    print(f'{finding.where}: {finding.text}')"
        ),
        _code("tcplab.lab.pack(assignment)"),
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
    lines = textwrap.wrap(question.ask, 100)
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
    for name in lab_catalogue.names():
        (_FOLDER / f"{name}.ipynb").write_text(notebook(lab_catalogue.find(name)))
