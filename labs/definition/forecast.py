"""A student's rule for networks that are kept secret, and its score.

A rule is an expression in the parameters of a run, with the width of an interval around its value:
`1.2 * mss * 8 / (2 * delay * sqrt(loss)) within 25%`. The networks are drawn by the course's
secret, so neither a report nor a key in this package has their values. Times are in seconds, rates
in bit/s, shares between 0 and 1, sizes in bytes.
"""

import ast
import itertools
import math
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from experiments.study.grid import Combination
from labs.definition.answers import OwnParts
from labs.definition.assignment import Course, drawn_number, nominal_variant
from labs.definition.runs import combination_of
from labs.definition.spec import LabSpec, Question
from topologies.errors import UsageError
from topologies.units import Duration, Quantity, Rate, Share

MSS = 1448
"""Bytes of data in a full segment with time stamps, on Ethernet."""
_LONGEST = 400  # characters
_WIDEST = 10.0
_WRITTEN = re.compile(r"(?P<rule>.+?)\s+within\s+(?P<width>[0-9]{1,4}(?:\.[0-9]{1,3})?)\s*%", re.S)
_OPERATORS: dict[type, Callable[..., Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: math.pow,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "sqrt": math.sqrt,
    "exp": math.exp,
    "log": math.log,
    "min": min,
    "max": max,
}
_EXAMPLE = "bw / 1000 * (1 - loss) within 20%"


@dataclass(frozen=True)
class Rule:
    """An expression, and by which factor (1 + `width`) the true value may be off either way."""

    tree: ast.expr
    width: float

    def value(self, variables: Mapping[str, float]) -> float:
        """Return the value for a network. Raises UsageError if it has none."""
        try:
            value = float(_value(self.tree, variables))
        except (ArithmeticError, ValueError, TypeError) as error:
            raise UsageError(f"The rule has no value here: {error}.", "Correct it.") from None
        if not math.isfinite(value):
            raise UsageError("The rule has no finite value here.", "Correct it.")
        return value


def read_rule(text: str) -> Rule:
    """Return the rule that is written. Raises UsageError."""
    match = _WRITTEN.fullmatch(text.strip())
    if len(text) > _LONGEST or match is None:
        raise UsageError(
            "This is no rule, or it lacks its width.", f"Write one such as: {_EXAMPLE}"
        )
    width = float(match["width"]) / 100
    if not 0 < width <= _WIDEST:
        raise UsageError("The width is out of range.", "Write more than 0 % and at most 1000 %.")
    return Rule(_expression(match["rule"]), width)


def read_limit(text: str) -> Rule:
    """Return the rule of a limit, which has no width. Raises UsageError."""
    return Rule(_expression(text), 0.0)


def _expression(text: str) -> ast.expr:
    try:
        return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        remedy = f"Use + - * / **, numbers, parameters, {', '.join(_FUNCTIONS)}, x if a < b else y."
        raise UsageError("The rule cannot be read.", remedy) from None


def _value(node: ast.expr, variables: Mapping[str, float]) -> Any:
    """Return the value of an expression of these forms only. Raises UsageError for another."""
    match node:
        case ast.Constant(value=int() | float() as number):
            return float(number)
        case ast.Name(id=name):
            if name not in variables:
                known = ", ".join(sorted(variables))
                raise UsageError(f"The rule uses '{name[:40]}'.", f"There are: {known}.")
            return variables[name]
        case ast.BinOp(left, op, right) if type(op) in _OPERATORS:
            return _OPERATORS[type(op)](_value(left, variables), _value(right, variables))
        case ast.UnaryOp(op, operand) if type(op) in _OPERATORS:
            return _OPERATORS[type(op)](_value(operand, variables))
        case ast.Compare(left, [op], [right]) if type(op) in _OPERATORS:
            return _OPERATORS[type(op)](_value(left, variables), _value(right, variables))
        case ast.IfExp(test, body, orelse):
            return _value(body if _value(test, variables) else orelse, variables)
        case ast.Call(ast.Name(id=name), [*arguments], []) if name in _FUNCTIONS:
            return _FUNCTIONS[name](*(_value(each, variables) for each in arguments))
    raise UsageError(f"The rule has '{ast.unparse(node)[:40]}'.", f"Write one such as: {_EXAMPLE}")


@dataclass(frozen=True)
class HiddenNetwork:
    """A network that the course's secret draws: NAME=VALUE, the run with them, and its seed."""

    settings: tuple[str, ...]
    combination: Combination
    seed: int

    @property
    def variables(self) -> dict[str, float]:
        """The parameters of the run, as a rule may use them."""
        parameters = vars(self.combination.parameters) | {"link": self._link}
        return {"mss": float(MSS)} | {
            name: _plain(value) for name, value in parameters.items() if isinstance(value, Quantity)
        }

    @property
    def _link(self) -> Rate:
        """The slowest link on the way of the first flow; of one that follows a trace, the mean."""
        spec = self.combination.spec
        return spec.topology.bottleneck(spec.flows[0].sender, spec.flows[0].receiver).bandwidth


def hidden_networks(
    lab: LabSpec, question: Question, course: Course, own: OwnParts | None = None
) -> list[HiddenNetwork]:
    """Return the networks of a question, all different, the same for all students of a course.

    The program of `own` runs there. Raises UsageError if it cannot be used.
    """
    program, nominal = own.program if own else None, nominal_variant(lab)
    run = next(run for run in lab.runs if run.name == question.run)

    def drawn(settings: tuple[str, ...]) -> int:
        return drawn_number(course, (lab.name, question.id, *settings), 2**31 - 1)

    def network(settings: tuple[str, ...]) -> HiddenNetwork:
        parts = OwnParts(program=program, settings={run.name: settings})
        return HiddenNetwork(settings, combination_of(run, nominal, parts), 1 + drawn(settings))

    spans = [[f"{span.name}={value}" for value in span.values] for span in question.hidden]
    chosen = sorted(itertools.product(*spans), key=drawn)[: question.networks]
    return [network(settings) for settings in chosen]


def _plain(value: Quantity) -> float:
    """Return a quantity in seconds, bit/s, bytes, or as a share of one."""
    one = 1e9 if isinstance(value, Duration) else 1e10 if isinstance(value, Share) else 1.0
    return value.base / one


@dataclass(frozen=True)
class HiddenResult:
    """A network that was drawn: its parameters, and the value that was measured."""

    variables: Mapping[str, float]
    truth: float


@dataclass(frozen=True)
class TestedProgram:
    """A program on a hidden network: which tests it passed, by id, and why it failed the next.

    `score` is the network's part of the leaderboard. A person looks at what is `not_carried`.
    """

    passed: tuple[str, ...]
    reason: str = ""
    score: float = 0.0
    not_carried: bool = False


_LAZY_WIDTHS = (0.1, 0.25, 0.5, 1.0)
_CONFIDENCE_LEFT = 0.2
_FULL, _NONE = 2 * math.log(1.1), 2 * math.log(2.5)
"""Scores of an interval of 10 % that is right, and of one of 150 % that is right."""


def network_share(value: float, width: float, truth: float) -> float:
    """Return the share of the points for one network, 0 to 1.

    The interval score of a central 80 % interval (Gneiting and Raftery, 2007), on a logarithmic
    scale: its width, and ten times what the truth lies outside.
    """
    if value <= 0 or truth <= 0:
        return 0.0
    half = math.log1p(width)
    outside = max(0.0, abs(math.log(truth / value)) - half)
    score = 2 * half + 2 / _CONFIDENCE_LEFT * outside
    return min(1.0, max(0.0, (_NONE - score) / (_NONE - _FULL)))


def share_of(rule: Rule, results: Sequence[HiddenResult]) -> float:
    """Return the share of the points of a rule: what it earns above the best single number.

    A number alone shows no understanding, however well the networks resemble each other.
    """
    earned = fmean(share for _, share in scored(rule, results))
    truths = [result.truth for result in results]
    numbers = {math.sqrt(one * other) for one in truths for other in truths}
    best = max(
        fmean(network_share(number, width, truth) for truth in truths)
        for number in numbers
        for width in _LAZY_WIDTHS
    )
    return max(0.0, (earned - best) / (1 - best)) if best < 1 else 0.0


def scored(rule: Rule, results: Sequence[HiddenResult]) -> list[tuple[float, float]]:
    """Return for each network the rule's value over the measured one, and the share it earns."""

    def one(result: HiddenResult) -> tuple[float, float]:
        value = rule.value(result.variables)
        off = value / result.truth if result.truth > 0 else 0.0
        return off, network_share(value, rule.width, result.truth)

    return [one(result) for result in results]
