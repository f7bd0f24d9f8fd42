"""Which Debian packages hold the tools that tcplab uses: an offer, and never a condition.

The standard library only: the launcher and provision.sh start this before anything is installed.
`python3 -m testbed.host.packages native` prints the packages that native runs lack; `test` installs
those of tests, if the user agrees.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from testbed.host import CODE
from topologies.errors import TcplabError
from topologies.notation import toml_file

YES = "TCPLAB_YES"  # set by `./tcplab --yes`: missing packages are installed without a question
PATH = "/usr/sbin:/usr/bin:/sbin:/bin"
"""The distribution's programs: a user's own ones elsewhere on the PATH do not count."""

_GROUPS: dict[str, dict[str, str]] = toml_file(Path(__file__).with_name("packages.toml"))
"""Programs, or files, to their packages, by what they are for."""
NATIVE, COMPILER, ENGINE, COMPARISON = (
    _GROUPS[name] for name in ("native", "compiler", "engine", "comparison")
)
TEST = COMPARISON | COMPILER | _GROUPS["kernel"] | _GROUPS["typed"]
MORE_TESTS = _GROUPS["more_tests"]
TOOLS = {tool: package for group in _GROUPS.values() for tool, package in group.items()}

MISSING = "Missing here:"  # by which the output of a command tells that it lacked a package


class MissingTools(TcplabError):
    """An absence of programs, or of files, which packages of the distribution have."""


def present(tool: str) -> bool:
    """Check for a program, or for a file (with a slash)."""
    if tool.startswith("/"):
        return Path(tool).exists()
    return shutil.which(tool, path=PATH) is not None


def of_tools(tools: Iterable[str]) -> list[str]:
    """Return the packages that hold these tools."""
    return sorted({TOOLS[tool] for tool in tools if tool in TOOLS})


def install_command(packages: Iterable[str]) -> str:
    """Return the command that a user types to install packages."""
    return f"sudo apt-get install --no-install-recommends {' '.join(packages)}"


def install_missing(tools: Iterable[str]) -> None:
    """Install the packages of missing tools if the user agrees. Raises MissingTools otherwise."""
    if not (absent := [tool for tool in tools if not present(tool)]):
        return
    wanted = of_tools(absent)
    problem = f"{MISSING} {', '.join(absent)}."
    if not (CODE / "provision.sh").exists() or not shutil.which("apt-get", path=PATH):
        names = f"In Debian these packages have them: {' '.join(wanted)}."
        raise MissingTools(problem, f"Install them with the system's tools. {names}")
    if not wanted or not _is_agreed(wanted):
        remedy = f"Install them: {install_command(wanted)}, or start with ./tcplab --yes."
        raise MissingTools(problem, remedy)
    _install(wanted)


def offer_for_tests() -> None:
    """Install packages of tests if the user agrees; else these tests are skipped, with reasons."""
    more = MORE_TESTS if os.environ.get(YES) and os.geteuid() == 0 else {}
    absent = [tool for tool in {**TEST, **more} if not present(tool)]
    if absent and _is_agreed(of_tools(absent)):
        _install(of_tools(absent))
    elif absent:
        print(f"tcplab: tests that need {', '.join(absent)} are skipped.", file=sys.stderr)
        print(f"tcplab: for all tests: {install_command(of_tools(absent))}", file=sys.stderr)


def _is_agreed(wanted: Sequence[str]) -> bool:
    if os.environ.get(YES):
        return True
    if not sys.stdin.isatty() or not sys.stderr.isatty():
        return False
    print(f"These packages are missing: {' '.join(wanted)}", file=sys.stderr)
    print("Install them with apt? [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _install(wanted: Sequence[str]) -> None:
    """Install packages as root, or by sudo. Raises TcplabError."""
    problem = f"The packages {' '.join(wanted)} could not be installed."
    by_root = [] if os.geteuid() == 0 else ["sudo"]
    if by_root and not shutil.which("sudo"):
        raise TcplabError(problem, f"As root, run: {install_command(wanted).removeprefix('sudo ')}")
    command = [*by_root, "sh", str(CODE / "provision.sh"), "packages", *wanted]
    if subprocess.run(command, check=False).returncode:
        raise TcplabError(problem, "See apt's message above.")


def main(kind: str) -> None:
    """Print the packages that native runs lack, or offer those of tests."""
    try:
        if kind == "test":
            offer_for_tests()
        else:
            missing = of_tools(tool for tool in NATIVE if not present(tool))
            print("".join(f"{package}\n" for package in missing), end="")
    except TcplabError as error:
        sys.exit(f"Error: {error}")


if __name__ == "__main__":
    main(sys.argv[1])
