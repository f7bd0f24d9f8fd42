"""A user's own congestion control: what its source must have, and no kernel gets it by mistake."""

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from experiments.cli.cc import Outcome
from experiments.cli.commands import tcplab
from experiments.custom_cc import CustomCcParameters, experiment
from experiments.run.request import RunRequest, choose
from experiments.run.seed import run_seed_natively
from experiments.spec import ExperimentSpec
from experiments.study.grid import combination
from testbed.guest.kernel_modules import LONGEST, KernelModule, module_from
from testbed.host.supervise import Limits
from testbed.modules.crash import StackFrame, _meant, frames_in
from topologies.data import digest, from_data, to_data
from topologies.errors import TcplabError, UsageError

NAMED = 'struct tcp_congestion_ops ops = { .name = "mine" };'


@pytest.mark.parametrize(
    ("source", "algorithm"),
    [
        (NAMED, "mine"),
        ('/* .name = "old" */ // .name = "older"\n.name\t=\n  "mine"', "mine"),
        ('printk("// %s"); x.name = "mine"; printk("/*");', "mine"),
    ],
)
def test_the_name_that_a_source_registers_is_read_from_it(source: str, algorithm: str) -> None:
    assert KernelModule("mine", source).algorithm == algorithm
    assert KernelModule("tcp_mine", source).algorithm == algorithm


