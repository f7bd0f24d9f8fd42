"""The plugin of pytest: a fixture `network`, seeds, and the story of a failed test."""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from experiments.programs.fixture import NetworkFixture

_FOLDER, _SEED = ".tcplab", "seed"
_FIXTURES = pytest.StashKey["NetworkFixture"]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("tcplab")
    group.addoption(
        "--tcplab-seed",
        metavar="N|last",
        help="The seed of every network, or that of the test's last failure.",
    )
    group.addoption(
        "--tcplab-seeds", type=int, default=0, metavar="N", help="Run each test with N seeds."
    )
    group.addoption(
        "--tcplab-twice",
        action="store_true",
        help="Run each test twice, and fail where packets or output differ.",
    )
    group.addoption(
        "--tcplab-folder",
        action="append",
        default=[],
        type=Path,
        help="Another folder of this computer that programs see, read-only.",
    )
    group.addoption(
        "--tcplab-root",
        metavar="FOLDER",
        type=Path,
        help="An unpacked image or tree that programs see instead of this computer's system.",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "tcplab(seeds=N): run the test with N seeds")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "tcplab_seed" not in metafunc.fixturenames:
        return
    one = metafunc.config.getoption("--tcplab-seed")
    marker = metafunc.definition.get_closest_marker("tcplab")
    marked = marker.kwargs.get("seeds", 1) if marker else 1
    count = metafunc.config.getoption("--tcplab-seeds") or marked
    seeds = list(range(1, count + 1))
    if one == "last":
        test = re.sub(r"\W+", "_", metafunc.definition.nodeid)
        files = metafunc.config.rootpath.glob(f"{_FOLDER}/{test}*/{_SEED}")
        seeds = sorted({int(file.read_text()) for file in files}) or seeds
    elif one is not None:
        seeds = [int(one)]
    metafunc.parametrize("tcplab_seed", seeds, ids=[f"seed={seed}" for seed in seeds])


@pytest.fixture
def network(request: pytest.FixtureRequest, tcplab_seed: int) -> Iterator[NetworkFixture]:
    """A network that `two_hosts` or `build` starts; after that it is a `Network`."""
    from experiments.programs.fixture import NetworkFixture

    config = request.config
    kept = config.rootpath / _FOLDER / re.sub(r"\W+", "_", request.node.nodeid)
    usual = {
        "project": config.rootpath,
        "folders": tuple(config.getoption("--tcplab-folder")),
        "root": config.getoption("--tcplab-root"),
    }
    # Else a first test is silent for the minute in which it fetches and builds the lab.
    capture = config.pluginmanager.getplugin("capturemanager")
    aloud = capture.global_and_fixture_disabled if capture else nullcontext
    fixture = NetworkFixture(usual, kept, tcplab_seed, aloud)
    request.node.stash[_FIXTURES] = fixture
    with fixture:
        yield fixture


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, object, object]:
    result = yield
    fixture = pyfuncitem.stash.get(_FIXTURES, None)
    first = fixture.network if fixture else None
    if fixture and first and pyfuncitem.config.getoption("--tcplab-twice"):
        fixture.again()
        wanted = pyfuncitem._fixtureinfo.argnames
        pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in wanted})
        if texts := fixture.differences(first):
            pytest.fail("\n".join(["The second time differs.", *texts]), pytrace=False)
    return result


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add seed and time to the reports of a test, and its story if it failed."""
    fixture = item.stash.get(_FIXTURES, None) if call.when == "call" else None
    if fixture:
        item.user_properties.extend(fixture.properties)
    report = yield
    if fixture and report.failed:
        fixture.has_failed = True
        test = re.sub(r"\[seed=\d+\]$|(?<=\[)seed=\d+-|-seed=\d+(?=\])", "", item.nodeid)
        again = f"pytest {test} --tcplab-seed {fixture.seed}"
        report.sections.append(("tcplab: story of the network", fixture.story))
        report.sections.append(("tcplab: the same packets again", again))
    return report
