"""Measures of a run's raw files, as numbers by condition and key, for a lab's key.

Keys are those of analysis.measures.metrics (server.rate, nstat.TcpRetransSegs, ...),
FLOW.METRIC for each flow, run.METRIC for all flows with the columns of a sweep, and those of
analysis.measures.evidence.

Bytes that a student's receiver wrote are held against the packets that can have carried them: what
two programs exchange without the network gains no points. The bytes to be sent are random, so no
packet carries more of them than its length."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from analysis.measures.evidence import EVENTS, PREFIX, frame_values, line_values
from analysis.measures.metrics import columns, metric
from analysis.measures.readings import TrialReadings
from analysis.measures.results import measure
from analysis.measures.trial_network import TrialNetwork
from analysis.records.json_reader import Problems
from analysis.records.run_directory import RunRecord, Trial, read_run
from analysis.records.spec_file import RunFlow
from topologies import untrusted
from topologies.errors import TcplabError

Values = dict[str, dict[str, int | float]]  # condition to key to value
_CAPTURED = re.compile(r"^(\d{1,12}) packets? captured", re.MULTILINE)
_MOST_FILES = 10_000
_OF_RUN = {column.name for column in columns().values() if column.of_run}
_OF_FLOW = {column.name for column in columns().values() if not column.of_run}
_WITNESSES = {"ss.bytes_sent", "tcpdump.sender", "tcpdump.receiver"}
_OF_SOCKET = {"ss.acked_kbit_s", "ss.pacing_kbit_s", "ss.unacked_segments"}
"""Of each flow, by the kernel's tcp_info alone: other readings of what programs print."""
_HEADERS = 34  # bytes of Ethernet and IPv4, the only ones that a program cannot fill
_SLACK = 20_000_000
"""Nanoseconds by which the time of a file may be off: two ticks of the guest's clock."""
_PORT = 0xFFFF


class UnknownName(TcplabError, KeyError):
    """A lab's key names a condition or an event that does not exist."""


@dataclass(frozen=True)
class MeasuredRun:
    """A run of a lab: the values of each of its seeds."""

    seeds: tuple[Values, ...]

    def __call__(self, condition: str, key: str) -> float:
        """Return the value, the median of several seeds. Raises KeyError, UnknownMetric."""
        group, _, name = key.partition(".")
        known = _OF_RUN if group == "run" else _OF_FLOW | _OF_SOCKET
        if key not in _WITNESSES and name not in known:
            metric(key)  # raises UnknownMetric for one that is misspelt
        self._require_condition(condition)
        return median(values[condition][key] for values in self.seeds)

    @property
    def not_carried(self) -> list[str]:
        """Sentences about flows of programs whose bytes did not all pass the network."""
        conditions = (each for values in self.seeds for each in values.values())
        return [sentence for each in conditions for sentence in not_carried(each)]

    def rates(self, condition: str) -> list[float]:
        """Return the rate of each flow at its receiver in kbit/s, the median of several seeds."""
        self._require_condition(condition)
        names = (key for key in self.seeds[0][condition] if key.endswith(".goodput_kbit_s"))
        return [self(condition, key) for key in sorted(names) if not key.startswith("run.")]

    def _require_condition(self, condition: str) -> None:
        if condition not in self.seeds[0]:
            known = ", ".join(self.seeds[0])
            raise UnknownName(f"The run has no condition '{condition[:40]}'.", f"It has: {known}.")

    def frames(self, capture: str, event: str) -> dict[int, float]:
        """Return the first seed's frames of `capture`, CONDITION/INTERFACE, with times in s."""
        condition, _, interface = capture.partition("/")
        self._require_condition(condition)
        if event not in EVENTS:
            remedy = f"There is: {', '.join(EVENTS)}."
            raise UnknownName(f"There is no event '{event[:40]}'.", remedy)
        beginning = f"{PREFIX}{interface}.{event}."
        return {
            int(key.removeprefix(beginning)): time
            for key, time in self.seeds[0][condition].items()
            if key.startswith(beginning)
        }


Runs = Mapping[str, MeasuredRun]  # the runs of a lab by name


def measured(raw: Path, data: Any, seed: int) -> dict[str, Any]:
    """Return values and digests of a seed, in FOLDER/raw/seed-SEED. Raises TcplabError."""
    folder = raw.parent.parent
    as_run_directory(folder, data, [seed])
    values: Values | None = values_of(folder).get(str(seed))
    if values is None:
        remedy = "Its module may have ended it."
        raise TcplabError("The guest left no files that can be measured.", remedy)
    # Logs next to the folders of conditions name paths and processes.
    names = [
        path.relative_to(raw).as_posix()
        for condition in data["conditions"]
        for path, _ in sorted(untrusted.entries(raw / condition["name"], 1, _MOST_FILES))
    ]
    files = {f"{raw.name}/{name}": untrusted.digest(raw, name) for name in names}
    return {"values": values, "files": files}


