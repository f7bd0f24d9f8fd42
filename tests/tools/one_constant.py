"""Points of the package's programs, unchanged and with one constant changed, in labs that ask for
programs.

.venv/bin/python -m tests.tools.one_constant reliable_transport --memory FOLDER
"""

import ast
import itertools
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from experiments import own_transport
from labs.definition import catalogue
from labs.definition.answers import OwnParts
from labs.definition.runs import RECEIVER, SENDER
from labs.definition.spec import LabSpec, Question
from labs.grading.case import AnswerMark, Verdict
from labs.grading.open_questions import program
from labs.measuring.ranges import carry_programs

MOST = 0.3  # of the points for programs
FACTORS = (8.0, 24.0, 2.0, 0.5, 16.0, 48.0, 0.1, 4.0, 12.0, 32.0, 6.0, 10.0, 20.0, 64.0, 0.25, 0.0)
_PACKAGED = Path(own_transport.__file__)
_EMPTY = AnswerMark("", "", "", 0.0, Verdict.EMPTY)
Programs = tuple[str, str]  # sources of sender and receiver


def packaged(name: str) -> Programs:
    """Return an example of the package."""
    roles = ("sender", "receiver")
    sender, receiver = (_PACKAGED.with_name(f"{name}_{role}.py").read_text() for role in roles)
    return sender, receiver


def changed(programs: Programs, number: int) -> Iterator[tuple[str, Programs]]:
    """Yield the example and `number` variants with one constant changed, named ones first."""
    yield "unchanged", programs
    places = [(role, node) for role, source in enumerate(programs) for node in numbers(source)]
    named = [
        (role, node)
        for role, node in places
        if programs[role].splitlines()[node.lineno - 1].lstrip().startswith(_named(programs[role]))
    ]
    tries = [*itertools.product(FACTORS, named), *itertools.product(FACTORS, places)]
    others = [
        each for each in tries if changed_value(each[1][1].value, each[0]) != each[1][1].value
    ]
    for factor, (role, node) in list(dict.fromkeys(others))[:number]:
        lines = programs[role].splitlines(keepends=True)
        line, value = lines[node.lineno - 1], changed_value(node.value, factor)
        lines[node.lineno - 1] = f"{line[: node.col_offset]}{value!r}{line[node.end_col_offset :]}"
        both = list(programs)
        both[role] = "".join(lines)
        yield f"{line.strip()} -> {value!r}", (both[0], both[1])


def changed_value(value: object, factor: float) -> int | float:
    """Return the number times the factor, as a number of its type."""
    return round(factor * value) if isinstance(value, int) else factor * float(str(value))


def numbers(source: str) -> list[ast.Constant]:
    """Return the numbers of a program."""
    nodes = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Constant)]
    return [node for node in nodes if type(node.value) in (int, float)]


def _named(source: str) -> tuple[str, ...]:
    """Return the beginnings of lines that give numbers a name."""
    assigned = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Assign)]
    plain = [node for node in assigned if isinstance(node.value, ast.Constant | ast.Tuple)]
    return tuple(ast.unparse(node.targets[0]).strip("()") + " = " for node in plain)


def share(lab: LabSpec, programs: Programs, memory: Path) -> float:
    """Return the share of the points for programs, or a bound of it that is at most MOST.

    A question that counts everywhere earns at most what it earns on one network.
    """
    asked = [each for each in lab.questions if each.kind == "program"]
    one = [replace(each, networks=1) for each in asked if each.everywhere]
    rest = sum(each.points for each in asked if not each.everywhere)
    total = sum(each.points for each in asked)
    bound = (_points(lab, one, programs, memory) + rest) / total
    return bound if bound <= MOST else _points(lab, asked, programs, memory) / total


def _points(lab: LabSpec, asked: list[Question], programs: Programs, memory: Path) -> float:
    with TemporaryDirectory() as folder:
        for name, source in zip((SENDER, RECEIVER), programs, strict=True):
            Path(folder, name).write_text(source)
        own = OwnParts(program=Path(folder))
        only = replace(lab, questions=tuple(asked), leaderboard=None)
        carried = carry_programs(only, own, memory, 1)
    tested = {name: [result for _, result in results] for name, results in carried.items()}
    return sum(program(each, tested[each.id], _EMPTY).points or 0.0 for each in asked)


def tried(lab: LabSpec, example: str, number: int, memory: Path) -> Iterator[tuple[str, float]]:
    """Yield the share of each variant of an example, by its name."""
    for name, programs in changed(packaged(example), number):
        yield name, share(lab, programs, memory)


@click.command()
@click.argument("name", metavar="LAB")
@click.option("--variants", type=int, default=200, show_default=True)
@click.option("--example", type=click.Choice(own_transport.PACKAGED), default="fixed_window")
@click.option("--memory", type=click.Path(path_type=Path), required=True)
def main(name: str, variants: int, example: str, memory: Path) -> None:
    """Print the points of each variant, and the most."""
    lab = catalogue.find(name)
    found = []
    for text, earned in tried(lab, example, variants, memory):
        found.append((earned, text))
        print(f"{earned:7.1%} {text}", flush=True)
    most, text = max(found)
    print(f"{name}, {example}: at most {most:.1%} by {len(found)} programs: {text}", flush=True)


if __name__ == "__main__":
    main()
