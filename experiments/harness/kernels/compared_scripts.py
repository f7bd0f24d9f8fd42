"""The kernel's own packetdrill scripts on two kernels: which pass on one and not on the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from testbed.lab.ready import Lab, built_lab
from testbed.packetdrill.kernel_scripts import cases_of, run_kernel_scripts
from testbed.packetdrill.script_runs import ScriptCase
from topologies.foundation.errors import TcplabError


@dataclass(frozen=True)
class ComparedScripts:
    """The scripts of the second kernel, or of the first if that has none, on both.

    `only_old` and `only_new` pass on one kernel alone, `neither` on none.
    """

    cases: int
    only_old: tuple[str, ...]
    only_new: tuple[str, ...]
    neither: tuple[str, ...]

    def data(self) -> dict[str, Any]:
        """For comparison.json."""
        return asdict(self)


def compare_scripts(
    kernels: Sequence[str], program: Path, tell: Callable[[str], None]
) -> ComparedScripts:
    """Run all scripts on both kernels, which are built. Raises TcplabError if none has any."""
    old, new = map(built_lab, kernels)
    cases = _cases(new, old)
    passed = []
    for lab in (old, new):
        tell(f"{len(cases)} packetdrill scripts on Linux {lab.choice.name} ...")
        outcomes = run_kernel_scripts(lab, program, cases)
        passed.append({outcome.case.name for outcome in outcomes if outcome.passed})
    names = [case.name for case in cases]
    return ComparedScripts(
        len(cases),
        tuple(name for name in names if name in passed[0] - passed[1]),
        tuple(name for name in names if name in passed[1] - passed[0]),
        tuple(name for name in names if name not in passed[0] | passed[1]),
    )


def _cases(*labs: Lab) -> list[ScriptCase]:
    """The scripts of the first kernel that has some."""
    for lab in labs[:-1]:
        try:
            return cases_of(lab)
        except TcplabError:
            continue
    return cases_of(labs[-1])
