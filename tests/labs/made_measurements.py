"""Made-up measurements of every lab that show its claim, and changes that contradict it."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from labs.measuring.measures import MeasuredRun
from topologies.notation import toml_file

Place = tuple[str, str, str]
"""Run, condition, and the name of what was measured."""


@dataclass(frozen=True)
class MadeLab:
    """`shown` shows the claim; each of `contradictions` is a change that does not.

    `right` are options that the key must tick in any runs that show the claim, `wrong` those
    that it must not.
    """

    shown: Mapping[Place, float]
    contradictions: list[Mapping[Place, float]]
    right: Mapping[str, set[str]]
    wrong: Mapping[str, set[str]]


def runs_of(values: Mapping[Place, float]) -> dict[str, MeasuredRun]:
    """The measurements as runs of one seed."""
    runs: dict[str, dict[str, dict[str, float]]] = {}
    for (run, condition, name), value in values.items():
        measured_values = runs.setdefault(run, {}).setdefault(condition, {})
        measured_values[name] = value
        flow, _, metric = name.rpartition(".")
        if metric in ("goodput_kbit_s", "rate"):  # of 10 s
            amount = f"{flow.replace('server', 'flow1')}.transfer_kbyte"
            measured_values[amount] = value * 1250 / 1024
    return {run: MeasuredRun((conditions,)) for run, conditions in runs.items()}


def _made(content: Mapping[str, dict]) -> MadeLab:
    shown = {
        (run, condition, name): float(value)
        for run, conditions in content["shown"].items()
        for condition, values in conditions.items()
        for name, value in values.items()
    }
    changes = [text.split() for text in content.get("contradictions", ())]
    right, wrong = (
        {question: set(options) for question, options in content.get(name, {}).items()}
        for name in ("right", "wrong")
    )
    contradictions = [{(run, where, name): float(value)} for run, where, name, value in changes]
    return MadeLab(shown, contradictions, right, wrong)


_FILE = toml_file(Path(__file__).with_suffix(".toml"))
LABS = {name: _made(content) for name, content in _FILE.items()}
