"""Studies of one's own: a file and a folder, in every command, beside ours."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import experiments
from experiments.cli.commands import tcplab
from experiments.cli.run import experiments as run_group
from experiments.study.catalogue import add_studies, find
from experiments.study.published import chosen, published_study, targets
from experiments.sweep.definition import SweepDefinition, plan
from experiments.sweep.point import Record
from experiments.sweep.reproduce import Reproduction
from experiments.sweep.run import PointRunner, Watch, carry_out
from tests.tools.own_studies import forgotten
from tests.unit.made_sweeps import LAB, Engine
from topologies.errors import UsageError

ROOT = Path(__file__).resolve().parents[2]
MODULE = '''"""{claim}"""

from dataclasses import dataclass

from experiments.spec import ExperimentSpec, Flow, LinkParameters, claim_of, sack
from topologies.shapes import two_hosts


@dataclass(frozen=True)
class Whatever(LinkParameters):
    pass


def experiment(parameters: Whatever) -> ExperimentSpec:
    return ExperimentSpec(
        name="{name}",
        claim=claim_of(__doc__),
        topology=two_hosts(parameters.channel()),
        flows=(Flow("flow1", "h1", "h2", parameters.duration),),
        conditions=(sack(on=True),),
    )
'''
REPORT = """from analysis.reporting.answers import Answer
from analysis.reporting.studies import StudyReport

REPORT = StudyReport(answers=lambda results: (Answer("Whose is it?", ("It is mine.",)),))
"""
PUBLISHED = """source = "A letter of mine"
seeds = [2, 4]

[reasons]
home = "Mine."

[numbers.all]
quantity = "rate"
unit = "kbit/s"
condition = "sack_on"
metric = "goodput_kbit_s"
settings = "duration=9s"
quick = { settings = "duration=1s" }

[[numbers.each]]
where = "at {place}"
column = "rate"
"""


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with a study in a file and one in a folder, which nobody knows afterwards."""
    folder = tmp_path / "own"
    (folder / "room").mkdir(parents=True)
    (folder / "alone.py").write_text(MODULE.format(name="alone", claim="A file is enough."))
    (folder / "sack.py").write_text(MODULE.format(name="sack", claim="Another SACK."))
    (folder / "helper.py").write_text("experiment = 3\n")
    (folder / "room/__init__.py").write_text(MODULE.format(name="room", claim="Rooms have parts."))
    (folder / "room/report.py").write_text(REPORT)
    (folder / "room/published.toml").write_text(PUBLISHED)
    (folder / "room/published.csv").write_text("place,rate\nhome,700\n")
    with forgotten(monkeypatch, "alone", "room"):
        yield folder
    targets.cache_clear()


def printed(code: str, **environment: str) -> str:
    """What another process prints, in a folder where no study is."""
    command = [sys.executable, "-c", code]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **environment}
    return subprocess.run(
        command, env=environment, cwd="/", capture_output=True, text=True, check=True
    ).stdout


def asked(*words: str) -> Result:
    return CliRunner().invoke(tcplab, words)


def test_both_kinds_are_listed_and_described(own: Path) -> None:
    listed = asked("--list", "--studies", str(own))
    assert "alone                A file is enough." in listed.output
    assert "room                 Rooms have parts." in listed.output
    assert "Another SACK" not in listed.output and "helper" not in listed.output
    for name in ("alone", "room"):
        done = asked("--studies", str(own), "run", name, "--loss", "3%", "--dry-run")
        assert done.exit_code == 0, done.output
        assert f'"name": "{name}"' in done.output
    assert (
        CliRunner().invoke(run_group, ["--studies", str(own), "alone", "--dry-run"]).exit_code == 0
    )


def test_no_study_of_another_folder_replaces_one_of_ours(own: Path) -> None:
    add_studies([own])
    assert find("sack").file == ROOT / "experiments/sack/__init__.py"
    assert "10 % of its packets" in find("sack").spec(find("sack").parameters()()).claim


def test_a_folder_that_does_not_exist_is_one_sentence(own: Path) -> None:
    done = asked("--studies", str(own / "none"), "run", "alone")
    assert (done.exit_code, done.output.count("\n")) == (2, 1)
    assert f"There is no folder {own / 'none'} to take studies from." in done.output


def test_a_study_that_is_not_python_is_named(own: Path) -> None:
    (own / "broken.py").write_text("def experiment(:\n")
    done = asked("--studies", str(own), "run", "alone", "--dry-run")
    assert done.exit_code == 2
    assert "broken.py is not Python" in done.output


def test_parameters_that_are_not_said_are_asked_for(own: Path) -> None:
    bare = MODULE.format(name="bare", claim="Bare.").replace("parameters: Whatever", "parameters")
    (own / "bare.py").write_text(bare)
    add_studies([own])
    with pytest.raises(UsageError, match=r"bare\.py does not say what its parameters are"):
        find("bare").parameters()


def test_only_a_folder_has_parts(own: Path) -> None:
    add_studies([own])
    assert find("alone").part("report") is None and find("room").part("missing") is None
    assert find("room").part("report") is not None
    assert published_study("room").reasons == (("home", "Mine."),)


@pytest.mark.parametrize("name", ["alone", "room"])
def test_both_kinds_can_be_swept(own: Path, name: str) -> None:
    add_studies([own])
    made = plan(SweepDefinition(name, (("loss", ("1%", "5%")),), (1, 2)))
    assert [combination.spec.name for combination in made.combinations] == [name, name]


def test_a_study_with_targets_is_reproduced_after_ours(own: Path, tmp_path: Path) -> None:
    def measured(data: object, seed: int) -> Record:
        row = {"condition": "sack_on", "flow": "flow1", "goodput_kbit_s": 700.0 + seed}
        kept = {"status": "complete", "problem": "", "log": "", "warnings": [], "usage": {}}
        return {**kept, "rows": [row]}

    targets.cache_clear()
    add_studies([own])
    assert targets(True)[-1].experiment == "room"
    runner = PointRunner(LAB, Engine(measured), "two")
    folder = carry_out(
        Reproduction(chosen(True, ["room"]), True), tmp_path / "runs", runner, Watch()
    )
    (study,) = json.loads((folder / "reproduction.json").read_text())["studies"]
    (row,) = study["rows"]
    assert (study["source"], row["published"]) == ("A letter of mine", 700.0)
    assert (row["today"], row["seeds"]) == ([701.0, 702.0], [1, 2])


def test_the_analysis_finds_a_report_by_the_environment_alone(own: Path) -> None:
    code = (
        "from experiments.reporting.studies import report_of; "
        "print(report_of('room').answers(None)[0].paragraphs, "
        "report_of('alone').answers.__module__)"
    )
    found = printed(code, **{experiments.STUDIES: str(own)})
    assert found == "('It is mine.',) analysis.reporting.studies\n"


def test_processes_that_are_started_inherit_the_folders(own: Path) -> None:
    asked("--studies", str(own), "run", "alone", "--dry-run")
    code = "from experiments.study.catalogue import find; print(find('room').claim)"
    assert printed(code) == "Rooms have parts.\n"
