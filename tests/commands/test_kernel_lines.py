"""Source lines of a kernel's functions, from a small program that gcc compiles."""

import os
import subprocess
from pathlib import Path

import pytest

from testbed.guest.job_entry import EVENTS
from testbed.host.packages import COMPILER, install_missing
from testbed.host.supervise import CONSOLE
from testbed.lab.kernel.choice import LAB_KERNEL, KernelChoice
from testbed.modules import crash
from testbed.modules.crash import StackFrame, accounting_kernel
from topologies.errors import TcplabError

SOURCE = """\
static int helper(int value);

int other(void)
{
\tint made = helper(1);

\treturn made + 1;
}

static int
helper(int value)
{
\tint *nothing = (int *)16L;

\t*nothing = value;
\treturn 0;
}

int main(void)
{
\treturn other();
}
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """A program with debugging information, compiled in a tree as a kernel is."""
    place = tmp_path / "tree/kernel"
    place.mkdir(parents=True)
    (place / "made.c").write_text(SOURCE)
    options = ["-O1", "-g", "-fno-inline", "-fno-ipa-sra", "-no-pie"]
    install_missing(COMPILER)
    command = ["gcc", *options, "-o", tmp_path / "program", place / "made.c"]
    subprocess.run(command, check=True)
    return tmp_path / "program"


def line(program: Path, function: str, offset: int, exact: bool) -> str:
    file, number = crash._line(program, StackFrame(function, offset, "", exact))
    assert file == ("kernel/made.c" if number else "")
    return SOURCE.splitlines()[number - 1].strip() if number else ""


def test_a_place_in_a_function_has_its_file_and_line(program: Path) -> None:
    assert line(program, "helper", 0, exact=True) == "*nothing = value;"


def test_behind_a_call_is_meant_the_call(program: Path) -> None:
    """Where a call returns to, wherever that is, the next line begins."""
    pairs = [
        tuple(line(program, "other", at, exact) for exact in (False, True)) for at in range(9, 20)
    ]
    called, returned = next(pair for pair in pairs if pair[0] != pair[1] and "helper" in pair[0])
    assert (called, returned) == ("int made = helper(1);", "return made + 1;")


def test_a_function_that_is_not_there_has_no_line(program: Path) -> None:
    assert not line(program, "nowhere", 0, exact=True)
    assert not line(program.with_name("gone"), "helper", 0, exact=True)


WORDS = """\
[    1.000000] RIP: 0033:tcp_ack+0x10/0x20
[    1.000000] Kernel panic - not syncing: Segfault with no mm
[    1.000000]  [<603d8455>] ? tcp_rcv_established+0x155/0x1a0
[    1.000000]  [<603ef0e6>] ? tcp_v4_rcv+0xeb6/0x12b0
"""
PATCHED = KernelChoice("7.2+mine.patch", "7.2", "0123456789abcdef")


def crashed(out: Path, kernel: KernelChoice) -> TcplabError:
    (out / CONSOLE).write_text(WORDS)
    return crash.explained(TcplabError("The guest died.", ""), out, [], kernel)


def test_a_crash_of_a_kernel_of_ones_own_has_its_lines(tmp_path, monkeypatch) -> None:
    known = {"tcp_ack": ("net/ipv4/tcp_input.c", 12)}
    monkeypatch.setattr(crash, "_line", lambda _program, frame: known.get(frame.function, ("", 0)))
    error = crashed(tmp_path, PATCHED)
    assert "memory was used that is not there" in error.problem
    assert "  tcp_ack at net/ipv4/tcp_input.c:12\n  tcp_rcv_established\n" in error.problem
    assert "Correct 7.2+mine.patch" in error.remedy


def test_without_debugging_information_the_functions_are_named(tmp_path: Path) -> None:
    assert "  tcp_ack\n  tcp_rcv_established\n" in crashed(tmp_path, PATCHED).problem


LIMIT = "The run was stopped at its limit of 5 s of wall time: perhaps a program spins."
REFUSED = """\
[    1.000000] swapper/0: page allocation failure: order:0, mode:0x40820(GFP_ATOMIC)
[    1.000000] Call Trace:
[    1.000000]  [<60138691>] ? __alloc_pages_slowpath.constprop.0+0x621/0xa50
[    1.000000]  [<60143509>] ? __kmalloc_cache_noprof+0x149/0x270
[    1.000000]  [<603d9ed8>] ? tcp_ack+0xe18/0x1b80
[    1.000000] Mem-Info:
[    1.000000] Out of memory: Killed process 50 (iperf)
[    1.000000]  [<603d9ed8>] ? tcp_sendmsg+0xe18/0x1b80
"""


def told(out: Path, words: str, problem: str, since: float = 100.0) -> TcplabError:
    """What is said of a guest whose clock stood still for so many seconds before its last words."""
    (out / CONSOLE).write_text(words)
    (out / EVENTS).write_text("")
    then = (out / CONSOLE).stat().st_mtime - since
    os.utime(out / EVENTS, (then, then))
    return crash.explained(TcplabError(problem, ""), out, [], PATCHED)


def test_one_that_spins_says_where_without_the_work_of_its_clock(tmp_path: Path) -> None:
    clock = "[    1.0] RIP: 0033:um_set_signals+0x41/0x60\n"
    clock += "[    1.0]  [<600428b0>] ? time_travel_ndelay+0x40/0x50\n"
    error = told(tmp_path, clock + WORDS, LIMIT)
    assert "its clock had stood still: 7.2+mine.patch spins." in error.problem
    assert error.problem.endswith("  tcp_ack\n  tcp_rcv_established\n")


def test_one_whose_clock_went_on_does_not_spin(tmp_path: Path) -> None:
    assert told(tmp_path, WORDS, LIMIT, since=1.0).problem == LIMIT


def test_who_is_refused_memory_first_is_shown(tmp_path: Path) -> None:
    problem = told(tmp_path, REFUSED, LIMIT).problem
    assert problem.startswith("The guest's memory is used up: 7.2+mine.patch")
    assert problem.endswith(":\n  tcp_ack\n".lstrip(":")) and "sendmsg" not in problem


HELD = """\
[    1.000000] python3 invoked oom-killer: gfp_mask=0x140cca(GFP_HIGHUSER_MOVABLE|__GFP_COMP)
[    1.000000] Call Trace:
[    1.000000]  [<603d9ed8>] ? filemap_fault+0xe18/0x1b80
[    1.000000] Mem-Info:
[    1.000000] 262144 pages RAM
[    1.000000] Memory allocations (profiling is currently turned on):
[    1.000000]      960 MiB    32021 mm/slub.c:3282 func:alloc_slab_page
[    1.000000]      950 MiB   243025 net/ipv4/tcp_input.c:4287 func:tcp_test_fault
[    1.000000]     1.25 GiB     3204 mm/memory.c:1085 func:vma_alloc_zeroed
[    1.000000]     95.1 MiB      100 exp.c:3 [exp] func:exp_init
[    1.000000]      2.00 MiB        1 mm/shmem.c:1920 func:shmem_alloc_folio
"""


def test_who_holds_most_memory_is_named_with_its_line(tmp_path: Path) -> None:
    _, _, held = told(tmp_path, HELD, LIMIT).problem.partition("Most is held by:\n")
    assert held.splitlines() == [
        "  950 MiB: tcp_test_fault at net/ipv4/tcp_input.c:4287",
        "  1.25 GiB: vma_alloc_zeroed at mm/memory.c:1085",
        "  95.1 MiB: exp_init at exp.c:3",
    ]


def test_a_kernel_that_accounts_has_the_patch_last() -> None:
    assert accounting_kernel(KernelChoice("4.4", "4.4")) is None
    accounting = accounting_kernel(KernelChoice("7.2", "7.2"))
    assert accounting and accounting.name.startswith("7.2+") and accounting.digest


@pytest.mark.parametrize(
    ("words", "little"),
    [
        ("Kernel panic - not syncing: Segfault with no mm\n", True),
        (WORDS, False),
        ("Out of memory: Killed process 50 (iperf)\n", True),
        (REFUSED, True),
        ("", False),
    ],
)
def test_a_quiet_kernel_is_heard_again_if_it_lacks_backtrace(words, little, tmp_path) -> None:
    (tmp_path / CONSOLE).write_text(words)
    error = TcplabError("The guest died.", "")
    assert crash.lacks_backtrace(error, tmp_path, PATCHED) == little
    assert not crash.lacks_backtrace(error, tmp_path, LAB_KERNEL)
    crash.rerun_verbose(tmp_path, lambda place: (place / CONSOLE).write_text(WORDS))
    assert (tmp_path / CONSOLE).read_text() == WORDS.rstrip("\n")


def test_nobody_is_blamed_for_the_labs_own_kernel(tmp_path: Path) -> None:
    assert crashed(tmp_path, LAB_KERNEL).problem == "The guest died."
