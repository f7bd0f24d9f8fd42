"""The commands in the order of the help. The launcher prints it before libraries are installed."""

import sys
from pathlib import Path

import testbed
from topologies.notation import toml_file

ABOUT = "TCP experiments on emulated networks: run, repeat, report."
GROUPS: dict[str, dict[str, str]] = toml_file(Path(__file__).with_name("commands.toml"))
"""The line of each command, in the order of the help."""
LINES = {name: line for group in GROUPS.values() for name, line in group.items()}


def first_help() -> str:
    """Return the help of a checkout whose libraries are not installed yet."""
    lines = ["Usage: ./tcplab [OPTIONS] COMMAND [ARGS]...", "", f"  {ABOUT}"]
    for group, commands in GROUPS.items():
        lines += ["", f"{group}:", *(f"  {name:<13}{line}" for name, line in commands.items())]
    return "\n".join([*lines, "", "The first command of these installs Python libraries in .venv."])


def main(wanted: str = "") -> None:
    print(f"tcplab, version {testbed.VERSION}" if wanted == "--version" else first_help())


if __name__ == "__main__":
    main(*sys.argv[1:])
