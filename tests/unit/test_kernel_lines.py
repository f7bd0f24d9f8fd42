"""Source lines of a kernel's functions, from a small tree that gcc compiles."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from testbed.jobs.following import CONSOLE
from testbed.lab.kernel import kernel_lines
from testbed.lab.kernel.kernel_choice import LAB_KERNEL, KernelChoice
from testbed.lab.kernel.kernel_lines import LINES, KernelPlace
from testbed.modules import crash
from testbed.recipes.building import BuildReport, Workshop
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
"""
MAKEFILE = "%.o: %.c\n\tgcc -O1 -g -fno-inline -fno-ipa-sra -c -o $@ $<\n"


@pytest.fixture
def workshop(tmp_path: Path) -> Workshop:
    """A kernel of two files that define a function of that name; one does not compile."""
    for folder, text in (("kernel", SOURCE), ("net/core", "int helper(int value) {"), ("net", "")):
        place = tmp_path / "tree" / folder
        place.mkdir(parents=True, exist_ok=True)
        (place / "made.c").write_text(text)
    (tmp_path / "tree/Makefile").write_text(MAKEFILE)
    return Workshop(tmp_path, tmp_path / "log", BuildReport())


def test_a_place_in_a_function_has_its_file_and_line(workshop: Workshop) -> None:
    place = KernelPlace("helper", 0, exact=True)
    line = kernel_lines._line(workshop, ["make", "-C", "tree"], place)
    assert line.startswith("kernel/made.c:")
    number = int(line.split(":")[1])
    assert SOURCE.splitlines()[number - 1].strip() == line.split(": ", 1)[1]


def test_behind_a_call_is_meant_the_call(workshop: Workshop) -> None:
    """Where a call returns to, wherever that is, the next line begins."""
    pairs = [
        tuple(
            kernel_lines._line(workshop, ["make", "-C", "tree"], KernelPlace("other", at, exact))
            for exact in (False, True)
        )
        for at in range(9, 20)
    ]
    called, returned = next(pair for pair in pairs if pair[0] != pair[1] and "helper" in pair[0])
    assert called.endswith("int made = helper(1);")
    assert returned.endswith("return made + 1;")


def test_a_function_that_no_file_has_is_not_shown(workshop: Workshop) -> None:
    place = KernelPlace("nowhere", 0, exact=True)
    assert not kernel_lines._line(workshop, ["make", "-C", "tree"], place)


def test_debugging_joins_the_compilers_own_flags() -> None:
    make = ["make", "ARCH=um", "KCFLAGS=-w -fcommon", "-C", "tree"]
    assert kernel_lines._with_debugging(make) == ["make", "ARCH=um", "KCFLAGS=-w -fcommon -g"]
    assert kernel_lines._with_debugging(["make", "-C", "tree"]) == ["make", "KCFLAGS= -g"]


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


def test_a_crash_of_a_kernel_of_ones_own_has_its_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = ["net/ipv4/tcp_input.c:12: *nothing = 1;", ""]
    (tmp_path / LINES).write_text(json.dumps(lines))
    monkeypatch.setattr(crash, "lines_recipe", lambda *asked: asked)
    monkeypatch.setattr(crash.cache, "ready", lambda *_: SimpleNamespace(folder=tmp_path))
    error = crashed(tmp_path, PATCHED)
    assert "memory was used that is not there" in error.problem
    assert "  tcp_ack at net/ipv4/tcp_input.c:12: *nothing = 1;\n" in error.problem
    assert "  tcp_rcv_established\n" in error.problem
    assert "Correct 7.2+mine.patch" in error.remedy


def test_if_its_source_is_gone_the_functions_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(*_: object) -> None:
        raise TcplabError("What 7.2+mine.patch names has changed.", "")

    monkeypatch.setattr(crash, "lines_recipe", gone)
    assert "  tcp_ack\n  tcp_rcv_established\n" in crashed(tmp_path, PATCHED).problem


def test_nobody_is_blamed_for_the_labs_own_kernel(tmp_path: Path) -> None:
    assert crashed(tmp_path, LAB_KERNEL).problem == "The guest died."
