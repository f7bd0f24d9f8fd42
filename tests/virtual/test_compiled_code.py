"""What a guest's Python imports was compiled before; its text still stands in a traceback."""

from pathlib import Path

import pytest

from topologies.errors import TcplabError

pytestmark = pytest.mark.virtual
JOBS = "tests.virtual.jobs"


def test_modules_come_from_the_compiled_file(in_guest) -> None:
    folder, _ = in_guest({"job": "loaders"}, module=JOBS)
    loaders = dict(line.split() for line in (folder / "loaders.txt").read_text().splitlines())
    assert set(loaders) == {"json", "mininet.net", "testbed.guest.network", "zlib"}
    assert {loaders[name] for name in loaders if name != "zlib"} == {"CompiledModules"}


def test_a_traceback_shows_lines_of_our_modules(ready_lab, tmp_path: Path) -> None:
    from testbed.host.supervise import Limits
    from testbed.virtual.run import run_in_guest

    with pytest.raises(TcplabError, match="KeyError"):
        run_in_guest(
            ready_lab, JOBS, {"job": "ask_for_nothing"}, 1, tmp_path, lambda *_: None, Limits(120)
        )
    log = (tmp_path / "job.log").read_text()
    assert 'File "/lab/job.pyz/testbed/guest/job_entry.py"' in log
    assert "return _from(self.archive, ATTACHED + name)" in log