def values_of(folder: Path) -> dict[str, Values]:
    problems = Problems()
    run = read_run(folder, problems)
    values: dict[str, Values] = {}
    for trial in run.trials:
        values.setdefault(str(trial.seed), {})[trial.condition.name] = _values(run, trial, problems)
    return values


def _values(run: RunRecord, trial: Trial, problems: Problems) -> dict[str, float]:
    # One flow is what analysis.measures.results follows; a study of many is in its rows.
    values = measure(run, trial, problems, draw=False).by_name
    try:
        readings = TrialReadings(run, trial)
        rows = {
            f"run.{name}" if name in _OF_RUN else f"{row['flow']}.{name}": float(value)
            for row in readings.rows
            for name, value in row.items()
            if isinstance(value, float | int)
        }
        values |= rows | _witnesses(run, trial, readings) | carried_values(readings)
        values |= frame_values(trial.folder, run.captures) | line_values(run, trial)
    except (ValueError, RecursionError, OSError) as error:
        problems.add(f"{trial.name}: the samples of the sockets are broken ({error}).")
    return {key: round(value, 9) for key, value in values.items()}


def _witnesses(run: RunRecord, trial: Trial, readings: TrialReadings) -> dict[str, float]:
    counts: dict[str, float] = {}
    for each in readings.by_flow:
        samples = each.every_sample
        if samples and each.flow == run.flow:
            counts["ss.bytes_sent"] = samples[-1].bytes_sent
        if len(samples) > 1:
            first, last, flow = samples[0], samples[-1], f"{each.flow.name}.ss"
            acked = last.bytes_acked - first.bytes_acked
            counts |= {
                f"{flow}.acked_kbit_s": 8 * acked / (last.time - first.time) / 1000,
                f"{flow}.pacing_kbit_s": 8 * median(one.pacing_rate for one in samples) / 1000,
                f"{flow}.unacked_segments": median(one.unacked for one in samples),
            }
    for role, host in (("sender", run.flow.sender), ("receiver", run.flow.receiver)):
        messages = untrusted.text_if_any(trial.folder, f"{run.capture_of(host)}.tcpdump.txt")
        if count := _CAPTURED.search(messages):
            counts[f"tcpdump.{role}"] = float(count[1])
    return counts


def as_run_directory(folder: Path, spec: Any, seeds: Sequence[int]) -> None:
    (folder / "spec.json").write_text(json.dumps(spec))
    (folder / "manifest.json").write_text(json.dumps({"format": 1, "seeds": list(seeds)}))


def carried_values(readings: TrialReadings) -> dict[str, float]:
    """Return for each flow of programs what was written, in how long, and what was carried."""
    values: dict[str, float] = {}
    for each in readings.by_flow:
        if each.flow.program and each.server and readings.traffic:
            seconds, flow = each.server["interval"], each.flow
            carried = _carried(readings.run, readings.traffic, flow, seconds)
            values[f"{flow.name}.written_bytes"] = round(1024 * each.server["transfer"])
            values[f"{flow.name}.written_seconds"] = seconds
            values[f"{flow.name}.carried_bytes"] = carried
    return values


def _carried(run: RunRecord, traffic: TrialNetwork, flow: RunFlow, seconds: float) -> int:
    """Return the bytes that packets brought to the receiver until it had written all."""
    arrived = traffic.at(flow.receiver)
    if arrived is None:
        return 0
    ends = (traffic.address(name) for name in (flow.sender, flow.receiver))
    source, target = (int(IPv4Address(address)) for address in ends)
    came = arrived.between(source, target)
    others = [other.port for other in run.flows if other.name != flow.name]
    came = came.only(
        ((came.flags > 0) == (flow.protocol == "tcp")) & ~np.isin(came.ports & _PORT, others)
    )
    if not len(came):
        return 0
    in_time = came.time <= came.time[0] + round(1e9 * seconds) + _SLACK
    return int((came.length[in_time].astype(np.int64) - _HEADERS).sum())


def not_carried(values: Mapping[str, float]) -> Iterator[str]:
    """Yield a sentence about each flow whose packets cannot have carried what was written."""
    for key, written in values.items():
        flow, _, name = key.rpartition(".")
        if name != "written_bytes":
            continue
        carried, seconds = values[f"{flow}.carried_bytes"], values[f"{flow}.written_seconds"]
        if carried < written:
            yield (
                f"{flow}: its receiver wrote {written:,.0f} bytes in {seconds:.3g} s, and packets"
                f" brought {carried:,.0f} bytes until then; the rest did not pass the network"
            )
