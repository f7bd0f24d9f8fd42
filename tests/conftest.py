"""Options of the whole suite."""

from __future__ import annotations

import signal
from collections import Counter

import hypothesis
import pytest

from testbed.host.packages import MissingTools, install_missing

# No example fails because the machine is slow.
hypothesis.settings.register_profile("any_machine", deadline=None)
hypothesis.settings.load_profile("any_machine")


@pytest.fixture(autouse=True)
def signals_of_a_terminal() -> None:
    """Give the programs under test their signals as a person's terminal gives them.

    A shell starts what it puts into the background with Ctrl-C ignored, nohup with SIGHUP, and
    that is inherited. In each test, since what starts the workers of the tests sets signals too.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_DFL)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print what skipped tests need: each reason in one line, the most frequent first."""
    skipped = terminalreporter.stats.get("skipped", [])
    # The reason is behind a test's file and line.
    reasons = Counter(_first_line(report.longrepr[-1]) for report in skipped)
    if reasons:
        terminalreporter.ensure_newline()
        terminalreporter.section("skipped tests by reason")
    for reason, count in reasons.most_common():
        terminalreporter.write_line(f"{count:5}  {reason}")


def _first_line(message: str) -> str:
    return message.removeprefix("Skipped: ").strip().partition("\n")[0]


def pytest_configure(config: pytest.Config) -> None:
    for line in (
        "long: takes a quarter of a minute or more; needs --long",
        "needs(program, ...): starts processes that need programs of the distribution",
    ):
        config.addinivalue_line("markers", line)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the long tests, so that all processes have work until the end."""
    items.sort(key=lambda item: item.get_closest_marker("long") is None)


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("long") and not item.config.getoption("--long"):
        pytest.skip("It takes a quarter of a minute or more: --long")
    for marker in item.iter_markers("needs"):
        install_missing(marker.args)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> None:
    """Skip a test whose programs are not installed; with --long, for submissions, it fails."""
    if call.excinfo and isinstance(call.excinfo.value, MissingTools):
        reason = str(call.excinfo.value)
        if not item.config.getoption("--long"):
            call.excinfo = pytest.CallInfo.from_call(lambda: pytest.skip(reason), "call").excinfo


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--long",
        action="store_true",
        help="Run the tests of a quarter of a minute and more as well, as .ci/run does.",
    )
    parser.addoption(
        "--kernels",
        metavar="VERSION",
        nargs="?",
        const="all",
        default="",
        help="Build this kernel of the lab, or all others that Debian has, and test on it.",
    )
    parser.addoption(
        "--faults",
        action="store_true",
        help="Build a kernel that crashes, spins and leaks, and look how that is shown: minutes.",
    )
    parser.addoption(
        "--sections",
        action="store_true",
        help="Grade ten students in all sections of the TCP assignment, not in 3.4 only: minutes.",
    )
    parser.addoption(
        "--as-written",
        action="store_true",
        help="Do the tutorials and how-tos with their own durations and repetitions: minutes.",
    )
    parser.addoption(
        "--release",
        metavar="FOLDER",
        help="Run the release that ./tcplab release made there, on other Linuxes.",
    )
    parser.addoption(
        "--ubuntu",
        metavar="MIRROR",
        help="With --release: the address of a mirror of Ubuntu, to run it there as well.",
    )
    parser.addoption(
        "--sandboxes",
        action="store_true",
        help="Make every attack of hostile modules against the supervisor as well.",
    )
    parser.addoption(
        "--kills",
        type=int,
        default=8,
        help="Moments at which native runs are killed; 50 take minutes.",
    )
    parser.addoption(
        "--variants",
        type=int,
        default=1,
        help="Variants of each lab that are run; 50 take hours.",
    )
