"""Trials of handed-in scripts: equal for all kernels, each for itself, and decided by packets."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from labs.definition import scripts
from labs.definition.scripts import ScriptTrial, check_statements, trial_cases, tried
from labs.definition.spec import OtherKernel, Question
from labs.grading import open_questions
from testbed import packetdrill
from testbed.lab.ready import Lab
from testbed.packetdrill import ScriptCase, ScriptOutcome, ScriptRunner
from testbed.packetdrill.scripts import Script
from tests.labs.constant_scripts import TELLING, constant_scripts, unchecked_scripts
from tests.labs.test_scripts_handed_in import AT_ONCE, QUESTION, SPACED, empty
from topologies.errors import UsageError

pytestmark = pytest.mark.virtual
OBSERVER = """\
#!/bin/sh
echo "arguments: $(tr '\\0' ' ' </proc/$$/cmdline)"; env; pwd
ls -la --full-time . ..; sha256sum ./* ../* 2>/dev/null
echo "process $$ of $PPID"; cat /proc/$$/stat /proc/$$/status /proc/$$/limits
ls -l /proc/$$/fd /proc/$$/ns; cat /proc/$$/mountinfo; ls -laR /lab /tmp /run /var/tmp
date +%s.%N; cat /proc/uptime /proc/cmdline /proc/meminfo /proc/stat /proc/loadavg
cat /proc/[0-9]*/stat /proc/net/* 2>/dev/null | sha256sum; sysctl -n net.ipv4.tcp_reordering >&2
sysctl -a 2>/dev/null | grep -v tcp_reordering | sha256sum
exit 1
"""
"""Prints everything that a script in its place could observe, the sysctl first of all."""
OTHER_WAYS = ("/lab/out", "/proc/1/root/lab/out", "/proc/$PPID/root/lab/out", "/proc/$PPID/cwd")
WRITER = f"""\
#!/bin/sh
for way in {" ".join(OTHER_WAYS)}; do
    for name in outcomes.jsonl events.jsonl result.json; do echo garbage >>$way/$name; done
done 2>/dev/null
for descriptor in /proc/1/fd/* /proc/$PPID/fd/*; do echo garbage >$descriptor; done 2>/dev/null
mkdir /tmp/m
mount -t hostfs none /tmp/m -o / 2>/dev/null || mount -t tmpfs none /tmp/m 2>/dev/null
echo "mounted: $?"
exit 3
"""
"""Tries every way to the guest's own results."""
ACTING = """\
#!/bin/sh
case $(cat "$1") in
    *crash*) kill -9 -1 ;;
    *spin*) test $(sysctl -n net.ipv4.tcp_reordering) != 5 || while :; do :; done ;;
    *sleep*) sleep infinity ;;
    *print*) yes ;;
    *memory*) test $(sysctl -n net.ipv4.tcp_reordering) != 5 || tail /dev/zero ;;
    *parent*) kill -9 $PPID ;;
    *signal*) kill -SEGV $$ ;;
    *) exec ./genuine "$@" ;;
esac
"""
"""Stands for packetdrill: does to the guest what a script says, else carries it out."""
MISDEEDS = ("crash", "spin", "sleep", "print", "memory", "parent", "signal")


def program_of(text: str, folder: Path) -> Path:
    """Write a program that runs in place of packetdrill."""
    file = folder / "in_place"
    file.write_text(text)
    return file


@pytest.fixture
def rows(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Record what guests write of each case."""
    written: list[dict[str, Any]] = []
    genuine = packetdrill._outcome

    def record(case: ScriptCase, row: Mapping[str, Any]) -> ScriptOutcome:
        written.append(dict(row))
        return genuine(case, row)

    monkeypatch.setattr(packetdrill, "_outcome", record)
    return written


def runs_of(text: str, ready: Lab, folder: Path) -> list[ScriptOutcome]:
    """Return the runs of a script of the question, with another program for packetdrill."""
    runner = ScriptRunner(ready, program_of(text, folder), confined=True, workers=1)
    return list(runner.run(list(trial_cases(QUESTION, Script("my.pkt", SPACED, {})))))


def test_a_script_can_observe_nothing_but_the_setting(
    ready: Lab, rows: list[dict[str, Any]], tmp_path: Path
) -> None:
    runs_of(OBSERVER, ready, tmp_path)
    values, observed = set(), set()
    for row in rows:
        lines = row["output"].splitlines()
        assert len(lines) > 100 and lines[0].startswith("arguments: "), row
        (value,) = (line for line in lines if line in ("2", "3", "5"))
        values.add(value)
        lines.remove(value)
        observed.add(("\n".join(lines), row["status"], row["seconds"]))
    assert values == {"2", "3", "5"}
    assert len(observed) == 1, observed


def test_a_script_cannot_reach_the_results_of_its_guest(
    ready: Lab, rows: list[dict[str, Any]], tmp_path: Path
) -> None:
    outcomes = runs_of(WRITER, ready, tmp_path)
    assert [(outcome.passed, outcome.stopped) for outcome in outcomes] == [(False, False)] * 3
    assert [row["status"] for row in rows] == [3, 3, 3]
    assert all("mounted: 0" not in row["output"] for row in rows)


def trials(
    texts: Mapping[str, str], ready: Lab, acting: Path, program: Path
) -> dict[str, ScriptTrial]:
    """Return the trials of a class by student, each with the genuine packetdrill at hand."""
    beside = {"genuine": program.read_bytes()}
    asked = [(QUESTION, Script("my.pkt", text, beside)) for text in texts.values()]
    return dict(zip(texts, tried(asked, ready, acting), strict=True))


def test_a_script_that_harms_its_guest_is_the_only_one_that_is_not_run(
    ready: Lab, program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limited = partial(ScriptRunner, wall_seconds=60.0)
    monkeypatch.setattr(scripts, "ScriptRunner", limited)
    acting = program_of(ACTING, tmp_path)
    honest = {"ann": SPACED, "zoe": AT_ONCE}
    hostile = {"ann": SPACED} | {deed: f"// {deed}\n" for deed in MISDEEDS} | {"zoe": AT_ONCE}
    alone = trials(honest, ready, acting, program)
    together = trials(hostile, ready, acting, program)
    assert {name: together[name] for name in honest} == alone
    for deed in MISDEEDS:
        mark = open_questions.script(QUESTION, together[deed], empty())
        assert not mark.points and mark.note, deed
    for deed in ("crash", "spin", "memory", "parent"):
        mark = open_questions.script(QUESTION, together[deed], empty())
        assert mark.points is None and mark.note.startswith("It could not be run"), deed
    assert "at its limit of 60 s" in together["spin"].problem


def test_an_unknown_setting_of_a_lab_gives_no_points(ready: Lab, program: Path) -> None:
    unknown = OtherKernel("other", "does otherwise", ("net.ipv4.tcp_no_such_setting=1",))
    question = replace(QUESTION, others=(unknown,))
    (trial,) = tried([(question, Script("my.pkt", SPACED, {}))], ready, program)
    assert open_questions.script(question, ["my.pkt"], trial, empty()).points is None


@pytest.fixture
def sharing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let trials share guests: hundreds of short ones then take a minute."""
    monkeypatch.setattr(scripts, "ScriptRunner", partial(ScriptRunner, together=60))


def tried_by_name(
    texts: Mapping[str, str], ready: Lab, program: Path
) -> dict[str, tuple[ScriptTrial, float | None]]:
    """Return the trial of each script and its points."""
    asked: list[tuple[Question, Script]] = [
        (QUESTION, Script(f"{number}.pkt", text, {})) for number, text in enumerate(texts.values())
    ]
    trials = tried(asked, ready, program)
    return {
        name: (trial, open_questions.script(QUESTION, trial, empty()).points)
        for name, trial in zip(texts, trials, strict=True)
    }


@pytest.mark.usefixtures("sharing")
def test_no_constant_script_earns_a_point(ready: Lab, program: Path) -> None:
    texts = constant_scripts()
    for name, text in texts.items():
        check_statements(Script(name, text, {}))
    found = tried_by_name(texts, ready, program)
    assert {points for _, points in found.values()} == {0.0}, found
    passing = [trial for trial, _ in found.values() if trial.failure is None]
    assert len(found) > 150 and len(passing) > 30


@pytest.mark.usefixtures("sharing")
def test_scripts_that_differ_without_packets_earn_nothing_even_unchecked(
    ready: Lab, program: Path
) -> None:
    texts = unchecked_scripts()
    for name, text in texts.items():
        with pytest.raises(UsageError):
            check_statements(Script(name, text, {}))
    found = tried_by_name(texts, ready, program)
    assert {points for _, points in found.values()} == {0.0}, found
    for telling in TELLING:
        assert found[telling][0].failure is None
        assert found[telling][0].elsewhere == QUESTION.others


@pytest.mark.usefixtures("sharing")
def test_scripts_that_share_a_guest_have_their_own_settings(ready: Lab, program: Path) -> None:
    """Without this, the two tests above would show nothing."""
    found = tried_by_name({"at once": AT_ONCE, "spaced": SPACED, "again": AT_ONCE}, ready, program)
    half, whole = QUESTION.points / 2, QUESTION.points
    assert [points for _, points in found.values()] == [half, whole, half]
