"""The notebook of an assignment, in the notebook format 4.5 (nbformat.readthedocs.io)."""

from __future__ import annotations

import json
import textwrap
from typing import Any

from labs.definition.assignment import Variant
from labs.definition.spec import LabSpec, Question

_BEGINNING = """\
This notebook replaces `./tcplab lab run`, `check` and `pack`. Install Jupyter into tcplab's Python,
and start it in this folder:

    PATH_OF_TCPLAB/.venv/bin/pip install jupyterlab polars
    PATH_OF_TCPLAB/.venv/bin/jupyter lab

The handout is also a page of its own, `handout.html` in this folder."""
_RUNS = """\
Do the runs; they are kept in this folder. A run that waits names its reason: a prediction in the
cell above, settings in the cell of answers below, or a file in this folder. Write it, run the cell
in which you wrote, and then this one again."""
_TABLES = """\
The measures of each run, one value a row. `flow1` is a flow, `run` all flows together, `nstat` a
counter of the kernel; counters that stayed zero are left out. The handout names the files of the
values, and explains how to read them there."""
_SHOW_TABLES = """\
import polars

polars.Config.set_tbl_rows(-1)
polars.Config.set_fmt_str_lengths(80)
polars.Config.set_fmt_float('full')
polars.Config.set_tbl_hide_dataframe_shape(True)
polars.Config.set_tbl_hide_column_data_types(True)
tables = {name: tcplab.lab.table(run) for name, run in runs.items()}
for name, table in tables.items():
    print(name, table, sep='\\n')"""
_RUN = """\
runs = tcplab.lab.run(assignment)
for name, folder in runs.items():
    print(f'{name}: {folder}')"""
_CHECK = """\
for finding in tcplab.lab.check(assignment):
    print(f'{finding.where}: {finding.text}')"""
_PACK = "if len(runs) == len(assignment.lab.runs):\n    print(tcplab.lab.pack(assignment))"


def notebook(lab: LabSpec, variant: Variant) -> str:
    """Return the notebook for the folder of a student's assignment."""
    start = f'tcplab.lab.start("{lab.name}", STUDENT, folder=".")'
    cells = [
        ("markdown", f"# {lab.title}\n\n**{lab.asks}**\n\n{_BEGINNING}"),
        ("code", f"STUDENT = {json.dumps(variant.student)}"),
        ("code", f"import tcplab\n\nassignment = {start}\ntcplab.lab.handout(assignment)"),
        ("markdown", "Your predictions. They are recorded before a run is made."),
        ("code", _answers("predictions", [each for each in lab.questions if each.before])),
        ("markdown", _RUNS),
        ("code", _RUN),
        ("markdown", _TABLES),
        ("code", _SHOW_TABLES),
        ("markdown", "Your answers, numbers with their unit:"),
        ("code", _answers("answers", [e for e in lab.questions if not e.before]) + f"\n{_CHECK}"),
        ("markdown", "The one file to hand in, when all runs are there:"),
        ("code", _PACK),
    ]
    content = {
        "cells": [_cell(number, kind, source) for number, (kind, source) in enumerate(cells)],
        "metadata": {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}
        },
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(content, indent=1) + "\n"


def _answers(name: str, questions: list[Question]) -> str:
    """Return code with an empty answer to each question, to be filled in."""
    lines = "".join(map(_line, questions))
    return f"{name} = {{\n{lines}}}\ntcplab.lab.answer(assignment, {name})"


def _cell(number: int, kind: str, source: str) -> dict[str, Any]:
    cell = {"id": f"cell-{number}", "cell_type": kind, "metadata": {}, "source": source}
    return cell | ({"execution_count": None, "outputs": []} if kind == "code" else {})


def _line(question: Question) -> str:
    empty = "[]" if question.kind == "choices" else json.dumps("")
    options = [f"{json.dumps(option.id)}: {option.text}" for option in question.options]
    lines = [*textwrap.wrap(question.ask, 100), *(f"  {option}" for option in options)]
    return (
        "".join(f"    # {line}\n" for line in lines) + f"    {json.dumps(question.id)}: {empty},\n"
    )
