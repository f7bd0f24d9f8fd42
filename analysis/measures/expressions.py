"""Metrics as expressions over flows, conditions and time: `goodput[bbr*] / goodput`.

    sum      = product {("+" | "-") product}
    product  = operand {("*" | "/") operand}
    operand  = number | "(" sum ")" [window] | [statistic] NAME [flows] [window] [statistic]
    flows    = "[" GLOB {"," GLOB} [":" CONDITION] "]"
    window   = "@" [TIME] ".." [TIME]

A statistic is one of STATISTICS or a percentile such as p95. A glob is compared with a flow's
labels: its name, its congestion control, its transport, and SENDER>RECEIVER.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property
from math import inf, isfinite

from analysis.measures.metrics import Metric, term_metric
from topologies.errors import UsageError
from topologies.units import Duration

STATISTICS = ("mean", "min", "max", "sum", "median", "jain")
"""Statistics over the samples of all named flows; `jain` is Jain's index of their values."""
_WORDS = {
    "min": "least",
    "max": "greatest",
    "p50": "median",
    "sum": "sum of the",
    "jain": "Jain's index of the",
}
_PERCENTILE = re.compile(r"p\d{1,2}(\.\d+)?")
_TOKEN = re.compile(
    r"\s*(?:(?P<window>@\s*(?P<since>\d+(?:\.\d+)?[a-z]*)?\.\.(?P<until>\d+(?:\.\d+)?[a-z]*)?)"
    r"|(?P<flows>\[[^\[\]]*\])|(?P<number>\d+(?:\.\d+)?)"
    r"|(?P<name>[A-Za-z_]\w*(?:\.\w+)*)|(?P<sign>[-+*/()]))"
)
LONGEST = 200  # characters; so neither its parentheses nor its numbers need another limit
SYNTAX = "Write it as goodput[bbr*] / goodput, p95 delay[probe] or rtt[flow1:sack_on]@20s..60s."


@dataclass(frozen=True)
class Window:
    """A time in seconds since all servers were ready, as the start of a flow; None is the end."""

    since: float = 0.0
    until: float | None = None

    @property
    def words(self) -> str:
        end = "the end" if self.until is None else f"{self.until:g} s"
        return f"from {self.since:g} s to {end}"


@dataclass(frozen=True)
class Term:
    """A statistic of a metric; `spanned` are the flows of all rates, which share one time."""

    metric: Metric
    statistic: str = ""
    flows: str = ""
    condition: str = ""
    window: Window | None = None
    spanned: tuple[str, ...] = ()

    @property
    def adds_up(self) -> bool:
        return self.metric.is_rate and not self.statistic

    @property
    def unit(self) -> str:
        return "" if self.statistic == "jain" else self.metric.unit

    @property
    def terms(self) -> Iterator[Term]:
        yield self

    def title(self, timed: bool) -> str:
        """Return the term in words, with its window if `timed`."""
        metric, statistic = self.metric.title, self.statistic
        beginning = _WORDS.get(statistic, statistic)
        if _PERCENTILE.fullmatch(statistic) and statistic != "p50":
            beginning = f"{statistic[1:]}th percentile of the"
        words = f"{beginning} {metric[:1].lower()}{metric[1:]}" if beginning else metric
        of = f" of {self.flows}" if self.flows else ""
        under = f" with {self.condition}" if self.condition else ""
        when = f", {self.window.words}" if self.window and timed else ""
        return f"{words[:1].upper()}{words[1:]}{of}{under}{when}"

    def value(self, of: Lookup) -> float | None:
        return of(self)


Lookup = Callable[[Term], float | None]
"""Returns the value of a term under its condition, None if it has none."""


@dataclass(frozen=True)
class PlainNumber:
    """A plain number."""

    amount: float
    unit: str = ""

    @property
    def terms(self) -> Iterator[Term]:
        yield from ()

    def title(self, timed: bool) -> str:
        return f"{self.amount:g}"

    def value(self, _of: Lookup) -> float:
        return self.amount


@dataclass(frozen=True)
class Operation:
    """Two operands; units of sums are equal, and those of quotients divide."""

    sign: str
    left: Node
    right: Node

    @cached_property
    def unit(self) -> str:
        left, right = self.left.unit, self.right.unit
        if self.sign in "+-":
            if left != right:
                names = " and ".join(unit or "a plain number" for unit in (left, right))
                raise UsageError(f"A metric cannot add {names}.", "Add values of one unit.")
            return left
        if self.sign == "*":
            return f"{left} {right}".strip()
        return "" if left == right else f"{left or 1}/({right})" if right else left

    @property
    def terms(self) -> Iterator[Term]:
        yield from self.left.terms
        yield from self.right.terms

    def title(self, timed: bool) -> str:
        """Return both operands in words, with their windows if `timed`."""
        left, right = self.left.title(timed), self.right.title(timed)
        right = right[:1].lower() + right[1:]
        if isinstance(self.right, Operation):
            right = f"({right})"
        if isinstance(self.left, Operation) and self.sign in "*/":
            left = f"({left})"
        sign = {"*": "\N{MULTIPLICATION SIGN}", "-": "\N{MINUS SIGN}"}.get(self.sign, self.sign)
        return f"{left} {sign} {right}"

    def value(self, of: Lookup) -> float | None:
        """Return the result; None if an operand has no value or the divisor is zero."""
        left, right = self.left.value(of), self.right.value(of)
        if left is None or right is None or (self.sign == "/" and right == 0):
            return None
        result = _CALCULATIONS[self.sign](float(left), float(right))
        return result if isfinite(result) or (result == inf and isfinite(right)) else None


