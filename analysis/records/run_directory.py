"""A run directory as frozen records, and all runs of a store at a glance.

Names found in its files are checked before they are used as paths.
"""

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec

from analysis.records import json_reader
from analysis.records.spec_file import RunCondition, RunFlow, RunManifest, SpecFile
from analysis.records.trial_files import TrialFiles
from topologies import untrusted
from topologies.errors import TcplabError, UsageError
from topologies.notation import json_value
from topologies.units import Duration

DRAWN = "drawn.json"  # file next to a seed's conditions: what the seed drew
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,79}")


@dataclass(frozen=True)
class Trial:
    """One condition under one seed; `folder` holds its raw files."""

    seed: int
    condition: RunCondition
    folder: Path

    @property
    def name(self) -> str:
        """Its path inside the run."""
        return f"raw/seed-{self.seed}/{self.condition.name}"

    def starts(self, flows: Sequence[RunFlow], problems: json_reader.Problems) -> list[float]:
        """Return when each flow starts (s), as drawn or specified; all 0 after a problem."""
        try:
            folder, drawn = self.folder.parent, dict[str, str]()
            if untrusted.is_file(folder, DRAWN):
                content = json_value(untrusted.content(folder, DRAWN))
                drawn = msgspec.convert(content, dict[str, str])
            texts = (drawn.get(f"flows.{flow.name}.start", flow.start) for flow in flows)
            return [Duration.parse(text).seconds for text in texts]
        except (OSError, ValueError, untrusted.StrangeFile, UsageError) as error:
            problems.add(f"The starts of the flows of seed {self.seed} are unknown: {error}")
            return [0.0] * len(flows)

    @cached_property
    def files(self) -> TrialFiles:
        """The content of its files; each is parsed once."""
        return TrialFiles(self.folder, f"{self.name}/")


@dataclass(frozen=True)
class RunRecord:
    """Everything that the files at the top of a run directory say."""

    path: Path
    manifest: RunManifest
    spec: SpecFile
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
        return self.manifest.experiment or self.spec.name or "unnamed experiment"

    @property
    def is_complete(self) -> bool:
        return self.manifest.status == "complete" and not self.manifest.failures

    @property
    def counts_segments(self) -> bool:
        """True if tc counts the packets that tcpdump sees, and not packets of up to 64 KB."""
        return self.spec.topology.segmentation != "on"

    def capture_of(self, host: str) -> str | None:
        """The captured interface of `host`, such as h2-eth0."""
        return next((name for name in self.captures if name.startswith(f"{host}-")), None)


def read_run(path: Path, problems: json_reader.Problems) -> RunRecord:
    """The run in `path`. Raises UsageError if there is none, TcplabError for a newer format."""
    _require_run_directory(path)
    manifest = json_reader.read(RunManifest, path / "manifest.json", problems, "manifest.json")
    json_reader.require_known_format(manifest.format)
    spec = json_reader.read(SpecFile, path / "spec.json", problems, "spec.json")
    seeds, conditions = _seeds(path, manifest), _conditions(path, spec, problems)
    folders = [(seed, path / "raw" / f"seed-{seed}") for seed in seeds]
    trials = [Trial(seed, each, of / each.name) for seed, of in folders for each in conditions]
    for trial in (trial for trial in trials if not trial.folder.is_dir()):
        problems.add(f"{trial.name} is missing: that repetition is left out.")
    present = tuple(trial for trial in trials if trial.folder.is_dir())
    captures = tuple(filter(_NAME.fullmatch, spec.captures))
    return RunRecord(path, manifest, spec, seeds, conditions, _flows(spec), present, captures)


def run_of(raw: Path, spec: dict[str, Any], seed: int = 1) -> RunRecord:
    """The run of one seed from what its spec.json holds and its raw files in `raw`."""
    record = json_reader.typed(SpecFile, spec)
    conditions = _conditions(raw, record, json_reader.Problems())
    trials = tuple(Trial(seed, condition, raw / condition.name) for condition in conditions)
    captures, flows = tuple(filter(_NAME.fullmatch, record.captures)), _flows(record)
    return RunRecord(raw, RunManifest(), record, (seed,), conditions, flows, trials, captures)


def changed_files(run: RunRecord) -> list[str]:
    changed = []
    for name, digest in run.manifest.files.items():
        with suppress(OSError, untrusted.StrangeFile):
            if untrusted.digest(run.path, name) != digest:
                changed.append(name)
    return changed


