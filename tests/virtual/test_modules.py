"""A user's own congestion control in the lab kernel: built, proved in use, and its mistakes."""

import dataclasses
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from experiments.cli import cc as cc_command
from experiments.cli.commands import tcplab
from experiments.custom_cc import CustomCcParameters, experiment
from experiments.run.seed import judge, run_seed
from testbed.guest.kernel_modules import KernelModule, module_from
from testbed.host.supervise import Limits
from testbed.lab.kernel.recipe import KERNEL_TOOLS
from testbed.lab.ready import Lab
from testbed.modules import built
from tests.virtual.conftest import digests, read
from topologies.errors import TcplabError
from topologies.units import Duration

pytestmark = [pytest.mark.virtual, pytest.mark.needs(*KERNEL_TOOLS)]
ROOT = Path(__file__).resolve().parents[2]
EXP = ROOT / "experiments/custom_cc/exp.c"
_ENOUGH = 20.0
"""Wall seconds after which a guest that spins is stopped, and which one takes until it does."""
SSTHRESH = "	return max(tcp_snd_cwnd(tcp_sk(sk)) * 3 / 4, 2U);"


@pytest.fixture
def changed(tmp_path: Path) -> Callable[..., Path]:
    """`changed("name", old, new)`: a file with exp under that name and a piece of it replaced."""

    def change(name: str, old: str, new: str) -> Path:
        source = EXP.read_text().replace('"exp"', f'"{name}"')
        assert old in source
        (tmp_path / f"{name}.c").write_text(source.replace(old, new))
        return tmp_path / f"{name}.c"

    return change


def run(file: Path, lab: Lab, out: Path, seconds: str = "2s", limit: float = 60.0) -> None:
    study = experiment(
        CustomCcParameters(module=str(file), cc="own", duration=Duration.parse(seconds))
    )
    spec = dataclasses.replace(study, captures=("left-eth0",))
    out.mkdir()
    run_seed(spec, 3, out, Limits(limit), lab, lambda phase, elapsed: None)
    assert judge(spec, 3, out).failures == ()


def test_exp_is_proved_in_use_and_the_same_seed_gives_the_same_packets(ready_lab, tmp_path) -> None:
    for name in ("once", "again"):
        run(EXP, ready_lab, tmp_path / name)
    assert digests(tmp_path / "once") == digests(tmp_path / "again")
    (module,) = read(tmp_path / "once" / "environment.json")["modules"]
    assert module["found"].startswith("exp ") and module["algorithm"] == "exp"
    assert module["digest"] == built(module_from(EXP), ready_lab).digest
    (proof,) = (
        row
        for row in read(tmp_path / "once/exp/evidence.json")["proofs"]
        if row["expected"] == "exp"
    )
    assert proof["held"]


@pytest.mark.long
def test_the_same_source_gives_the_same_module_anywhere(ready_lab, tmp_path, monkeypatch) -> None:
    first = built(module_from(EXP), ready_lab)
    monkeypatch.setenv("TCPLAB_CACHE", str(tmp_path / "elsewhere"))
    assert built(module_from(EXP), ready_lab).content == first.content


def test_the_compiler_is_quoted_with_file_and_line(ready_lab, changed) -> None:
    wrong = changed("wrong", SSTHRESH, "	return cwnd *;")
    line = wrong.read_text().split("return cwnd *;")[0].count("\n") + 1
    done = CliRunner().invoke(tcplab, ["cc", "build", str(wrong)])
    assert done.exit_code == 1
    assert f"wrong.c:{line}:" in done.output and "make" not in done.output


