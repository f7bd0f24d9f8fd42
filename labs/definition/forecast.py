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
from itertools import pairwise
from statistics import fmean
from typing import Any

from experiments.study.grid import Combination
from labs.definition.answers import OwnParts
from labs.definition.assignment import Course, drawn_number, nominal_variant
from labs.definition.runs import combination_of
from labs.definition.spec import LabSpec, Mistake, Question
from topologies.errors import UsageError
from topologies.units import Duration, Quantity, Share

MSS = 1448  # bytes of data in a full segment with time stamps, on Ethernet
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
    ast.Eq: operator.eq,
}
FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{name: getattr(math, name) for name in ("sqrt", "exp", "log")},
    "min": min,
    "max": max,
}
_ONE = {Duration: 1e9, Share: 1e10}
_EXAMPLE = "bw / 1000 * (1 - loss) within 20%"


@dataclass(frozen=True)
class Rule:
    """An expression, and by which factor (1 + `width`) the true value may be off either way."""

    tree: ast.expr
    width: float

    def value(self, variables: Mapping[str, float]) -> float:
        """Return the value for a network. Raises UsageError if it has none."""
        try:
            value = float(evaluated(self.tree, variables))
        except (ArithmeticError, ValueError, TypeError) as error:
            raise UsageError(f"The rule has no value here: {error}.", "Correct it.") from None
        if not math.isfinite(value):
            raise UsageError("The rule has no finite value here.", "Correct it.")
        return value


def read_rule(text: str) -> Rule:
    """Return the rule that is written. Raises UsageError."""
    match = _WRITTEN.fullmatch(text.strip())
    if len(text) > _LONGEST or match is None:
        remedy = f"Write one such as: {_EXAMPLE}"
        raise UsageError("This is no rule, or it lacks its width.", remedy)
    width = float(match["width"]) / 100
    if not 0 < width <= _WIDEST:
        raise UsageError("The width is out of range.", "Write more than 0 % and at most 1000 %.")
    return Rule(expression(match["rule"]), width)


def limit(text: str, variables: Mapping[str, float]) -> float:
    """Return the value of a limit or a known mistake. Raises UsageError."""
    return Rule(expression(text), 0.0).value(variables)


def names_in(text: str) -> set[str]:
    """Return the parameters that an expression uses. Raises UsageError if it cannot be read."""
    nodes = ast.walk(expression(text))
    return {node.id for node in nodes if isinstance(node, ast.Name)} - {*FUNCTIONS}


def expression(text: str) -> ast.expr:
    try:
        return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        remedy = f"Use + - * / **, numbers, parameters, {', '.join(FUNCTIONS)}, x if a < b else y."
        raise UsageError("The rule cannot be read.", remedy) from None


def evaluated(
    node: ast.expr,
    variables: Mapping[str, Any],
    functions: Mapping[str, Callable[..., Any]] = FUNCTIONS,
) -> Any:
    """Return the value of an expression of these forms only. Raises UsageError for another."""

    def value(node: ast.expr) -> Any:
        return evaluated(node, variables, functions)

    match node:
        case ast.Constant(value=int() | float() as number):
            return float(number)
        case ast.Name(id=name):
            if name not in variables:
                known = ", ".join(sorted(variables))
                raise UsageError(f"The rule uses '{name[:40]}'.", f"There are: {known}.")
            return variables[name]
        case ast.BinOp(left, op, right) if type(op) in _OPERATORS:
            return _OPERATORS[type(op)](value(left), value(right))
        case ast.UnaryOp(op, operand) if type(op) in _OPERATORS:
            return _OPERATORS[type(op)](value(operand))
        case ast.Compare(left, ops, rights) if all(type(op) in _OPERATORS for op in ops):
            sides = [value(side) for side in (left, *rights)]
            pairs = zip(ops, pairwise(sides), strict=True)
            return all(_OPERATORS[type(op)](*pair) for op, pair in pairs)
        case ast.BoolOp(ast.And(), parts):
            return all(value(part) for part in parts)
        case ast.IfExp(test, body, orelse):
            return value(body if value(test) else orelse)
        case ast.Call(ast.Name(id=name), [*arguments], []) if name in functions:
            return functions[name](*(value(each) for each in arguments))
    raise UsageError(f"The rule has '{ast.unparse(node)[:40]}'.", f"Write one such as: {_EXAMPLE}")


@dataclass(frozen=True)
class HiddenNetwork:
    """A network that the course's secret draws: NAME=VALUE, the run with them, and its seed."""

    settings: tuple[str, ...]
    combination: Combination
    seed: int

    @property
    def variables(self) -> dict[str, float]:
        """The run's parameters in seconds, bit/s, bytes, or as a share of one."""
        spec, flow = self.combination.spec, self.combination.spec.flows[0]
        # The slowest link of the first flow; of one that follows a trace, the mean.
        link = spec.topology.bottleneck(flow.sender, flow.receiver).bandwidth
        parameters = vars(self.combination.parameters) | {"link": link}
        return {"mss": float(MSS)} | {
            name: value.base / _ONE.get(type(value), 1.0)
            for name, value in parameters.items()
            if isinstance(value, Quantity)
        }


