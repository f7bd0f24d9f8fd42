"""Where every command line of the package starts. Finds the right Python first, then loads the
commands.
"""

from __future__ import annotations

from importlib import import_module

from testbed.interpreter import in_virtual_environment


def main(typed: str = "tcplab") -> None:
    """`tcplab`, the console script; `typed` is what its help calls it."""
    in_virtual_environment()
    from experiments.commands import tcplab

    labs = import_module("labs.commands")  # by name: imports point from labs to experiments
    tcplab.add_command(labs.lab)
    tcplab.add_command(labs.grade)
    tcplab(prog_name=typed)


def start(name: str) -> None:
    """`python -m experiments.NAME`: the same as `tcplab run NAME`."""
    in_virtual_environment()
    from experiments.catalogue import find
    from experiments.commands import command_of

    command_of(find(name))()


def run() -> None:
    """`python -m experiments`: the same as `tcplab run`."""
    in_virtual_environment()
    from experiments.commands import experiments

    experiments()


if __name__ == "__main__":
    main("./tcplab")  # which ends in this file
