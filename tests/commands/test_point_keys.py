"""The key of a point, an origin and an identity tell of every file that can change a result."""

import io
import json
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from experiments.run.seed import PROCEDURE
from experiments.sweep.point import CAPTURES, ROWS
from testbed.host import CODE, PACKAGES
from testbed.host import job_archive as job_archive_module
from testbed.host.job_archive import code_digest, files_of, fingerprint, job_archive

ENGINE = sorted((CODE / "analysis/flows/core/src").glob("*.rs"))
ASKED = """
import io
import json
from experiments.sweep.point import origin
from testbed.host.job_archive import code_digest
from labs.measuring.references import References
from testbed.lab.ready import Lab
from types import SimpleNamespace
from pathlib import Path
none = Path()
lab = Lab(none, none, none, none, "7.0", True, {"whole": "w", "kernel": "k", "image": "i"}, {})
references = References(SimpleNamespace(lab=lab), None, None)
print(json.dumps({"labs": references.source.measuring,
                  "rows": origin(lab).measuring, "code": code_digest()}))
"""


def names(*modules: str, root: Path = CODE) -> set[str]:
    return {file.relative_to(root).as_posix() for file in files_of(*modules)}


def made(root: Path, **files: str) -> None:
    for name, text in files.items():
        file = root.joinpath(*name.split("__")).with_suffix(".py")
        file.parent.mkdir(parents=True, exist_ok=True)
        (file.parent / "__init__.py").touch()
        file.write_text(text)


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A tree of packages of our names."""
    monkeypatch.setattr("testbed.host.job_archive.CODE", tmp_path)
    return tmp_path


@pytest.fixture(autouse=True)
def nothing_cached() -> Iterator[None]:
    fingerprint.cache_clear()
    files_of.cache_clear()
    yield
    fingerprint.cache_clear()
    files_of.cache_clear()


def test_what_measuring_needs_is_in_the_key() -> None:
    assert {"analysis/measures/results.py", "analysis/records/output.py"} <= names(
        ROWS.partition(":")[0]
    )
    # The verdict on the network is among the rows, and it reads captures.
    assert {"analysis/flows/reader.py", "analysis/flows/sightings.py"} <= names(
        ROWS.partition(":")[0]
    )
    tables = {
        f"analysis/{name}.csv" for name in ("flows/columns", "flows/kinds", "measures/metrics")
    }
    assert tables <= names(ROWS.partition(":")[0])
    assert ROWS != CAPTURES


def test_who_reads_captures_has_the_engine_in_the_key() -> None:
    engine = {file.relative_to(CODE).as_posix() for file in ENGINE}
    assert engine
    assert engine <= names(CAPTURES.partition(":")[0])
    assert engine <= names("labs.measuring.measures")


def test_what_travels_is_all_that_the_guest_imports_and_no_more() -> None:
    travelling = names("testbed.guest.job_entry", PROCEDURE)
    travelling -= {"topologies/plugins.py"}  # a guest looks for no packages
    assert {"experiments/flows/proof.py", "topologies/units.py"} <= travelling
    sent = zipfile.ZipFile(io.BytesIO(job_archive(PROCEDURE, {})))
    assert travelling <= set(sent.namelist())
    assert not any(name.startswith(("testbed/host", "analysis")) for name in travelling)


def test_code_that_is_edited_while_a_sweep_goes_on_travels_into_no_guest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, digest = job_archive(PROCEDURE, {}), code_digest()
    shutil.copytree(CODE / "testbed/guest", tmp_path / "testbed/guest")
    shutil.copytree(CODE / "experiments", tmp_path / "experiments")
    monkeypatch.setattr(job_archive_module, "CODE", tmp_path)
    with (tmp_path / "testbed/guest/network.py").open("a") as file:
        file.write("# another\n")
    assert (job_archive(PROCEDURE, {}), code_digest()) == (before, digest)


def test_imports_are_followed_in_every_form(tree: Path) -> None:
    made(
        tree,
        testbed__start="from testbed import one\nimport analysis.two\n",
        testbed__one="def late():\n    from labs.three import value\n",
        analysis__two="ENGINE = 'topologies.four'\n",
        labs__three="import json",
        topologies__four="",
        topologies__five="",
    )
    modules = {
        name for name in names("testbed.start", root=tree) if not name.endswith("__init__.py")
    }
    assert modules == {"testbed/start.py", "testbed/one.py", "analysis/two.py", "labs/three.py"} | {
        "topologies/four.py"
    }


def test_any_changed_file_changes_the_fingerprint(tree: Path) -> None:
    made(tree, testbed__start="import analysis.two\n", analysis__two="", labs__three="")
    before = fingerprint("testbed.start"), fingerprint()
    (tree / "labs/three.py").write_text("1")
    fingerprint.cache_clear()
    between = fingerprint("testbed.start"), fingerprint()
    assert before[0] == between[0]
    assert before[1] != between[1]
    (tree / "analysis/two.py").write_text("1")
    fingerprint.cache_clear()
    assert fingerprint("testbed.start") != between[0]


@pytest.mark.parametrize("name", ["testbed.nothing", "", "../testbed", "/etc/passwd", "testbed..a"])
def test_a_module_that_is_not_there_has_no_fingerprint(name: str) -> None:
    with pytest.raises(ModuleNotFoundError):
        fingerprint(name)


def origins(tree: Path) -> dict[str, str]:
    """What a process that runs this tree says of its own code."""
    command = [sys.executable, "-c", ASKED]
    done = subprocess.run(
        command, cwd=tree, env={"PYTHONPATH": str(tree)}, capture_output=True, text=True, check=True
    )
    answer: dict[str, str] = json.loads(done.stdout)
    return answer


def test_another_capture_engine_is_noticed_by_sweeps_and_by_labs(tmp_path: Path) -> None:
    for package in PACKAGES:
        shutil.copytree(
            CODE / package,
            tmp_path / package,
            ignore=shutil.ignore_patterns("__pycache__", "*.patch", "target"),
        )
    before = origins(tmp_path)
    with (tmp_path / ENGINE[0].relative_to(CODE)).open("ab") as file:
        file.write(b"\n")  # a library ends where its tables say
    after = origins(tmp_path)
    changed = {name for name in before if before[name] != after[name]}
    assert changed == {"rows", "labs"}
