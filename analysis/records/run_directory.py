"""A run directory as frozen records. Names found in its files are checked before they are used as
paths.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from analysis.records.jsonfile import Object, inner, number, objects, read_object, text, texts
from analysis.records.problems import Problems, printable
from topologies import untrusted
from topologies.errors import TcplabError, UsageError

NEWEST_FORMAT = 1
"""The newest manifest format that this analysis understands."""

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,79}")


@dataclass(frozen=True)
class RunCondition:
    """One of the cases that the experiment compares; `sysctls` are what it asks of every host,
    names and values.
    """

    name: str
    label: str
    sysctls: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class RunFlow:
    """One iperf connection. `port` is the receiver's, `protocol` tcp or udp."""

    name: str
    sender: str
    receiver: str
    port: int
    protocol: str = "tcp"


@dataclass(frozen=True)
class Trial:
    """One condition under one seed; `folder` holds its raw files and `name` is its path inside the
    run.
    """

    seed: int
    condition: RunCondition
    folder: Path

    @property
    def name(self) -> str:
        return f"raw/seed-{self.seed}/{self.condition.name}"


@dataclass(frozen=True)
class RunRecord:
    """Everything that the files at the top of a run directory say."""

    path: Path
    manifest: Object
    spec: Object
    seeds: tuple[int, ...]
    conditions: tuple[RunCondition, ...]
    flows: tuple[RunFlow, ...]
    trials: tuple[Trial, ...]
    captures: tuple[str, ...]

    @property
    def flow(self) -> RunFlow:
        """The first: captures and graphs are about this one."""
        return self.flows[0]

    @property
    def experiment(self) -> str:
        return text(self.manifest, "experiment") or text(self.spec, "name", "unnamed experiment")

    @property
    def status(self) -> str:
        return text(self.manifest, "status", "unknown")

    @property
    def parameters(self) -> dict[str, str]:
        parameters = inner(self.spec, "parameters")
        return {key: text(parameters, key) for key in parameters}

    @property
    def failures(self) -> tuple[str, ...]:
        return texts(self.manifest, "failures")

    @property
    def warnings(self) -> tuple[str, ...]:
        return texts(self.manifest, "warnings")

    def capture_of(self, host: str) -> str | None:
        """The captured interface of `host`, such as h2-eth0."""
        return next((name for name in self.captures if name.startswith(f"{host}-")), None)


def read_run(path: Path, problems: Problems) -> RunRecord:
    """The run in `path`. Raises UsageError where there is none, TcplabError for a newer format."""
    _require_run_directory(path)
    manifest = read_object(path / "manifest.json", problems, "manifest.json")
    _require_known_format(manifest)
    spec = read_object(path / "spec.json", problems, "spec.json")
    seeds, conditions = _seeds(path, manifest), _conditions(path, spec, problems)
    trials = tuple(
        Trial(seed, case, path / "raw" / f"seed-{seed}" / case.name)
        for seed in seeds
        for case in conditions
    )
    present = tuple(trial for trial in trials if _is_present(trial, problems))
    captures = tuple(name for name in texts(spec, "captures") if _NAME.fullmatch(name))
    return RunRecord(path, manifest, spec, seeds, conditions, _flows(spec), present, captures)


def run_of(raw: Path, spec: Object) -> RunRecord:
    """One seed's run from its `spec` and its raw files in `raw` (a raw/seed-N), without a run
    directory around them.
    """
    problems = Problems()
    conditions = _conditions(raw, spec, problems)
    trials = tuple(Trial(1, case, raw / case.name) for case in conditions)
    captures = tuple(name for name in texts(spec, "captures") if _NAME.fullmatch(name))
    return RunRecord(raw, {}, spec, (1,), conditions, _flows(spec), trials, captures)


def changed_files(run: RunRecord) -> list[str]:
    """The files whose SHA-256 is not the manifest's any more."""
    listed = inner(run.manifest, "files")
    return [name for name, digest in listed.items() if _digest(run, name) not in (None, digest)]


def _digest(run: RunRecord, name: str) -> str | None:
    """The SHA-256 of a file; None if there is no regular file that can be read."""
    try:
        return untrusted.digest(run.path, name)
    except (OSError, untrusted.StrangeFile):
        return None


def _require_run_directory(path: Path) -> None:
    if not path.is_dir():
        raise UsageError(
            f"There is no run directory '{path}'.",
            "Name a folder below runs/, such as runs/sack/latest.",
        )
    try:
        names = {entry.name for entry in path.iterdir()}
    except OSError as error:
        raise TcplabError(
            f"The run directory '{path}' cannot be read ({error.strerror}).",
            f"Give yourself the permission: sudo chown -R $USER '{path}'",
        ) from error
    if not names & {"manifest.json", "spec.json", "raw"}:
        raise UsageError(
            f"'{path}' is no run directory: it has no manifest.json.", "Name a folder below runs/."
        )


def _require_known_format(manifest: Object) -> None:
    found = number(manifest, "format")
    if found is not None and found > NEWEST_FORMAT:
        raise TcplabError(
            f"The run was written in manifest format {found:g}; this tcplab reads formats up to"
            f" {NEWEST_FORMAT}.",
            "Update tcplab (git pull) and try again.",
        )


def _seeds(path: Path, manifest: Object) -> tuple[int, ...]:
    listed = manifest.get("seeds")
    if isinstance(listed, list) and listed and all(type(seed) is int for seed in listed):
        return tuple(dict.fromkeys(listed))
    found = (
        re.fullmatch(r"seed-(\d{1,18})", entry.name)
        for entry in sorted((path / "raw").glob("seed-*"))
    )
    return tuple(sorted(int(match[1]) for match in found if match))


def _conditions(path: Path, spec: Object, problems: Problems) -> tuple[RunCondition, ...]:
    listed = objects(spec, "conditions")
    named = [
        RunCondition(text(entry, "name"), text(entry, "label"), _sysctls(entry)) for entry in listed
    ]
    usable = tuple(condition for condition in named if _NAME.fullmatch(condition.name))
    if len(usable) < len(named):
        problems.add("spec.json names a condition that cannot be a folder's name: it is left out.")
    if usable:
        return usable
    folders = {entry.name for entry in (path / "raw").glob("seed-*/*") if entry.is_dir()}
    return tuple(RunCondition(name, name) for name in sorted(folders) if _NAME.fullmatch(name))


def _sysctls(entry: Object) -> tuple[tuple[str, str], ...]:
    found = entry.get("sysctls")
    pairs = (
        [pair for pair in found if isinstance(pair, list) and len(pair) == 2]
        if isinstance(found, list)
        else []
    )
    return tuple((printable(name), printable(value)) for name, value in pairs)


def _flows(spec: Object) -> tuple[RunFlow, ...]:
    return tuple(map(_flow, objects(spec, "flows") or [{}]))


def _flow(entry: Object) -> RunFlow:
    names = {
        key: text(entry, key, default)
        for key, default in (("name", "flow1"), ("sender", "h1"), ("receiver", "h2"))
    }
    if not all(_NAME.fullmatch(name) for name in names.values()):
        raise TcplabError(
            "spec.json names a flow or host that cannot be a file's name.",
            "Run the experiment again.",
        )
    protocol = "udp" if entry.get("rate") else "tcp"
    return RunFlow(
        names["name"],
        names["sender"],
        names["receiver"],
        int(number(entry, "port") or 5001),
        protocol,
    )


def _is_present(trial: Trial, problems: Problems) -> bool:
    if trial.folder.is_dir():
        return True
    problems.add(f"{trial.name} is missing: that repetition is left out.")
    return False