@pytest.mark.parametrize(
    ("name", "source", "message"),
    [
        ("other", NAMED, "registers the congestion control 'mine'"),
        ("mine", "int x;", "no name"),
        ("mine", NAMED + '.name = "two"', "the names mine, two"),
        ("mine", '.name = "a_name_too_long_for_it"', "at most 15"),
        ("mine", '.name = "../../etc"', "at most 15"),
        ("mine", NAMED + " " * LONGEST, "no C source of at most"),
        ("mine.o; touch x #", NAMED, "cannot have the name"),
        ("$(shell id)", NAMED, "cannot have the name"),
        ("../mine", NAMED, "cannot have the name"),
        ("Kbuild", NAMED, "cannot have the name"),
    ],
)
def test_what_cannot_be_a_module_is_refused(name: str, source: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        KernelModule(name, source)


def test_a_file_that_is_no_source_is_refused(tmp_path: Path) -> None:
    (tmp_path / "binary.c").write_bytes(b"\xff\xfe")
    (tmp_path / "mine.txt").write_text(NAMED)
    for file in (tmp_path / "binary.c", tmp_path / "mine.txt", tmp_path / "none.c", tmp_path):
        with pytest.raises(UsageError, match=r"\.c"):
            module_from(file)


def test_a_name_that_the_kernel_has_is_refused(tmp_path: Path) -> None:
    (tmp_path / "cubic.c").write_text('.name = "cubic"')
    with pytest.raises(UsageError, match="there already"):
        experiment(CustomCcParameters(module=str(tmp_path / "cubic.c"), cc="own"))


def test_the_spec_holds_the_source_and_is_another_with_another(tmp_path: Path) -> None:
    spec = experiment(CustomCcParameters())
    assert [condition.name for condition in spec.conditions] == ["reno", "exp"]
    assert "exp_cong_avoid" in spec.modules[0].source
    assert from_data(ExperimentSpec, to_data(spec)) == spec
    file = tmp_path / "exp.c"
    file.write_text(spec.modules[0].source.replace("* 3 / 4", "* 4 / 5"))
    assert digest(experiment(CustomCcParameters(module=str(file)))) != digest(spec)
    assert experiment(CustomCcParameters(cc="reno+cubic")).modules == ()


def test_modules_and_their_algorithms_can_be_swept() -> None:
    from experiments.study.catalogue import find

    named = find("custom_cc")
    made = combination(named, {"cc": "own", "delay": "500ms"})
    assert [condition.name for condition in made.spec.conditions] == ["exp"]


def test_natively_a_module_is_refused_in_one_sentence(monkeypatch, tmp_path) -> None:
    monkeypatch.setattr("testbed.native.run.obstacles", list)
    monkeypatch.setattr("experiments.run.request.obstacles", list)
    monkeypatch.setattr(
        "experiments.run.seed.run_natively", lambda *_: pytest.fail("a module was loaded")
    )
    done = CliRunner().invoke(
        tcplab, ["run", "custom_cc", "--testbed", "native", "--out", str(tmp_path)]
    )
    assert done.exit_code == 2
    assert (
        "part of this computer's kernel" in done.output
        and "--load-module-into-this-kernel" in done.output
    )
    assert not list(tmp_path.iterdir())
    with pytest.raises(UsageError, match="--load-module-into-this-kernel"):
        run_seed_natively(
            experiment(CustomCcParameters()), 1, tmp_path, Limits(), print, load_modules=False
        )


def test_natively_it_wants_the_headers_of_this_kernel(monkeypatch, tmp_path) -> None:
    monkeypatch.setattr("platform.release", lambda: "0.1-none")
    with pytest.raises(
        TcplabError, match=r"headers of this kernel, 0\.1-none, .*linux-headers-0\.1-none"
    ):
        run_seed_natively(
            experiment(CustomCcParameters()), 1, tmp_path, Limits(), print, load_modules=True
        )


def test_where_auto_would_be_native_a_module_runs_in_a_guest(monkeypatch) -> None:
    testbeds: list[str] = []

    def chosen(testbed: str) -> str:
        testbeds.append(testbed)
        raise TcplabError("far enough")

    monkeypatch.setattr("experiments.run.request.obstacles", list)
    monkeypatch.setattr("experiments.run.request.choose", chosen)
    monkeypatch.setattr("experiments.run.request.guests_at_once", lambda *_: chosen("virtual"))
    words = ["run", "custom_cc", "--testbed", "auto"]
    assert CliRunner().invoke(tcplab, words).exit_code == 1
    loaded = [*words, "--load-module-into-this-kernel"]
    assert CliRunner().invoke(tcplab, loaded).exit_code == 1
    assert testbeds == ["virtual", "auto"]


@pytest.mark.parametrize("words", [[], ["--testbed", "virtual"]])
def test_a_module_enters_this_kernel_in_native_runs_alone(words: list[str]) -> None:
    words = ["run", "custom_cc", *words, "--load-module-into-this-kernel"]
    done = CliRunner().invoke(tcplab, words)
    assert (done.exit_code, "Add --testbed native" in done.output) == (2, True)


def test_every_user_gets_the_lab_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    """Root too, on a kernel that could run natively: `auto` alone asks for that."""
    monkeypatch.setattr("experiments.run.request.obstacles", list)
    assert choose("virtual") == ("virtual", "")
    assert choose("auto") == choose("native") == ("native", "")
    obstacle = TcplabError("This kernel lacks netem.", "Use another.")
    monkeypatch.setattr("experiments.run.request.obstacles", lambda: [obstacle])
    assert choose("auto") == ("virtual", "This kernel lacks netem.")
    with pytest.raises(TcplabError, match="lacks netem"):
        choose("native")


def test_the_first_line_of_a_run_names_its_place(tmp_path: Path) -> None:
    def place(seeds: tuple[int, ...], testbed: str, why: str = "") -> str:
        spec = experiment(CustomCcParameters())
        return RunRequest(spec, None, seeds, testbed, tmp_path, why_virtual=why).place  # type: ignore[arg-type]

    assert place((1, 2, 3), "virtual") == "Lab kernel 7.2, virtual time, seeds 1 to 3"
    assert place((4,), "virtual", "No netem.").endswith("seed 4. Not natively: No netem.")
    assert re.fullmatch(
        r"This kernel \(.+\), real time, as root, seeds 1, 5", place((1, 5), "native")
    )


CONSOLE = """\
[   11.087000] WARNING: ./include/net/tcp.h:1524 at tcp_cwnd_reduction+0x14b/0x150
[   11.087000]  [<603d81bb>] ? earlier_and_harmless+0x14b/0x150
[   11.087000] ---[ end trace 0000000000000000 ]---
[   11.372000] RIP: 0033:mine_ssthresh+0x10/0x20 [mine]
[   11.372000] Kernel panic - not syncing: Segfault with no mm
[   11.372000] Call Trace:
[   11.372000]  [<6003d7cc>] ? dump_stack_lvl+0x76/0x85
[   11.372000]  [<6004c3a0>] ? um_set_signals+0x0/0x60
[   11.372000]  [<603d8455>] ? tcp_enter_recovery+0x155/0x1a0
[   11.372000]  [<603d8455>] ? tcp_enter_recovery+0x155/0x1a0
[   11.372000]  [<603ef0e6>] ? tcp_v4_rcv+0xeb6/0x12b0
[   11.372000]  [<603b51f5>] ? ip_protocol_deliver_rcu+0x35/0xd0
"""


def test_a_backtrace_is_read_from_where_it_happened_to_where_tcp_begins() -> None:
    assert frames_in(CONSOLE) == [
        StackFrame("mine_ssthresh", 0x10, "mine", True),
        StackFrame("tcp_enter_recovery", 0x155, "", False),
    ]
    assert (
        _meant("Segfault with no mm") == "memory was used that is not there (Segfault with no mm)"
    )
    assert _meant("Attempted to kill init!") == "Attempted to kill init!"


@pytest.mark.parametrize(
    ("reno", "own", "message"),
    [(10.0, 20.0, "2.00 times"), (10.0, 10.2, "are alike"), (None, 1.0, "Inconclusive")],
)
def test_a_comparison_is_a_sentence(reno: float | None, own: float, message: str) -> None:
    assert message in Outcome("5 % loss", reno, own).sentence("mine")