Node = Term | PlainNumber | Operation
_CALCULATIONS: Mapping[str, Callable[[float, float], float]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
}


@dataclass(frozen=True)
class Expression:
    """A parsed expression; its `text` identifies it."""

    text: str
    root: Node

    @cached_property
    def terms(self) -> tuple[Term, ...]:
        return tuple(dict.fromkeys(self.root.terms))

    @property
    def metric(self) -> Metric:
        """The expression as an entry of a table: a value of the whole trial."""
        source = "; ".join(dict.fromkeys(term.metric.source for term in self.terms))
        title = self.root.title(timed=not self.when) + (f", {self.when}" if self.when else "")
        return Metric(self.text, self.root.unit, title, source, lambda _readings: None, of_run=True)

    @property
    def when(self) -> str:
        windows = {term.window for term in self.terms}
        window = windows.pop() if len(windows) == 1 else None
        return window.words if window else ""

    def of_flow(self, flow: str) -> Expression:
        """Return the expression with this flow in all terms that name none."""
        if not flow:
            return self
        root = _each(self.root, lambda term: replace(term, flows=term.flows or flow))
        return Expression(f"{self.text} of {flow}", _spanned(root))

    def value(self, of: Lookup) -> float | None:
        return self.root.value(of)


@cache
def parse(text: str) -> Expression:
    """Return the expression. Raises UsageError, UnknownMetric."""
    if len(text) > LONGEST:
        long = f"A metric has at most {LONGEST} characters; this has {len(text)}."
        raise UsageError(long, SYNTAX)
    reader = ExpressionReader(text)
    root = reader.sum()
    if reader.kind:
        raise reader.error()
    if not any(root.terms):
        raise UsageError(f"The metric '{text[:60]}' names no measurement.", SYNTAX)
    expression = Expression(" ".join(text.split()), _spanned(root))
    _ = expression.root.unit  # refuses sums of different units
    if len({term.window is None for term in expression.terms}) > 1:
        raise UsageError(
            f"In '{text[:60]}' some terms have a window and others have none.",
            "Write (goodput[bbr*] / goodput)@20s..60s, or @.. for the whole run.",
        )
    return expression


class ExpressionReader:
    """The tokens of a text, one at a time."""

    def __init__(self, text: str) -> None:
        self.text, self._at = text.rstrip(), 0
        self.kind, self.token = "", ""
        self._next()

    def error(self) -> UsageError:
        rest = self.text[self._begin :][:40]
        at = f"at '{rest}'" if rest else "at its end"
        return UsageError(f"The metric '{self.text[:60]}' cannot be read {at}.", SYNTAX)

    def _next(self) -> None:
        self._begin = self._at
        self.kind, self.token = "", ""
        if self._at >= len(self.text):
            return
        match = _TOKEN.match(self.text, self._at)
        if match is None or match.lastgroup is None:
            raise self.error()
        self.kind = next(kind for kind in _KINDS if match[kind])
        self.token, self._match, self._at = match[self.kind], match, match.end()

    def _taken(self, kind: str, *tokens: str) -> str:
        """Return the token and go on if it is of that kind, else ""."""
        if self.kind != kind or (tokens and self.token not in tokens):
            return ""
        token = self.token
        self._next()
        return token

    def sum(self) -> Node:
        left = self._product()
        while sign := self._taken("sign", "+", "-"):
            left = Operation(sign, left, self._product())
        return left

    def _product(self) -> Node:
        left = self._operand()
        while sign := self._taken("sign", "*", "/"):
            left = Operation(sign, left, self._operand())
        return left

    def _operand(self) -> Node:
        if number := self._taken("number"):
            return PlainNumber(float(number))
        if not self._taken("sign", "("):
            return self._term()
        inner = self.sum()
        if not self._taken("sign", ")"):
            raise self.error()
        window = self._window()
        return _each(inner, lambda term: replace(term, window=term.window or window))

    def _term(self) -> Term:
        before = self._taken("name")
        if not before:
            raise self.error()
        if not _is_statistic(before):
            before, name = "", before
        elif not (name := self._taken("name")):
            raise self.error()
        flows = self._taken("flows")[1:-1].replace(" ", "")
        window = self._window()
        after = self._taken("name") if _is_statistic(self.token) else ""
        chosen, _, condition = flows.partition(":")
        statistic = "p50" if "median" in (before, after) else before or after
        return Term(term_metric(name), statistic, chosen, condition, window)

    def _window(self) -> Window | None:
        if self.kind != "window":
            return None
        since, until = (self._match[name] for name in ("since", "until"))
        self._next()
        begin = Duration.parse(since).seconds if since else 0.0
        window = Window(begin, Duration.parse(until).seconds if until else None)
        if window.until is not None and window.until <= window.since:
            raise UsageError(f"The window {window.words} is empty.", "Write @20s..60s.")
        return window


_KINDS = ("window", "flows", "number", "name", "sign")


def _is_statistic(word: str) -> bool:
    return word in STATISTICS or bool(_PERCENTILE.fullmatch(word))


def _each(node: Node, change: Callable[[Term], Term]) -> Node:
    if isinstance(node, Operation):
        return Operation(node.sign, _each(node.left, change), _each(node.right, change))
    return change(node) if isinstance(node, Term) else node


def _spanned(node: Node) -> Node:
    """Return the node with the flows of all its rates in each of these."""
    flows = tuple(dict.fromkeys(term.flows for term in node.terms if term.adds_up))
    return _each(node, lambda term: replace(term, spanned=flows) if term.adds_up else term)
