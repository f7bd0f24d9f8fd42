"""Studies of one's own that a test adds to this process, which nobody knows afterwards."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

import experiments
from experiments.study.catalogue import catalogue


@contextmanager
def forgotten(monkeypatch: pytest.MonkeyPatch, *names: str) -> Iterator[None]:
    """Let --studies add studies of these names, and take them out again."""
    monkeypatch.setattr(experiments, "__path__", [*experiments.__path__])
    monkeypatch.setenv(experiments.STUDIES, "")
    yield
    for name in names:
        vars(experiments).pop(name, None)
        for module in [each for each in sys.modules if each.startswith(f"experiments.{name}")]:
            del sys.modules[module]
    catalogue.cache_clear()
