"""A student's folder: handout in Markdown, HTML and PDF, answer sheet, drawings, notebook."""

import itertools
import json
import re
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from analysis.rendering import write
from experiments.play.lesson import all_lessons
from experiments.spec import Flow
from experiments.study.catalogue import find
from labs.definition import catalogue
from labs.definition.answers import LEAST_WORDS, as_json, sample_of
from labs.definition.assignment import ANSWERS, FILE, Assignment, Variant, assignment_text
from labs.definition.runs import FOLDER, RECEIVER, SENDER, example_specs, seeds_of, settings, told
from labs.definition.spec import LabRun, LabSpec, Question
from labs.definition.written import COUNT, unit_named
from labs.templates.rendering import TEMPLATES, LabDrawings, markdown_page, read_drawings, render
from topologies.errors import TcplabError, UsageError
from topologies.notation import toml_file

_ANY_ROW = "r1 ====== r2 ====== rn"  # what topologies.shapes draws for any number of routers
_CHANNEL = ("bw", "queue")
"""Settings of the channel that a handout gives even if the lab leaves them as they are."""
_MOST_FLOWS = 3  # flows that a handout names one by one


def handout_text(lab: LabSpec, variant: Variant) -> str:
    """Return the handout in Markdown, rendered from spec and variant; faults are left out."""
    words = toml_file(TEMPLATES / lab.language / "words.toml")
    first, *others = [_part(lab, run, told(lab, variant), words) for run in lab.runs]
    context = {
        "lab": lab,
        "variant": variant,
        "parts": [first | {"like": ""}, *(_without_repetition(first, part) for part in others)],
        "diagram": first["diagram"],
        "reads": lab.reads,
        "copied": lab.copied,
        "questions": list(enumerate(lab.questions, 1)),
        "answer_kind": lambda question: answer_kind(lab, question, words),
        "drawing": drawings_of(lab).markdown,
        "lessons": [lesson for lesson in all_lessons() if lab.name in lesson.labs],
        "points": lab.points,
    }
    return render(f"{lab.language}/handout.md.j2", context)


def drawings_of(lab: LabSpec) -> LabDrawings:
    folder = catalogue.folder_of(lab.name) / "text" / lab.language
    return read_drawings(folder / catalogue.DRAWINGS)


def _part(lab: LabSpec, run: LabRun, variant: Variant, words: Mapping[str, Any]) -> dict[str, Any]:
    """Return a handout's facts about a run, all from the spec: settings, flows, places of files."""
    spec = example_specs(lab, variant, [run])[0]
    first, network = spec.flows[0], spec.topology
    # A row of routers is drawn with as many as there are.
    routers = " ====== ".join(node.name for node in network.nodes if node.kind == "router")
    drawing = words.get("diagrams", {}).get(network.name, network.diagram).strip("\n")
    round_trip = network.round_trip(first.sender, first.receiver)
    folder = f"{FOLDER}/{run.name}/{run.experiment}/latest"
    return {
        "name": run.name,
        "module": run.module,
        "program": run.program,
        "settings": list(_settings(run, variant, words)),
        "chosen": run.chosen,
        "one": run.one,
        "folder": folder,
        "place": f"{folder}/raw/seed-{seeds_of(run, variant)[0]}/",
        "conditions": spec.conditions,
        "flows": list(_flows(spec.flows, words)),
        "diagram": drawing.replace(_ANY_ROW, routers),
        "round_trip": None if run.chosen else str(round_trip if round_trip.base else ""),
        "captures": spec.captures,
    }


def _without_repetition(first: dict[str, Any], part: dict[str, Any]) -> dict[str, Any]:
    same = [name for name in ("flows", "conditions", "round_trip") if part[name] == first[name]]
    settings = [setting for setting in part["settings"] if setting not in first["settings"]]
    return part | dict.fromkeys(same) | {"like": first["name"], "settings": settings}


def _settings(run: LabRun, variant: Variant, words: Mapping[str, Any]) -> Iterator[dict[str, str]]:
    parameters = find(run.experiment).parameters()
    meanings = {field.name: field.metadata.get("meaning", "") for field in fields(parameters)}
    texts = (text.partition("=") for text in settings(run, variant.values))
    handed_in = {"module", *(("sender", "receiver") if run.program else ())}
    values = {name: value for name, _, value in texts if name not in handed_in}
    chosen = () if run.one else tuple(span.name for span in run.chosen)
    known = {*values, *chosen, *(["bw"] if "link.trace" in values else [])}
    unset = [name for name in _CHANNEL if name in meanings and name not in known]
    values |= {name: str(getattr(parameters, name)) for name in unset}
    for name, value in values.items():
        own = meanings.get(name, "")
        # Within a sentence it has no capital at its beginning, but an abbreviation such as TCP.
        inside = own if own[1:2].isupper() else own[:1].lower() + own[1:]
        meaning = words.get("meanings", {}).get(name) or inside
        yield {"name": name, "value": value, "meaning": meaning}


def _flows(flows: tuple[Flow, ...], words: Mapping[str, Any]) -> Iterator[str]:
    alike = [flow for flow in flows if not flow.traffic]
    shown = alike if len(alike) <= _MOST_FLOWS else alike[:2]
    yield from (_flow(flow, words) for flow in shown)
    if len(shown) < len(alike):
        yield words["more"].format(len(alike) - len(shown))
    yield from (_flow(flow, words) for flow in flows if flow.traffic)


