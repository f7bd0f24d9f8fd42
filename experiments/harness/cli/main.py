"""The start of every command line: finds the right Python first, then loads the commands."""

from __future__ import annotations

from testbed.host.interpreter import in_virtual_environment


def main(typed: str = "tcplab") -> None:
    """`tcplab`, the console script; `typed` is what its help calls it."""
    in_virtual_environment()
    from experiments.harness.cli.commands import COMPLETE, tcplab

    tcplab(prog_name=typed, complete_var=COMPLETE)


def start(name: str) -> None:
    """`python -m experiments.NAME`: the same as `tcplab run NAME`."""
    in_virtual_environment()
    from experiments.harness.cli.run import command_of
    from experiments.harness.definition.catalogue import find

    command_of(find(name))()


def run() -> None:
    """`python -m experiments`: the same as `tcplab run`."""
    in_virtual_environment()
    from experiments.harness.cli.run import experiments

    experiments()


if __name__ == "__main__":
    main("./tcplab")  # which ends in this file