def hidden_networks(
    lab: LabSpec, question: Question, course: Course, own: OwnParts | None = None
) -> list[HiddenNetwork]:
    """Return the networks of a question, on which `own` programs run. Raises UsageError."""
    program, nominal = own.program if own else None, nominal_variant(lab)
    run = lab.run(question.run)

    def drawn(settings: tuple[str, ...]) -> int:
        return drawn_number(course, (lab.name, question.id, *settings), 2**31 - 1)

    def network(settings: tuple[str, ...]) -> HiddenNetwork:
        parts = OwnParts(program=program, settings={run.name: settings})
        return HiddenNetwork(settings, combination_of(run, nominal, parts), 1 + drawn(settings))

    spans = [[f"{span.name}={value}" for value in span.values] for span in question.hidden]
    chosen = sorted(itertools.product(*spans), key=drawn)[: question.networks]
    return [network(settings) for settings in chosen]


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


_WIDTHS = (0.1, 0.25, 0.5, 1.0, 2.0)  # widths of the best single number
_CONFIDENCE_LEFT = 0.5
_FULL, _NONE = 2 * math.log(1.1), 2 * math.log(2.5)
"""Prices of an interval of 10 % that is right, and of one of 150 % that is right."""


def price(value: float, width: float, truth: float) -> float:
    """Return the interval score of a central 50 % interval on one network, on a logarithmic scale.

    It is the interval's width, and four times what the truth lies outside (Gneiting and Raftery,
    2007). The mean over networks is a proper score: the honest width costs least.
    """
    half = math.log1p(width)
    if value <= 0 or truth <= 0:
        return 2 * half + 2 / _CONFIDENCE_LEFT * _NONE
    return 2 * half + 2 / _CONFIDENCE_LEFT * max(0.0, abs(math.log(truth / value)) - half)


@dataclass(frozen=True)
class ScoredRule:
    """A rule over the hidden networks, next to the best single number that is the same for all.

    `offs` are the rule's value over the measured one on each network, `numbers` that of the single
    number. `costs` is the mean price, `width_costs` the part of it for the width.
    """

    width: float
    offs: tuple[float, ...]
    numbers: tuple[float, ...]
    number_width: float
    costs: float
    number_costs: float

    @property
    def width_costs(self) -> float:
        return 2 * math.log1p(self.width)

    @property
    def held(self) -> int:
        """The number of networks on which the truth lies within the width."""
        return sum(1 / (1 + self.width) <= off <= 1 + self.width for off in self.offs)

    def points(self, costs: float) -> float:
        """Return what a price takes off, as a share of the points."""
        return costs / (self._nothing - _FULL) if self._nothing > _FULL else 0.0

    @staticmethod
    def height(ratio: float) -> float:
        """Return where a drawing of 120 pixels, three decades high, has a ratio to the truth."""
        return round(60 - 40 * math.log10(min(30.0, max(1 / 30, ratio))), 1)

    @property
    def lost(self) -> tuple[float, float]:
        """The shares of the points for a width of more than 10 %, and for truths outside it."""
        return self.points(self.width_costs - _FULL), self.points(self.costs - self.width_costs)

    @property
    def _nothing(self) -> float:
        """The price that leaves no points: that of the best single number, or of 150 %."""
        return min(_NONE, self.number_costs)

    @property
    def share(self) -> float:
        return min(1.0, max(0.0, self.points(self._nothing - self.costs)))


def scored(rule: Rule, results: Sequence[HiddenResult]) -> ScoredRule:
    """Return the score of a rule. Raises UsageError if it has no value on a network."""
    truths = [result.truth for result in results]
    values = [rule.value(result.variables) for result in results]
    pairs = list(zip(values, truths, strict=True))
    number, number_width = min(
        ((math.sqrt(a * b), width) for a, b, width in itertools.product(truths, truths, _WIDTHS)),
        key=lambda pair: fmean(price(pair[0], pair[1], truth) for truth in truths),
    )
    return ScoredRule(
        rule.width,
        tuple(value / truth if truth > 0 else 0.0 for value, truth in pairs),
        tuple(number / truth if truth > 0 else 0.0 for truth in truths),
        number_width,
        fmean(price(value, rule.width, truth) for value, truth in pairs),
        fmean(price(number, number_width, truth) for truth in truths),
    )


_ALIKE = 0.02  # by how much a rule's values may differ from a known wrong rule's, on every network


def mistake_in(rule: Rule, question: Question, results: Sequence[HiddenResult]) -> Mistake | None:
    for known in question.mistakes:
        networks = [each.variables for each in results]
        pairs = [(rule.value(each), limit(known.rule, each)) for each in networks]
        if all(abs(value - other) <= _ALIKE * abs(other) for value, other in pairs):
            return known
    return None
