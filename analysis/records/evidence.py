"""What the kernel had, and the proof that each condition held, as the run's own files tell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from analysis.records.jsonfile import Object, inner, number, objects, read_object, text, texts
from analysis.records.problems import Problems
from analysis.records.run_directory import RunRecord, changed_files
from topologies import untrusted


@dataclass(frozen=True)
class InterfaceSetting:
    """One setting of an interface: as asked for and as the kernel had it."""

    interface: str
    field: str
    asked: str
    found: str

    @property
    def agrees(self) -> bool:
        return self.asked == self.found


@dataclass(frozen=True)
class HeldProof:
    """One claim about a condition, whether it held in all repetitions, and what was observed in the
    first.
    """

    condition: str
    claim: str
    observed: tuple[str, ...]
    source: str
    held: bool


@dataclass(frozen=True)
class Evidence:
    """Settings and tools of the first seed, and the proofs of every condition."""

    settings: tuple[InterfaceSetting, ...]
    tools: tuple[tuple[str, str], ...]
    proofs: tuple[HeldProof, ...]

    @property
    def held(self) -> bool:
        return bool(self.proofs) and all(proof.held for proof in self.proofs)


def read_evidence(run: RunRecord, problems: Problems) -> Evidence:
    """Reads all seeds' evidence; what is missing or does not hold is a problem too."""
    environments = [
        read_object(
            run.path / "raw" / f"seed-{seed}" / "environment.json",
            problems,
            f"raw/seed-{seed}/environment.json",
        )
        for seed in sorted({trial.seed for trial in run.trials})
    ]
    first = environments[0] if environments else {}
    for environment in environments:
        _note_differences(_settings(environment), problems)
    if changed := changed_files(run):
        problems.add(
            "Changed since the run was written (SHA-256):"
            f" {', '.join(changed[:5])}{', ...' if changed[5:] else ''}."
        )
    tools = inner(first, "tools")
    proofs, sysctls = _proofs(run, problems), _sysctls(run, problems)
    return Evidence(
        _settings(first) + sysctls, tuple((name, text(tools, name)) for name in tools), proofs
    )


def _settings(environment: Object) -> tuple[InterfaceSetting, ...]:
    rows = objects(environment, "asked_and_found")
    return tuple(
        InterfaceSetting(*(text(row, key) for key in ("interface", "field", "asked", "found")))
        for row in rows
    )


def _sysctls(run: RunRecord, problems: Problems) -> tuple[InterfaceSetting, ...]:
    """The sysctls of the first seed's conditions, as spec.json asks for them and as each host had
    them.
    """
    found: list[InterfaceSetting] = []
    for trial in run.trials:
        had = inner(
            read_object(trial.folder / "evidence.json", problems, f"{trial.name}/evidence.json"),
            "sysctls",
        )
        rows = [
            InterfaceSetting(
                f"{host}, {trial.condition.label}",
                name,
                asked,
                text(inner(had, host), name, "unknown"),
            )
            for host in had
            for name, asked in trial.condition.sysctls
        ]
        _note_differences(rows, problems)
        found += rows if trial.seed == run.trials[0].seed else []
    return tuple(found)


def _note_differences(settings: Sequence[InterfaceSetting], problems: Problems) -> None:
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
        evidence = read_object(
            trial.folder / "evidence.json", problems, f"{trial.name}/evidence.json"
        )
        if evidence.get("held") is False:
            problems.add(f"{trial.name}: the run itself says that this condition did not hold.")
        for entry in objects(evidence, "proofs"):
            proof = _proof(trial.condition.label, entry)
            if not proof.held:
                problems.add(
                    f"{trial.name}: '{proof.claim}' did not hold ({'; '.join(proof.observed)})."
                )
            earlier = joined.get((proof.condition, proof.claim))
            joined[proof.condition, proof.claim] = (
                proof if earlier is None or earlier.held else earlier
            )
        _note_capture_drops(run, trial.folder.name, trial.seed, problems)
    return tuple(joined.values())


def _proof(condition: str, entry: Object) -> HeldProof:
    return HeldProof(
        condition,
        text(entry, "claim"),
        texts(entry, "observed"),
        text(entry, "source"),
        entry.get("held") is True,
    )


def _note_capture_drops(run: RunRecord, condition: str, seed: int, problems: Problems) -> None:
    for interface in run.captures:
        name = f"raw/seed-{seed}/{condition}/{interface}.tcpdump.txt"
        said = untrusted.text_if_any(run.path, name)
        lost = next(
            (
                line.split()[0]
                for line in said.splitlines()
                if line.endswith("packets dropped by kernel")
            ),
            None,
        )
        if lost not in (None, "0"):
            problems.add(f"{name}: tcpdump lost {lost} packets, so the capture has gaps.")


def durations(manifest: Object) -> list[tuple[str, str]]:
    """How long the run took, by clock."""
    names = (
        ("virtual_seconds", "virtual time"),
        ("wall_seconds", "wall time"),
        ("cpu_seconds", "CPU time"),
    )
    found = ((label, number(manifest, key)) for key, label in names)
    return [(label, f"{value:.1f} s") for label, value in found if value is not None]
