"""Python source as a tree, for threads too."""

from __future__ import annotations

import ast
from threading import Lock

_ONE = Lock()


def parsed(source: str | bytes) -> ast.Module:
    """The tree of a module. Raises SyntaxError, ValueError.

    By one thread at a time: CPython before 3.11.5 counts the recursion of all together and raises
    SystemError (https://github.com/python/cpython/issues/106905).
    """
    with _ONE:
        return ast.parse(source)