def _flow(flow: Flow, words: Mapping[str, Any]) -> str:
    kind = "udp" if flow.rate else "data" if flow.amount else "tcp"
    if flow.program:
        kind = "timed" if flow.is_timed_program else "programs"
    what: object = flow.rate or flow.amount or flow.duration
    if flow.traffic:
        kind, what = "traffic", flow.traffic.split()[0]
    own = words["own"].format(flow.congestion_control) if flow.congestion_control else ""
    sentence: str = words[kind].format(flow.sender, flow.receiver, what, flow.name, flow.port)
    return sentence + own


def answer_kind(lab: LabSpec, question: Question, words: Mapping[str, Any]) -> str:
    kind = str(question.kind)
    if kind == "number" and unit_named(question.unit) == COUNT:
        kind = "count"
    if kind == "prediction" and not question.options:
        return str(words["reason"]).format(LEAST_WORDS)
    if kind == "evidence":
        file = "line" if question.names_a_line else kind
        return str(words[file]).format(question.capture, question.run)
    filled = sample_of(lab.run(question.run)) if kind == "design" else question.unit
    return str(words[kind]).format(filled)


HANDOUT = "handout.md"


def start(lab: LabSpec, variant: Variant, folder: Path) -> Assignment:
    """Make the folder. Raises UsageError if it exists: answers are never overwritten."""
    if folder.exists() and any(folder.iterdir()):
        remedy = "Name another folder with --out, or go on in that one."
        raise UsageError(f"{folder} is there already.", remedy)
    files = {
        FILE: assignment_text(variant, lab.language),
        **handout_files(lab, variant),
        ANSWERS: render(f"{lab.language}/answers.toml.j2", {"lab": lab, "variant": variant}),
        f"{lab.name}.ipynb": notebook(lab, variant),
        **_programs(lab, variant),
    }
    folder.mkdir(parents=True, exist_ok=True)
    write(folder, ((name, text.encode()) for name, text in files.items()), f"lab start {lab.name}")
    return Assignment(folder, lab, variant)


def _programs(lab: LabSpec, variant: Variant) -> dict[str, str]:
    for spec in example_specs(lab, variant, [run for run in lab.runs if run.template]):
        program = spec.flows[0].program
        assert program
        return {SENDER: program.client, RECEIVER: program.server}
    return {}


def handout_files(lab: LabSpec, variant: Variant) -> dict[str, str]:
    """Return the handout as Markdown with drawing files, and as one page that holds them."""
    handout, drawings = handout_text(lab, variant), drawings_of(lab).files()
    page = markdown_page(f"{lab.title}, {variant.student}", handout, lab.language, drawings)
    return {HANDOUT: handout, "handout.html": page, **drawings}


_EMPTY_CODE: dict[str, Any] = {"execution_count": None, "outputs": []}


def notebook(lab: LabSpec, variant: Variant) -> str:
    """Return the notebook of an assignment, in the format 4.5 (nbformat.readthedocs.io)."""

    def answers(name: str, predicted: bool) -> str:
        lines = []
        for question in (each for each in lab.questions if bool(each.before) == predicted):
            options = [f"  {json.dumps(option.id)}: {option.text}" for option in question.options]
            asked = [*textwrap.wrap(question.ask, 100), *options]
            lines += [f"    # {line}\n" for line in asked]
            empty = "[]" if question.kind == "choices" else '""'
            lines.append(f"    {json.dumps(question.id)}: {empty},\n")
        return f"{name} = {{\n{''.join(lines)}}}\ntcplab.lab.answer(assignment, {name})"

    context = {"lab": lab, "student": json.dumps(variant.student), "answers": answers}
    text = render("notebook.md.j2", context)
    pieces = zip(re.split(r"(?m)^```.*", text), itertools.cycle(("markdown", "code")), strict=False)
    sources = [(kind, piece.strip()) for piece, kind in pieces if piece.strip()]
    cells: list[dict[str, Any]] = [
        {"id": f"cell-{number}", "cell_type": kind, "metadata": {}, "source": source}
        | (_EMPTY_CODE if kind == "code" else {})
        for number, (kind, source) in enumerate(sources)
    ]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    metadata = {"kernelspec": kernel}
    return as_json({"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5})


def print_handout(assignment: Assignment, out: Path | None = None) -> Path:
    """Write handout.pdf into the folder, or `out`. Raises TcplabError, without WeasyPrint too."""
    page = handout_files(assignment.lab, assignment.variant)["handout.html"]
    file = out or assignment.folder / "handout.pdf"
    content = pdf(page)
    try:
        file.write_bytes(content)
    except OSError as error:
        problem = f"{file} cannot be written: {error.strerror}."
        raise TcplabError(problem, "Choose a place with --out.") from None
    return file


def pdf(page: str) -> bytes:
    """A page of HTML on sheets of A4. Raises TcplabError if WeasyPrint or Pango is missing."""
    try:
        from weasyprint import HTML
    except ModuleNotFoundError:
        remedy = "Install it for tcplab: pip install 'tcplab[handouts]', or pip install weasyprint"
        raise TcplabError("PDFs need WeasyPrint, which is not installed.", remedy) from None
    except OSError as error:  # it is there, and a C library that it loads is not
        remedy = "Install Pango, on Debian: apt install libpango-1.0-0 libpangoft2-1.0-0"
        raise TcplabError(f"WeasyPrint cannot start: {error}", remedy) from None
    content: bytes = HTML(string=page).write_pdf()
    return content
