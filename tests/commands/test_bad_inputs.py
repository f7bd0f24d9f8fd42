"""Bad input of a run or sweep: one sentence with its remedy, before anything runs."""

import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from experiments.cli.commands import tcplab
from tests.tools.own_studies import forgotten

FILES = {
    "empty.trace": "",
    "down.trace": "5\n3\n",
    "words.trace": "hello\n",
    "nameless.toml": '[set]\nloss = ["1%"]\n',
    "odd.toml": 'experiment = "sack"\nfoo = 0\n',
    "broken.toml": "experiment = [",
    "mine/stray.py": '''"""A flow to a host that is not there."""

from tcplab import ExperimentSpec, Flow, LinkParameters, sack, two_hosts


class Stray(LinkParameters):
    pass


def experiment(parameters: Stray) -> ExperimentSpec:
    flow = Flow("flow1", "h1", "h9", parameters.duration)
    topology = two_hosts(parameters.channel())
    return ExperimentSpec("stray", __doc__, topology, flows=(flow,), conditions=(sack(on=True),))
''',
}
BAD = Path(__file__).with_name("bad_inputs.txt").read_text().splitlines()  # words | fault | remedy


@pytest.mark.parametrize("line", BAD)
def test_bad_input_is_one_sentence_with_its_remedy_before_anything_runs(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words, problem, remedy = line.split(" | ")
    for name, text in FILES.items():
        file = tmp_path / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
    monkeypatch.chdir(tmp_path)
    with forgotten(monkeypatch, "stray"):
        done = CliRunner().invoke(tcplab, [*shlex.split(words), "--dry-run"])
    assert done.exit_code == 2, done.output
    sentence = done.output.partition("Error: ")[2]
    assert problem in sentence, done.output
    assert remedy in sentence.partition(problem)[2], sentence
    assert "Traceback" not in done.output and done.output.count("Error: ") == 1
    left = {str(file.relative_to(tmp_path)) for file in tmp_path.rglob("*") if file.is_file()}
    assert {name for name in left if "__pycache__" not in name} == set(FILES), "nothing is written"
