"""What a lesson states about a run, as text that a test can hold the lab to.

An expectation is a comparison of measures, such as `goodput < 5`, `retransmitted_1 == 0` or
`0.8 * kept_goodput < goodput < kept_goodput`, with numbers, + - * / and parentheses. A name that
begins with `kept_` is of the run before. Several are joined by `and`.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from typing import Any

from topologies.foundation.errors import UsageError

_LONGEST = 300
_SUMS: dict[type, Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
_COMPARISONS: dict[type, Callable[[float, float], bool]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
}
_COUNT = "count_"


def holds(expectation: str, measures: Mapping[str, float]) -> bool:
    """Whether it is true of these measures; events that never came count as none.

    Raises UsageError for what is no expectation, and for a measure that there is not.
    """
    return all(_is_true(part, measures) for part in _parts(expectation))


def check_form(expectation: str) -> None:
    """Raises UsageError unless it is an expectation, of whatever measures."""
    for part in _parts(expectation):
        for node in ast.walk(part):
            _known(node)


def _parts(text: str) -> list[ast.Compare]:
    try:
        tree = ast.parse(text.strip()[:_LONGEST], mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise _misspelt(text) from None
    parts = tree.values if isinstance(tree, ast.BoolOp) else [tree]
    comparisons = [part for part in parts if isinstance(part, ast.Compare)]
    joined = not isinstance(tree, ast.BoolOp) or isinstance(tree.op, ast.And)
    if len(comparisons) != len(parts) or not joined or len(text) > _LONGEST:
        raise _misspelt(text)
    return comparisons


def _known(node: ast.AST) -> None:
    number = isinstance(node, ast.Constant) and type(node.value) in (int, float)
    kinds = (ast.Compare, ast.BinOp, ast.Name, ast.Load, *_SUMS, *_COMPARISONS)
    if not number and not isinstance(node, kinds):
        raise _misspelt(ast.unparse(node))


def _is_true(part: ast.Compare, measures: Mapping[str, float]) -> bool:
    values = [_value(side, measures) for side in (part.left, *part.comparators)]
    return all(
        _of(_COMPARISONS, comparison)(left, right)
        for comparison, left, right in zip(part.ops, values, values[1:], strict=False)
    )


def _value(node: ast.expr, measures: Mapping[str, float]) -> float:
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
        return float(node.value)
    if isinstance(node, ast.BinOp):
        left, right = _value(node.left, measures), _value(node.right, measures)
        return float(_of(_SUMS, node.op)(left, right))
    if not isinstance(node, ast.Name):
        raise _misspelt(ast.unparse(node))
    if node.id not in measures and not node.id.removeprefix("kept_").startswith(_COUNT):
        raise UsageError(
            f"There is no measure '{node.id[:40]}'.", f"There are {', '.join(sorted(measures))}."
        )
    return measures.get(node.id, 0.0)


def _of(table: dict[type, Any], node: ast.AST) -> Any:
    if type(node) not in table:
        raise _misspelt(type(node).__name__)
    return table[type(node)]


def _misspelt(text: str) -> UsageError:
    return UsageError(
        f"'{text[:60]}' is no expectation.", "Write a comparison, such as goodput < 0.5 * 10."
    )
