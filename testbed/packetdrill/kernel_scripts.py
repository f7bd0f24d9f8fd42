"""The kernel's own packetdrill scripts, as its tools/testing/selftests/net/packetdrill runs them.

Each script is run under each IP version that it does not exclude, with the arguments that its
runner there, ksft_runner.sh, gives packetdrill.
"""

from __future__ import annotations

import re
import shlex
import tarfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from testbed.lab.ready import Lab
from testbed.packetdrill.script_files import SUFFIX, Script, called
from testbed.packetdrill.script_runs import ScriptCase, ScriptOutcome, ScriptRunner
from topologies.foundation.errors import TcplabError

RUNNER = "ksft_runner.sh"
TOGETHER = 40
"""Scripts that share a guest: 0.46 s of processor each instead of 1.17 (busy machine). What failed
among others is run again by itself, and that counts: no script fails for what ran before it."""
# [ipv4]="--ip_version=ipv4 ..." of newer runners, ipv4_args=('--ip_version=ipv4 ' ...) of 6.12's
_ARGUMENTS = (
    re.compile(r'\[(ipv[\w-]+)\]="([^"]*)"'),
    re.compile(r"(ipv[46])_args=\(([^)]*)\)"),
)
_OWN_VERSION = re.compile(r"^--ip_version=(\S+)", re.MULTILINE)


def kernel_files(lab: Lab) -> dict[str, bytes]:
    """The files of the folder in the source of the lab's kernel, by name; none before 6.12."""
    with tarfile.open(lab.selftests) as archive:
        return {
            Path(member.name).name: content.read()
            for member in archive
            if (content := archive.extractfile(member))
        }


def helpers(files: Mapping[str, bytes]) -> dict[str, bytes]:
    """What scripts call, such as defaults.sh."""
    return {name: content for name, content in files.items() if not name.endswith(SUFFIX)}


def kernel_cases(files: Mapping[str, bytes]) -> list[ScriptCase]:
    """Every script under every IP version that its runner would take, by name.

    Raises TcplabError if the kernel has no scripts, or runs them in a way that is not known here.
    """
    if RUNNER not in files:
        raise TcplabError(
            "This kernel's source holds no packetdrill scripts.", "Linux has them since 6.12."
        )
    variants = ip_versions(files[RUNNER].decode())
    scripts = (_script(name, files) for name in sorted(files) if name.endswith(SUFFIX))
    return [case for script in scripts for case in _cases(script, variants)]


def ip_versions(runner: str) -> dict[str, tuple[str, ...]]:
    """IP version to packetdrill's arguments, from the text of the kernel's runner."""
    for pattern in _ARGUMENTS:
        if found := pattern.findall(runner):
            return {version: _words(arguments) for version, arguments in found}
    raise TcplabError(
        f"This kernel's {RUNNER} is written in another way than those of 6.12 to 7.2.",
        "Run the scripts by themselves: ./tcplab packetdrill FOLDER",
    )


def _words(arguments: str) -> tuple[str, ...]:
    return tuple(word for quoted in shlex.split(arguments) for word in quoted.split())


def _script(name: str, files: Mapping[str, bytes]) -> Script:
    text = files[name].decode()
    words = called(text)
    return Script(name, text, {other: files[other] for other in helpers(files) if other in words})


def _cases(script: Script, variants: Mapping[str, tuple[str, ...]]) -> Iterator[ScriptCase]:
    """A script that names an IP version is run under that alone."""
    own = _OWN_VERSION.search(script.text)
    for version, arguments in variants.items():
        if own is None or own[1] == version:
            yield ScriptCase(script, version, arguments)


def cases_of(lab: Lab, names: tuple[str, ...] = ()) -> list[ScriptCase]:
    """The kernel's own scripts, or those whose name holds one of `names`.

    Raises TcplabError if there is none.
    """
    cases = [case for case in kernel_cases(kernel_files(lab)) if _wanted(case, names)]
    if not cases:
        raise TcplabError(f"No script has a name with {' or '.join(names)}.", "Name another.")
    return cases


def run_kernel_scripts(
    lab: Lab, program: Path, cases: Sequence[ScriptCase], workers: int | None = None
) -> Iterator[ScriptOutcome]:
    """Run scripts of `cases_of` with packetdrill's `program`; the outcomes as they are known."""
    runner = ScriptRunner(lab, program, together=TOGETHER, workers=workers)
    for outcome in runner.run(cases):
        yield outcome if outcome.passed else _alone(runner, outcome.case)


def _alone(runner: ScriptRunner, case: ScriptCase) -> ScriptOutcome:
    (outcome,) = replace(runner, together=1, stop=threading.Event()).run([case])
    return outcome


def _wanted(case: ScriptCase, names: tuple[str, ...]) -> bool:
    return not names or any(name in case.script.name for name in names)
