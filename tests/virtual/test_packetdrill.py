"""packetdrill scripts in the lab kernel: pass, fail with their line, end, and are repeatable."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from experiments.cli.commands import tcplab
from testbed import packetdrill as packetdrill_module
from testbed.lab.packetdrill import packetdrill
from testbed.lab.ready import Lab
from testbed.packetdrill import ScriptCase, ScriptOutcome, ScriptRunner
from testbed.packetdrill.scripts import Script
from topologies.errors import TcplabError
from topologies.untrusted import digest_of

pytestmark = pytest.mark.virtual
EXAMPLE = Path(__file__).resolve().parents[2] / "docs/packetdrill/fast_retransmit.pkt"
SAMPLE = ("tcp_zerocopy_closed", "tcp_syncookies_ip4")
"""Of the kernel's own: one under three IP versions, one under one."""


@pytest.fixture(scope="session")
def program() -> Path:
    try:
        return packetdrill()
    except TcplabError as error:
        pytest.skip(f"packetdrill cannot be built here: {error.problem}")


@pytest.fixture
def run(ready_lab: Lab, program: Path) -> Callable[..., ScriptOutcome]:
    """`run(text)` carries out a script."""

    def carry_out(text: str, wall_seconds: float = 300.0) -> ScriptOutcome:
        runner = ScriptRunner(ready_lab, program, wall_seconds=wall_seconds)
        (outcome,) = runner.run([ScriptCase(Script("test.pkt", text, {}))])
        return outcome

    return carry_out


def test_the_example_of_the_documentation_passes_and_is_repeatable(program: Path, tmp_path) -> None:
    for name in ("once", "again"):
        done = CliRunner().invoke(
            tcplab, ["packetdrill", str(EXAMPLE), "--pcap", str(tmp_path / name)]
        )
        assert done.exit_code == 0, done.output
        assert f"passed  {EXAMPLE}\nall 1 passed" in done.output
    first, second = (tmp_path / name / "1-fast_retransmit.pcap" for name in ("once", "again"))
    assert first.stat().st_size > 1000
    assert digest_of(first) == digest_of(second)


def test_a_failure_names_the_line_and_what_came(program: Path, tmp_path: Path) -> None:
    text = EXAMPLE.read_text()
    line = "  +0   > . 1:1001(1000) ack 1\n\n// All"
    assert text.count(line) == 1
    wrong = tmp_path / "wrong.pkt"
    wrong.write_text(text.replace(line, line.replace("+0 ", "+.2")))
    done = CliRunner().invoke(tcplab, ["packetdrill", str(wrong), str(EXAMPLE), "--json"])
    assert done.exit_code == 1
    failed, passed = json.loads(done.stdout)["scripts"]
    assert passed["passed"] and not failed["passed"]
    assert failed["line"] == text.split(line)[0].count("\n") + 1
    assert "200.000 ms too early" in failed["message"]
    assert failed["came"].startswith("0.1000") and "1:1001(1000)" in failed["came"]


def test_a_script_that_waits_for_ever_ends_in_virtual_time(run, monkeypatch) -> None:
    monkeypatch.setattr(packetdrill_module, "VIRTUAL_SECONDS", 100.0)
    outcome = run("0 `sleep infinity`\n")
    assert outcome.failure and "did not end in 100 s" in outcome.failure.what


def test_a_script_that_spins_ends_with_its_guest(run: Callable[..., ScriptOutcome]) -> None:
    outcome = run("0 `while true; do true; done`\n", wall_seconds=10.0)
    assert outcome.failure and "at its limit of 10 s" in outcome.failure.what


def test_a_script_that_prints_without_end_is_stopped(run: Callable[..., ScriptOutcome]) -> None:
    outcome = run("0 `yes`\n")
    assert outcome.failure and "printed without end" in outcome.failure.what


def test_a_script_sees_nothing_of_this_computer(run: Callable[..., ScriptOutcome]) -> None:
    here = Path(__file__)
    assert here.exists()
    outcome = run(f"0 `! test -e {here} && ! ip route get 198.51.100.1 && test ! -s /etc/shadow`\n")
    assert outcome.passed, outcome.failure


def test_some_of_the_kernels_own_scripts_pass(ready_lab: Lab, program: Path) -> None:
    cases = packetdrill_module.cases_of(ready_lab, SAMPLE)
    outcomes = list(packetdrill_module.run_kernel_scripts(ready_lab, program, cases))
    assert [outcome.case.name for outcome in outcomes if not outcome.passed] == []
    assert {outcome.case.variant for outcome in outcomes} == {"ipv4", "ipv4-mapped-ipv6", "ipv6"}


def test_a_script_that_ends_the_guest_leaves_the_others_their_turn(ready_lab, program) -> None:
    texts = {"first.pkt": EXAMPLE.read_text(), "bad.pkt": "0 `kill -9 -1`\n"}
    texts["last.pkt"] = texts["first.pkt"]
    runner = ScriptRunner(ready_lab, program, together=3)
    cases = [ScriptCase(Script(name, text, {})) for name, text in texts.items()]
    assert [outcome.passed for outcome in runner.run(cases)] == [True, False, True]