def _require_run_directory(path: Path) -> None:
    remedy = "Name a folder below runs/, such as runs/sack/latest."
    if not path.is_dir():
        raise UsageError(f"There is no run directory '{path}'.", remedy)
    try:
        names = {entry.name for entry in path.iterdir()}
    except OSError as error:
        raise TcplabError(
            f"The run directory '{path}' cannot be read ({error.strerror}).",
            f"Give yourself the permission: sudo chown -R $USER '{path}'",
        ) from error
    if not names & {"manifest.json", "spec.json", "raw"}:
        raise UsageError(f"'{path}' is no run directory: it has no manifest.json.", remedy)


def _seeds(path: Path, manifest: RunManifest) -> tuple[int, ...]:
    """The seeds that the manifest lists, or if it lists anything else, those with a folder."""
    if manifest.seeds and all(type(seed) is int for seed in manifest.seeds):
        return tuple(dict.fromkeys(manifest.seeds))
    folders = sorted((path / "raw").glob("seed-*"))
    matches = (re.fullmatch(r"seed-(\d{1,18})", entry.name) for entry in folders)
    return tuple(sorted(int(match[1]) for match in matches if match))


def _conditions(
    path: Path, spec: SpecFile, problems: json_reader.Problems
) -> tuple[RunCondition, ...]:
    usable = tuple(entry for entry in spec.conditions if _NAME.fullmatch(entry.name))
    if len(usable) < len(spec.conditions):
        problems.add("spec.json names a condition that cannot be a folder's name: it is left out.")
    if usable:
        return usable
    folders = {entry.name for entry in (path / "raw").glob("seed-*/*") if entry.is_dir()}
    return tuple(RunCondition(name, name) for name in sorted(folders) if _NAME.fullmatch(name))


def _flows(spec: SpecFile) -> tuple[RunFlow, ...]:
    flows = spec.flows or (RunFlow(),)
    names = (name for flow in flows for name in (flow.name, flow.sender, flow.receiver))
    if not all(map(_NAME.fullmatch, names)):
        why = "spec.json names a flow or host that cannot be a file's name."
        raise TcplabError(why, "Run the experiment again.")
    return flows


PAGES = ("report.html", "sweep.html", "reproduction.html", "kernels.html")
UNREADABLE = "unreadable"


@dataclass(frozen=True)
class IndexedRun:
    """A line of the index; `name` and `page` are paths in the store, `figure` the estimate."""

    name: str
    kind: str
    status: str
    started: str
    seeds: int
    parameters: str
    question: str
    figure: str
    verdict: str
    network: str
    page: str

    @property
    def words(self) -> str:
        words = (self.name, self.kind, self.status, self.parameters, self.verdict, self.network)
        return " ".join([*words, self.started]).lower()


def index(store: Path) -> list[IndexedRun]:
    files = [file for file in store.glob("*/*/manifest.json") if not file.parent.is_symlink()]
    lines = [_line(store, file.parent) for file in files]
    return sorted(lines, key=lambda line: (line.started, line.name), reverse=True)


def _line(store: Path, folder: Path) -> IndexedRun:
    manifest, claim = _content(folder / "manifest.json"), _content(folder / "claim.json")
    kind = str(manifest.get("kind", "run"))
    network = manifest.get("network")
    name = folder.relative_to(store).as_posix()
    return IndexedRun(
        name,
        kind,
        str(manifest.get("status", UNREADABLE)),
        str(manifest.get("started", "")),
        len(manifest.get("seeds") or ()),
        _asked(folder, kind),
        str(claim.get("question") or ""),
        _figure(claim),
        str(claim.get("word") or ""),
        str(network.get("verdict", "")) if isinstance(network, dict) else "",
        next((f"{name}/{page}" for page in PAGES if (folder / page).exists()), ""),
    )


def _asked(folder: Path, kind: str) -> str:
    """The parameters of a run; of a sweep its factors and what they were varied over."""
    if kind == "sweep":
        factors = _content(folder / "sweep.json").get("factors") or ()
        named = [factor for factor in factors if isinstance(factor, dict)]
        swept = ((each.get("name"), map(str, each.get("values") or ())) for each in named)
        return ", ".join(f"{name} {'|'.join(values)}" for name, values in swept)
    parameters = _content(folder / "spec.json").get("parameters")
    known = parameters if isinstance(parameters, dict) else {}
    return ", ".join(f"{name} {value}" for name, value in known.items() if value)


def _figure(claim: dict[str, Any]) -> str:
    estimate, low, high = (json_reader.number(claim.get(x)) for x in ("estimate", "low", "high"))
    times = " times" if claim.get("scale") == "ratio" else ""
    interval = "" if low is None or high is None else f" ({low:.3g} to {high:.3g})"
    return "" if estimate is None else f"{estimate:.3g}{times}{interval}"


def _content(file: Path) -> dict[str, Any]:
    """Return an empty record for a broken file: one bad run must not hide the others."""
    try:
        return json_reader.read_object(file)
    except json_reader.UnreadableJson:
        return {}
