"""The manual page has every command and option, and roff that a formatter takes."""

import shutil
import subprocess

import pytest
from click.testing import CliRunner

from experiments.cli.commands import LINES, tcplab


@pytest.fixture(scope="module")
def page() -> str:
    done = CliRunner().invoke(tcplab, ["man"])
    assert done.exit_code == 0, done.output
    return str(done.stdout)


def test_every_command_is_a_section_with_its_options(page: str) -> None:
    for name in LINES:
        assert f'\n.SS "tcplab {name} ' in page
    assert '\n.SS "tcplab run sack ' in page
    assert "\\-\\-kernel" in page and "\\-\\-json" in page


@pytest.mark.skipif(not shutil.which("groff"), reason="no groff here: sudo apt-get install groff")
def test_a_formatter_takes_it_without_a_warning(page: str) -> None:
    command = ["groff", "-man", "-Tutf8", "-ww", "-P-c", "-P-b", "-P-u"]  # without overstriking
    done = subprocess.run(command, input=page, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    assert "\nCOMMANDS\n" in done.stdout
