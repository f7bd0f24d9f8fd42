"""Bundles: packed, unpacked elsewhere, repeated by their script, and refused where bytes differ."""

import hashlib
import json
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

import tcplab
from experiments.cli.commands import tcplab as command
from experiments.reporting.bundle import pack
from experiments.sweep.verify import first_difference
from tests.unit.test_own_studies import MODULE

ROOT = Path(__file__).resolve().parents[2]


def unpacked(archive: Path, place: Path) -> Path:
    place.mkdir()
    subprocess.run(["tar", "xzf", archive, "-C", place], check=True)
    (folder,) = place.iterdir()
    return folder


def repeated(folder: Path, program: str = f"{ROOT}/tcplab") -> subprocess.CompletedProcess[str]:
    """Run the bundle's script from another folder, as a stranger would."""
    return subprocess.run(
        ["sh", str(folder / "repeat.sh"), program],
        cwd=folder.parent,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )


def alter_last_digit(table: Path) -> None:
    """Change one byte: the last digit of the first row."""
    head, first, *rest = table.read_text().splitlines(keepends=True)
    at = max(place for place, letter in enumerate(first) if letter.isdigit())
    first = first[:at] + ("8" if first[at] == "9" else "9") + first[at + 1 :]
    table.write_text("".join([head, first, *rest]))


def sum_again(folder: Path) -> None:
    """Write SHA256SUMS as one does who hides a change."""
    names = [line.split("  ")[1] for line in (folder / "SHA256SUMS").read_text().splitlines()]
    digests = ((hashlib.sha256((folder / name).read_bytes()).hexdigest(), name) for name in names)
    text = "".join(f"{digest}  {name}\n" for digest, name in digests)
    (folder / "SHA256SUMS").write_text(text)


@pytest.mark.virtual
def test_a_run_is_repeated_from_its_bundle_and_a_changed_byte_is_named(tmp_path: Path) -> None:
    run = tcplab.run("sack", {"duration": "2s"}, seeds=1, out=tmp_path / "runs")
    archives = [pack(run, tmp_path / f"{name}.tar.gz") for name in ("first", "second")]
    assert archives[0].read_bytes() == archives[1].read_bytes()
    folder = unpacked(archives[0], tmp_path / "elsewhere")
    readme = (folder / "README.md").read_text()
    for part in ("kernel", "image", "lab", "code", "spec"):
        assert f"| {part} | `" in readme
    claim = json.loads((run / "claim.json").read_text())
    assert f"Result: {claim['sentence']}" in readme and "studies" not in readme
    assert {"LICENSE", "LICENCES.md", "figures", "data"} <= {each.name for each in folder.iterdir()}

    done = repeated(folder, str(ROOT))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "The same, byte by byte" in done.stdout

    name = "data/raw/seed-1/sack_on/h1-eth0.tcpdump.txt"
    (folder / name).write_text("changed\n")
    done = repeated(folder)
    assert done.returncode == 1
    assert done.stderr == f"Not the same: {name} is not the file that was packed.\n"

    sum_again(folder)
    done = repeated(folder)
    assert done.returncode == 1
    assert "seed-1/sack_on/h1-eth0.tcpdump.txt is another file." in done.stdout


@pytest.mark.virtual
@pytest.mark.long
def test_a_sweep_of_ones_own_study_brings_its_source(tmp_path, monkeypatch) -> None:
    studies = tmp_path / "studies"
    studies.mkdir()
    (studies / "mine.py").write_text(MODULE.format(name="mine", claim="Mine is mine."))
    program = [f"{ROOT}/tcplab", "--studies", str(studies)]
    options = ["--set", "duration=2s", "--set", "loss=0%,5%", "--seeds", "2"]
    for words in (
        ["sweep", "mine", *options, "--out", "runs"],
        ["bundle", "runs/sweeps/latest", "--out", "mine.tar.gz"],
    ):
        done = subprocess.run(
            [*program, *words], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
    (studies / "mine.py").unlink()
    folder = unpacked(tmp_path / "mine.tar.gz", tmp_path / "elsewhere")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    done = repeated(folder)
    assert done.returncode == 0, done.stdout + done.stderr
    number = (folder / "data/series.csv").read_text().count("\n") - 1
    said = f"all 4 rows of rows.csv and all {number} rows of series.csv came out again"
    assert number > 4
    assert said in done.stdout

    alter_last_digit(folder / "data/series.csv")
    done = repeated(folder)
    assert done.stderr == "Not the same: data/series.csv is not the file that was packed.\n"

    sum_again(folder)
    done = repeated(folder)
    assert done.returncode == 1
    assert "series.csv differs from line 2 on" in done.stdout


ROWS = "point,loss,goodput_kbit_s\na,1%,950.0\nb,2%,800.0\n"


@pytest.mark.parametrize(
    ("repeated_rows", "sentence"),
    [
        (ROWS.replace("a,", "c,"), ""),
        (
            ROWS.replace("800", "801"),
            "rows.csv differs from line 3 on: goodput_kbit_s was 800.0 and is 801.0.",
        ),
        (ROWS[: ROWS.index("b,")], "rows.csv ends before line 3, repeated."),
    ],
)
def test_the_first_difference_of_rows_is_named(repeated_rows: str, sentence: str) -> None:
    assert first_difference(ROWS, repeated_rows) == sentence


def test_no_run_and_a_wrong_name_are_one_sentence(tmp_path: Path) -> None:
    result = CliRunner().invoke(command, ["bundle", str(tmp_path)])
    assert result.exit_code == 2
    assert result.output.count("\n") == 1
    assert "has no manifest.json that can be read" in result.output


def test_the_script_without_a_program_says_how_to_name_it(tmp_path: Path) -> None:
    script = ROOT / "experiments/reporting/repeat.sh"
    done = subprocess.run(
        ["sh", script, str(tmp_path / "none")], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "Name the program: sh repeat.sh /path/to/tcplab" in done.stderr