def test_a_hostile_source_sees_nothing_of_this_machine(ready_lab: Lab, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("int the_secret;\n")
    places = [
        str(tmp_path / "secret"),
        "/etc/passwd",
        "/etc/hostname",
        "/proc/version",
        "/proc/self/mountinfo",
    ]
    assert any(Path(place).exists() for place in places)
    looks = "".join(f'#if __has_include("{place}")\n#error seen\n#endif\n' for place in places)
    assert built(KernelModule("exp", EXP.read_text() + looks), ready_lab).content
    takes = "".join(f'asm(".incbin \\"{place}\\"");\n' for place in places)
    with pytest.raises(TcplabError) as caught:
        built(KernelModule("exp", EXP.read_text() + takes), ready_lab)
    assert str(caught.value).count("file not found") == len(places)


def test_a_crash_names_the_function_and_the_line_and_costs_only_the_guest(
    ready_lab: Lab, tmp_path: Path, changed: Callable[..., Path]
) -> None:
    oops = changed(
        "oops", SSTHRESH, "	u32 *nothing = READ_ONCE(sk->sk_user_data);\n\n	return *nothing;"
    )
    line = oops.read_text().split("return *nothing;")[0].count("\n") + 1
    with pytest.raises(
        TcplabError, match=rf"not there(.|\n)*exp_ssthresh at oops\.c:{line}: return \*nothing;"
    ):
        run(oops, ready_lab, tmp_path / "out")
    assert "Kernel panic" in (tmp_path / "out" / "console.log").read_text()


@pytest.mark.long
def test_a_module_that_spins_is_stopped_and_named(ready_lab, tmp_path, changed) -> None:
    spin = changed(
        "spin",
        SSTHRESH,
        "	while (!READ_ONCE(sk->sk_user_data))\n		cpu_relax();\n	return 2;",
    )
    text = spin.read_text().splitlines()
    body = next(number for number, line in enumerate(text, 1) if "cpu_relax" in line)
    # It is stopped wherever in the loop it is: at its condition, or in its body.
    loop = rf"exp_ssthresh at spin\.c:({body - 1}: while|{body}: cpu_relax)"
    where = rf"stood still: spin\.c spins(.|\n)*{loop}"
    with pytest.raises(TcplabError, match=where):
        run(spin, ready_lab, tmp_path / "out", limit=_ENOUGH)


@pytest.mark.long
def test_a_module_that_leaks_is_shown_where_it_is_refused_memory(
    ready_lab: Lab, tmp_path: Path, changed: Callable[..., Path]
) -> None:
    leaking = (
        "\tfor (int page = 0; page < 20000 && (kept = kmalloc(4096, GFP_ATOMIC)); page++)\n"
        "\t\tmemset(kept, 1, 4096);"
    )
    leak = changed("leak", SSTHRESH, f"{leaking}\n	return 2;")
    included = "#include <net/tcp.h>"
    source = leak.read_text().replace(
        included, f"{included}\n#include <linux/slab.h>\n\nstatic void *kept;"
    )
    leak.write_text(source)
    line = source.split("kmalloc")[0].count("\n") + 1
    where = rf"memory is used up: leak\.c(.|\n)*exp_ssthresh at leak\.c:{line}: .*kmalloc"
    with pytest.raises(TcplabError, match=where):
        run(leak, ready_lab, tmp_path / "out", limit=_ENOUGH)


def test_a_module_that_stays_is_said(ready_lab, tmp_path, changed) -> None:
    with pytest.raises(TcplabError, match="stay does not leave the kernel"):
        run(changed("stay", "module_exit(exp_unregister);", ""), ready_lab, tmp_path / "out", "1s")


def test_a_try_is_a_smoke_test_and_a_comparison(ready_lab: Lab, monkeypatch) -> None:
    short = {
        name: dataclasses.replace(link, duration=Duration.parse("2s"))
        for name, link in cc_command.PUBLISHED.items()
    }
    monkeypatch.setattr(cc_command, "PUBLISHED", short)
    done = CliRunner().invoke(tcplab, ["cc", "try", str(EXP)])
    assert done.exit_code == 0, done.output
    assert "exp works: loaded, proved in use, window from" in done.output
    assert all(f"Under {name} " in done.output for name in short)
