"""Options of the whole suite."""

from __future__ import annotations

import signal

import hypothesis
import pytest

# A shell starts what it puts into the background with Ctrl-C ignored, and that is inherited: the
# programs under test are to have signals as a person's terminal gives them.
signal.signal(signal.SIGINT, signal.default_int_handler)
# No example fails because the machine is slow.
hypothesis.settings.register_profile("any_machine", deadline=None)
hypothesis.settings.load_profile("any_machine")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--kills",
        type=int,
        default=8,
        help="Moments at which native runs are killed; 50 take minutes.",
    )
