"""What the raw files of a run tell, as numbers by condition and key, for a lab's key.

Keys are those of analysis.measures.metrics (server.rate, nstat.TcpRetransSegs,
sender.rexmt_data_pkts, pauses.total, ...), for each flow FLOW.METRIC and for all of them
run.METRIC with the columns of a sweep.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from msgspec import Struct

from analysis.measures.metrics import columns, metric
from analysis.measures.readings import TrialReadings
from analysis.measures.results import measure
from analysis.records.problems import Problems
from analysis.records.run_directory import RunRecord, Trial, read_run
from analysis.records.socket_samples import by_port
from labs.measuring.evidence_frames import PREFIX, frame_values, line_values
from topologies.foundation import untrusted
from topologies.foundation.errors import TcplabError

Values = dict[str, dict[str, int | float]]
"""Condition to key to value."""
_CAPTURED = re.compile(r"^(\d{1,12}) packets? captured", re.MULTILINE)
_MOST_FILES = 10_000
_OF_RUN = {column.name for column in columns().values() if column.of_run}
_OF_FLOW = {column.name for column in columns().values() if not column.of_run}
_WITNESSES = {"ss.bytes_sent", "ss.bytes_retrans", "tcpdump.sender", "tcpdump.receiver"}


@dataclass(frozen=True)
class MeasuredRun:
    """A run of a lab: the values of each of its seeds."""

    seeds: tuple[Values, ...]

    def __call__(self, condition: str, key: str) -> float:
        """The value, the median if there are several seeds.

        Raises KeyError if it was not measured, UnknownMetric if no run could have such a measure.
        """
        _require_known(key)
        return median(values[condition][key] for values in self.seeds)

    def frames(self, capture: str, event: str) -> dict[int, float]:
        """The frames of the first seed's `capture`, CONDITION/INTERFACE, with their times in s.

        Raises KeyError if the condition was not run.
        """
        condition, _, interface = capture.partition("/")
        beginning = f"{PREFIX}{interface}.{event}."
        return {
            int(key.removeprefix(beginning)): time
            for key, time in self.seeds[0][condition].items()
            if key.startswith(beginning)
        }


def _require_known(key: str) -> None:
    """Raises UnknownMetric for a key that is misspelt."""
    group, _, name = key.partition(".")
    if key in _WITNESSES or name in (_OF_RUN if group == "run" else _OF_FLOW):
        return
    metric(key)


Runs = Mapping[str, MeasuredRun]
"""The runs of a lab by name."""


def measured(raw: Path, data: Any, seed: int) -> dict[str, Any]:
    """`values` and `files` (their digests) of a seed, whose raw files are in FOLDER/raw/seed-SEED.

    FOLDER is ours: what makes it a run directory is written there. Raises TcplabError.
    """
    folder = raw.parent.parent
    as_run_directory(folder, data, [seed])
    values: Values | None = values_of(str(folder))["values"].get(str(seed))
    if values is None:
        raise TcplabError(
            "The guest left nothing that can be measured.", "Its module may have ended it."
        )
    return {"values": values, "files": _digests(raw, data)}


def _digests(raw: Path, data: Any) -> dict[str, str]:
    """What a condition measured; the logs beside it name paths and processes of the machine."""
    names = [
        path.relative_to(raw).as_posix()
        for condition in data["conditions"]
        for path, _ in sorted(untrusted.entries(raw / condition["name"], 1, _MOST_FILES))
    ]
    return {f"{raw.name}/{name}": untrusted.digest(raw, name) for name in names}


class MeasuredFolder(Struct):
    """The values of a run directory by seed, and the problems of reading it."""

    values: dict[str, Values]
    problems: list[str]


def values_of(folder: str) -> dict[str, Any]:
    """`values` by seed and condition, and `problems`, of the run directory at `folder`."""
    problems = Problems()
    run = read_run(Path(folder), problems)
    values: dict[str, Values] = {}
    for trial in run.trials:
        values.setdefault(str(trial.seed), {})[trial.condition.name] = _values(run, trial, problems)
    return {"values": values, "problems": problems.found[:20]}


def _values(run: RunRecord, trial: Trial, problems: Problems) -> dict[str, float]:
    # One flow is what analysis.measures.results follows; a study of many is in its rows.
    values = measure(run, trial, problems, draw=False).by_name
    try:
        values |= _rows(run, trial) | _witnesses(run, trial)
        values |= frame_values(trial.folder, run.captures) | line_values(run, trial)
    except (ValueError, RecursionError, OSError) as error:
        problems.add(f"{trial.name}: the samples of the sockets are broken ({error}).")
    return {key: round(value, 9) for key, value in values.items()}


def _rows(run: RunRecord, trial: Trial) -> dict[str, float]:
    values: dict[str, float] = {}
    for row in TrialReadings(run, trial).rows:
        for name, value in row.items():
            if isinstance(value, float | int):
                key = f"run.{name}" if name in _OF_RUN else f"{row['flow']}.{name}"
                values[key] = float(value)
    return values


def _witnesses(run: RunRecord, trial: Trial) -> dict[str, float]:
    """What the sender's socket and tcpdump's own count say of what was sent."""
    counts: dict[str, float] = {}
    lines = untrusted.text_if_any(trial.folder, f"{run.flow.sender}.sockets.jsonl").splitlines()
    samples = by_port(lines).get(str(run.flow.port), [])
    if samples:
        counts |= {
            "ss.bytes_sent": samples[-1].bytes_sent,
            "ss.bytes_retrans": samples[-1].bytes_retrans,
        }
    for role, host in (("sender", run.flow.sender), ("receiver", run.flow.receiver)):
        messages = untrusted.text_if_any(trial.folder, f"{run.capture_of(host)}.tcpdump.txt")
        if count := _CAPTURED.search(messages):
            counts[f"tcpdump.{role}"] = float(count[1])
    return counts


def as_run_directory(folder: Path, spec: Any, seeds: Sequence[int]) -> None:
    """Write what makes raw files in `folder`/raw a run directory that can be measured."""
    (folder / "spec.json").write_text(json.dumps(spec))
    (folder / "manifest.json").write_text(json.dumps({"format": 1, "seeds": list(seeds)}))
