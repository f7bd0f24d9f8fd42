"""Statistics file of a run, as the published study's script wrote it.

Lines of segments have numbers as first and fifth word, like netstat's.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from analysis.records.json_reader import Problems, number, text
from analysis.records.run_directory import RunRecord, Trial, run_of
from analysis.records.spec_file import RunCondition
from analysis.records.trial_files import CountersFile, EvidenceFile, Qdisc
from topologies import untrusted

_FORBIDDEN = re.compile(r'[<>:"/\\|?*\x00-\x20]+')  # in a file's name on NTFS, and space


_WRITTEN: dict[str, Callable[[float], str]] = {
    "delay": lambda seconds: f"{1e6 * seconds:g}us",
    "jitter": lambda seconds: f"{1e6 * seconds:g}us",
    "loss": lambda share: f"{100 * share:g}%",
    "rate": lambda octets: f"{8e-6 * octets:g}Mbit",
}
"""Options that tc's JSON has in seconds, as a share of 1 and in bytes a second."""


def statistics_of(raw: Path, spec: dict[str, Any]) -> dict[str, str]:
    """Return the text of each condition, by its name, from the files of a `raw/seed-N`."""
    run = run_of(raw, spec)
    return {trial.condition.name: statistics(run, trial) for trial in run.trials}


def file_name(condition: str, values: Mapping[str, str], seed: int) -> str:
    """Return a name for every file system, such as statistics/sack_on_loss_0.01%_seed-1.txt."""
    words = [condition, *(f"{name}_{value}" for name, value in values.items()), f"seed-{seed}"]
    return f"statistics/{_FORBIDDEN.sub('-', '_'.join(words))}.txt"


def statistics(run: RunRecord, trial: Trial) -> str:
    problems, sender = Problems(), run.flow.sender
    counters, qdiscs, evidence = (
        trial.files.counters(problems),
        trial.files.qdiscs(problems),
        trial.files.evidence(problems),
    )
    lines = [
        _segments(counters.before, sender),
        *_settings(evidence, sender, trial.condition),
        *_shaped(qdiscs.before),
        *(line for flow in run.flows for line in _printed(trial.folder, f"{flow.name}.client.txt")),
        *_shaped(qdiscs.after),
        _segments(counters.after, sender),
        *_changed(counters, sender),
        *(sentence.removeprefix(f"{trial.name}/") for sentence in problems.found),
    ]
    return "\n".join(lines) + "\n"


def _segments(counted: Mapping[str, Mapping[str, float]], host: str) -> str:
    counters = counted.get(host, {})
    sent, again = (counters.get(name, 0.0) for name in ("TcpOutSegs", "TcpRetransSegs"))
    return f"{sent:.0f} segments sent out {again:.0f} segments retransmitted"


def _settings(evidence: EvidenceFile, host: str, condition: RunCondition) -> Iterator[str]:
    values = evidence.sysctls.get(host, {})
    yield from (f"{name} = {values.get(name, 'not read back')}" for name, _ in condition.sysctls)


def _shaped(ports: Mapping[str, tuple[Qdisc, ...]]) -> Iterator[str]:
    """Yield each queueing discipline with its counters, nearly as `tc -s qdisc show` prints it."""
    for port, disciplines in ports.items():
        for qdisc in disciplines:
            words = (qdisc.kind, qdisc.handle, f"dev {port}", *_options(qdisc.options))
            yield " ".join(("qdisc", *words))
            sent = f" Sent {_count(qdisc.bytes)} bytes {_count(qdisc.packets)} pkt"
            dropped, overlimits = _count(qdisc.drops), _count(qdisc.overlimits)
            yield f"{sent} (dropped {dropped}, overlimits {overlimits})"


def _count(value: float | None) -> str:
    return "" if value is None else f"{value:.0f}"


def _options(options: Mapping[str, Any]) -> Iterator[str]:
    """Yield names and values, one level deep, without those that are off or 0."""
    for name, value in options.items():
        if isinstance(value, dict):
            yield from _options(value)
        elif value:
            amount = number(value)
            as_tc = _WRITTEN[name](amount) if name in _WRITTEN and amount else text(value)
            yield f"{name} {as_tc or ''}"


def _printed(folder: Path, name: str) -> list[str]:
    if not untrusted.is_file(folder, name):
        return [f"{name} is missing"]
    return untrusted.text(folder, name).splitlines()


def _changed(counters: CountersFile, host: str) -> Iterator[str]:
    yield f"Counters of {host} that changed, before and after:"
    before, after = counters.before.get(host, {}), counters.after.get(host, {})
    for name, last in after.items():
        if name.startswith("Tcp") and last != before.get(name):
            yield f"{name} {before.get(name, 0.0):.0f} {last:.0f}"
