"""`tcplab doctor`: every finding with its remedy, and whether each testbed can run."""

import argparse
import json
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from testbed import doctor
from testbed.builds import cache
from testbed.doctor import ExaminedMachine, Finding
from testbed.host.scratch import orphans
from testbed.lab.ready import init_part, parts, release_of, stated_digests
from testbed.native.changes import stale
from testbed.virtual.sandbox import allowed_sandbox
from topologies.errors import TcplabError

BUILD_SPACE, FIRST_SPACE, RUN_SPACE = 4_000_000_000, 700_000_000, 300_000_000
"""Bytes that building a kernel takes, a first run, and a later one."""

Check = Callable[[ExaminedMachine], Finding | Iterable[Finding]]


def _sandbox(_machine: ExaminedMachine) -> Finding:
    if not (confine := init_part().place / "confine").exists():
        return doctor.found("sandbox", "untried")
    try:
        return doctor.tried_sandbox(allowed_sandbox(confine))
    except TcplabError as error:
        known = {"problem": error.problem, "remedy": error.remedy}
        return doctor.found("sandbox", "refused", **known)


def _lab(_machine: ExaminedMachine) -> Finding:
    manifests = {recipe.name: cache.manifest_of(recipe) for recipe in parts()}
    absent = [name for name, manifest in manifests.items() if not manifest]
    there = filter(None, manifests.values())
    return doctor.lab(absent, "" if absent else release_of(stated_digests(there)))


def _disk(machine: ExaminedMachine) -> Finding:
    absent = [recipe.name for recipe in parts() if not cache.manifest_of(recipe)]
    needed = BUILD_SPACE if "kernel" in absent else FIRST_SPACE if absent else RUN_SPACE
    return doctor.free_disk(machine, str(cache.folder()), needed)


CHECKS: tuple[Check, ...] = (
    *(doctor.architecture, doctor.instructions, _sandbox),
    *(doctor.privileges, doctor.container, doctor.windows),
    lambda machine: doctor.tools(machine, brought=any(map(Path.exists, cache.BROUGHT))),
    *(_lab, doctor.modules, doctor.queues, doctor.congestion_controls, doctor.open_vswitch),
    *(doctor.module_signatures, doctor.clock, doctor.virtual_machine, doctor.load),
    *(doctor.available_memory, _disk),
    lambda _machine: doctor.leftovers(len(stale()), len(orphans())),
)


def examine(machine: ExaminedMachine, questions: Iterable[Check] = CHECKS) -> list[Finding]:
    findings: list[Finding] = []
    for answer in (check(machine) for check in questions):
        findings += [answer] if isinstance(answer, Finding) else answer
    return findings


def verdict(findings: Iterable[Finding], testbed: str) -> list[Finding]:
    """Return the problems that keep a testbed from running; none if it can."""
    return [
        finding
        for finding in findings
        if finding.state == "problem" and finding.testbed in (testbed, "both")
    ]


def as_data(findings: Sequence[Finding]) -> dict[str, Any]:
    """Return the document of --json: whether each testbed can run, and every finding."""
    can = {testbed: not verdict(findings, testbed) for testbed in ("virtual", "native")}
    return {**can, "findings": [asdict(finding) for finding in findings]}


def as_text(findings: Sequence[Finding], width: int) -> str:
    """Return the table, and a sentence for each testbed."""
    lines: list[str] = []
    for finding in findings:
        head = f"{finding.state:<8} {finding.testbed:<8} {finding.what:<20} "
        lines += textwrap.wrap(
            finding.said, width, initial_indent=head, subsequent_indent=" " * len(head)
        )
        lines += [f"{'':<{len(head)}}Remedy: {finding.remedy}"] if finding.remedy else []
    return "\n".join([*lines, "", _sentence(findings, "virtual"), _sentence(findings, "native")])


def _sentence(findings: Iterable[Finding], testbed: str) -> str:
    is_lab = testbed == "virtual"
    name = "The lab kernel (./tcplab run sack)" if is_lab else "This kernel (--testbed native)"
    if not (problems := verdict(findings, testbed)):
        return f"{name} can be used."
    return f"{name} cannot be used yet: {', '.join(finding.what for finding in problems)}."


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the findings; exit status 1 if neither testbed can run."""
    about = "Say what this machine can do."
    parser = argparse.ArgumentParser(prog="tcplab doctor", description=about)
    parser.add_argument("--json", action="store_true", help="for programs")
    options = parser.parse_args(arguments)
    findings = examine(ExaminedMachine())
    width = max(80, min(120, shutil.get_terminal_size().columns))
    print(json.dumps(as_data(findings), indent=1) if options.json else as_text(findings, width))
    return 0 if any(not verdict(findings, testbed) for testbed in ("virtual", "native")) else 1


if __name__ == "__main__":
    sys.exit(main())
