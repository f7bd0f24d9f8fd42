"""Programs whose files hold the instructions of the processor's random numbers."""

import subprocess
from pathlib import Path

import pytest

from experiments.programs.folders import doubt, environment
from tests.tools.made_programs import PRINTS_RANDOM, READ, READ_ONLY, program

RANDOM_DEVICE = b"\0_ZNSt13random_device7_M_initERKNSt7__cxx11\0"
CAUGHT = {
    "PRINTS_RANDOM": PRINTS_RANDOM,
    "rdseed %edx; mov; jnc": program(bytes.fromhex("0fc7fa 8954240c 730f")),
    "rdrand %eax; mov; mov $1; cmovc": program(bytes.fromhex("0fc7f0 8902 ba01000000 0f42c2")),
    "rdseed %dx; mov; setc": program(bytes.fromhex("660fc7fa 668910 0f92c0")),
    "rdrand %rdx; adc": program(bytes.fromhex("480fc7f2 4811c0")),
    "std::random_device": program(RANDOM_DEVICE),
}
QUIET = {
    "call of a distance": program(bytes.fromhex("e80fc7ffff 7202 0f92c0")),
    "lea of a distance": program(bytes.fromhex("488d050fc7fd19 e82ae7f1ff")),
    "rdpid %eax": program(bytes.fromhex("f30fc7f8 c3")),
    "data": program(READ, READ_ONLY),
    "OpenSSL": program(READ, rest=b"OPENSSL_ia32cap\0"),
    "cut": PRINTS_RANDOM[:70],
    "empty": b"",
    "text": b"#!\n",
}


def found(folder: Path, content: bytes, word: str = "./mine") -> str:
    (folder / "mine").write_bytes(content)
    (folder / "mine").chmod(0o755)
    return doubt(word, str(folder), folder)


@pytest.mark.parametrize("name", CAUGHT)
def test_a_program_that_reads_them_is_named_with_the_reason(name: str, tmp_path: Path) -> None:
    reason = name if name.startswith("std") else "rdrand or rdseed"
    expected = f"{tmp_path}/mine can read the processor's random numbers ({reason})"
    assert found(tmp_path, CAUGHT[name]) == expected
    assert found(tmp_path, CAUGHT[name], "mine") == expected


@pytest.mark.parametrize("name", QUIET)
def test_others_are_not(name: str, tmp_path: Path) -> None:
    assert found(tmp_path, QUIET[name]) == ""


@pytest.mark.parametrize(
    "first", ["#!{}/reader -x", "#!/usr/bin/env reader", "#!/usr/bin/env -S a=b reader"]
)
def test_the_interpreter_of_a_script_counts(first: str, tmp_path: Path) -> None:
    (tmp_path / "reader").write_bytes(PRINTS_RANDOM)
    (tmp_path / "reader").chmod(0o755)
    assert f"{tmp_path}/reader can" in found(tmp_path, f"{first.format(tmp_path)}\n".encode())


def test_a_program_that_is_absent_or_a_shell_is_no_reason(tmp_path: Path) -> None:
    assert doubt("absent", str(tmp_path), tmp_path) == doubt("./absent", "", tmp_path) == ""
    assert doubt("sh", environment()["PATH"], tmp_path) == ""


SOURCE = """
#include <immintrin.h>
int main(void) { unsigned long long number; return !_%s64_step(&number); }
"""


@pytest.mark.needs("gcc")
@pytest.mark.parametrize("level", ["-O0", "-O1", "-O2", "-Os"])
@pytest.mark.parametrize("name", ["rdrand", "rdseed"])
def test_what_a_compiler_makes_is_recognised(name: str, level: str, tmp_path: Path) -> None:
    (tmp_path / "a.c").write_text(SOURCE % name)
    options = ["-mrdrnd", "-mrdseed", level, "-o", "mine", "a.c"]
    subprocess.run(["gcc", *options], cwd=tmp_path, check=True)
    assert doubt("./mine", "", tmp_path).endswith("(rdrand or rdseed)")
