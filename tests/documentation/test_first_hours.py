"""The tutorials and how-tos can be followed word for word: each command is typed, in its order.

In a folder that looks like a checkout to a reader. What a reader's own defaults may say makes runs
of guides short (two seconds, one repetition), unless the page says otherwise; with --as-written
nothing is shortened. A first hour is typed as it is written, and prints each line that it shows.
Terminals are bash's, so a page may use its other commands too.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from testbed.builds import cache
from testbed.lab.kernel.recipe import KERNEL_TOOLS
from tests.documentation.typed_commands import ROOT, Step, steps, words_alone

pytestmark = pytest.mark.virtual
PAGES = sorted([*ROOT.glob("docs/start/*.md"), *ROOT.glob("docs/guides/*.md")])
HANGS = 3600  # seconds after which a command is taken to hang; one builds a kernel
WIDE = "120"  # columns of the terminal: no row of a page's tables is broken
SHORT = '[run]\nduration = "2s"\nrepeat = 1\n'
OTHER_KERNELS = {"kernels.md", "researcher.md"}
LONG = OTHER_KERNELS | {"developer.md", "networks.md"}
NEEDS = {"congestion-control.md": KERNEL_TOOLS, "programs.md": ("curl",)}
PROGRAM = '#!/bin/sh\nexec "{python}" -P -m experiments.cli.main "$@"\n'


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A reader's folder: ./tcplab, .venv/bin/python, and what pages copy from."""
    place = tmp_path / "tcplab"
    (place / ".venv/bin").mkdir(parents=True)
    for name in ("docs", "experiments"):
        (place / name).symlink_to(ROOT / name)
    for name, text in (
        (".venv/bin/python", '#!/bin/sh\nexec "{python}" "$@"\n'),
        ("tcplab", PROGRAM),
    ):
        (place / name).write_text(text.format(python=sys.executable))
        (place / name).chmod(0o755)
    (tmp_path / "home").mkdir()
    return place


def shorten(place: Path) -> None:
    """Write a reader's defaults, which make runs short."""
    defaults = place.parent / "home/.config/tcplab/defaults.toml"
    defaults.parent.mkdir(parents=True)
    defaults.write_text(SHORT)


def do(step: Step, place: Path, is_exact: bool) -> None:
    if step.name:
        (place / step.name).write_text(step.content)
        return
    environment = {
        **os.environ,
        "HOME": str(place.parent / "home"),
        "PYTHONPATH": str(ROOT),
        "TCPLAB_CACHE": str(cache.folder()),
        "COLUMNS": WIDE,
    }
    environment.pop("XDG_CONFIG_HOME", None)
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", step.command],
        cwd=place,
        env=environment,
        capture_output=True,
        text=True,
        timeout=HANGS,
        check=False,
    )
    told = f"{step.command}\n{done.stdout}\n{done.stderr}"
    assert done.returncode == step.status, told
    lines = [words_alone(line) for line in done.stdout.splitlines() + done.stderr.splitlines()]
    missing = [line for line in step.printed if not any(words_alone(line) in one for one in lines)]
    assert not (is_exact and missing), f"The page shows {missing}, but this came:\n{told}"


def marks(page: Path) -> list[pytest.MarkDecorator]:
    needs = [pytest.mark.needs(*NEEDS[page.name])] if page.name in NEEDS else []
    return [*needs, *([pytest.mark.long] if page.name in LONG else [])]


@pytest.mark.parametrize(
    "page",
    [pytest.param(page, marks=marks(page)) for page in PAGES],
    ids=lambda page: page.name,
)
def test_a_page_can_be_followed(page: Path, checkout: Path, pytestconfig: pytest.Config) -> None:
    if page.name in OTHER_KERNELS and not pytestconfig.getoption("--kernels"):
        pytest.skip("another kernel: --kernels")
    if not shutil.which("bash"):
        pytest.skip("no bash here")
    is_exact = page.parent.name == "start" or pytestconfig.getoption("--as-written")
    if not is_exact:
        shorten(checkout)
    for step in steps(page):
        do(step, checkout, is_exact)
