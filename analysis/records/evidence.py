"""Evidence in a run's files: the kernel's settings, and the proof that each condition held."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from analysis.records.json_reader import Problems, read
from analysis.records.run_directory import RunRecord, Trial, changed_files
from analysis.records.trial_files import EnvironmentFile, ProofEntry, RecordedSetting
from topologies import untrusted

_CAPTURE_DROPS = re.compile(r"^(\d{1,18}) packets dropped by kernel$", re.MULTILINE)


@dataclass(frozen=True)
class HeldProof:
    """One claim about a condition, and whether it held in all repetitions.

    `observed` is what was seen in the first, or in the first in which it did not hold.
    """

    condition: str
    claim: str
    observed: tuple[str, ...]
    source: str
    held: bool


@dataclass(frozen=True)
class Evidence:
    """Settings and tools of the first seed, and the proofs of every condition.

    `environment` is that of the first seed. `has_buckets` says whether any seed's links were token
    buckets, `same_draws` whether the conditions of every seed met the same losses.
    """

    environment: EnvironmentFile
    settings: tuple[RecordedSetting, ...]
    proofs: tuple[HeldProof, ...]
    has_buckets: bool
    same_draws: bool

    @property
    def held(self) -> bool:
        return bool(self.proofs) and all(proof.held for proof in self.proofs)


def read_evidence(run: RunRecord, problems: Problems) -> Evidence:
    """Reads all seeds' evidence; what is missing or does not hold is a problem too."""
    seeds = sorted({trial.seed for trial in run.trials})
    names = [f"raw/seed-{seed}/environment.json" for seed in seeds]
    environments = [read(EnvironmentFile, run.path / name, problems, name) for name in names]
    first = environments[0] if environments else EnvironmentFile()
    for environment in environments:
        _note_differences(environment.asked_and_found, problems)
    if changed := changed_files(run):
        problems.add(
            "Changed since the run was written (SHA-256):"
            f" {', '.join(changed[:5])}{', ...' if changed[5:] else ''}."
        )
    proofs, sysctls = _proofs(run, problems), _sysctls(run, problems)
    return Evidence(
        first,
        first.asked_and_found + sysctls,
        proofs,
        any(environment.lines is False for environment in environments),
        bool(environments) and all(environment.same_draws for environment in environments),
    )


def _sysctls(run: RunRecord, problems: Problems) -> tuple[RecordedSetting, ...]:
    """The sysctls of the first seed's conditions, as asked for and as each host had them."""
    settings: list[RecordedSetting] = []
    for trial in run.trials:
        rows = [
            RecordedSetting(
                f"{host}, {trial.condition.label}", name, asked, values.get(name, "unknown")
            )
            for host, values in trial.files.evidence(problems).sysctls.items()
            for name, asked in trial.condition.sysctls
        ]
        _note_differences(rows, problems)
        settings += rows if trial.seed == run.trials[0].seed else []
    return tuple(settings)


def _note_differences(settings: Sequence[RecordedSetting], problems: Problems) -> None:
    for setting in settings:
        if not setting.agrees:
            problems.add(
                f"{setting.interface}: {setting.field} {setting.asked} was asked for, the kernel"
                f" had {setting.found}."
            )


def _proofs(run: RunRecord, problems: Problems) -> tuple[HeldProof, ...]:
    """Proofs of all trials, those of one condition and claim joined."""
    joined: dict[tuple[str, str], HeldProof] = {}
    for trial in run.trials:
        evidence = trial.files.evidence(problems)
        if evidence.held is False:
            problems.add(f"{trial.name}: the run itself says that this condition did not hold.")
        for entry in evidence.proofs:
            proof = _proof(trial, entry, problems)
            earlier = joined.get((proof.condition, proof.claim))
            joined[proof.condition, proof.claim] = (
                proof if earlier is None or earlier.held else earlier
            )
        for interface, lost in capture_drops(run, trial).items():
            if lost != "0":
                name = f"{trial.name}/{interface}.tcpdump.txt"
                problems.add(f"{name}: tcpdump lost {lost} packets, so the capture has gaps.")
    return tuple(joined.values())


def _proof(trial: Trial, entry: ProofEntry, problems: Problems) -> HeldProof:
    """The proof; one that did not hold is a problem."""
    held = entry.held is True
    if not held:
        problems.add(f"{trial.name}: '{entry.claim}' did not hold ({'; '.join(entry.observed)}).")
    return HeldProof(trial.condition.label, entry.claim, entry.observed, entry.source, held)


def capture_drops(run: RunRecord, trial: Trial) -> dict[str, str]:
    """Return the packets that tcpdump lost on each interface, as it wrote them.

    An interface without a count is left out.
    """
    texts = {
        interface: untrusted.text_if_any(trial.folder, f"{interface}.tcpdump.txt")
        for interface in run.captures
    }
    counts = {interface: _CAPTURE_DROPS.search(text) for interface, text in texts.items()}
    return {interface: count[1] for interface, count in counts.items() if count}
