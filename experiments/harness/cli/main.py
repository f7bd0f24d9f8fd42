"""Start of every command line: find the right Python, then load the command."""

from __future__ import annotations

from testbed.host.interpreter import in_virtual_environment


def main(typed: str = "tcplab") -> None:
    """Run the console script `tcplab`, which its help calls `typed`."""
    in_virtual_environment()
    from experiments.harness.cli.commands import COMPLETE, tcplab

    tcplab(prog_name=typed, complete_var=COMPLETE)


def start(name: str) -> None:
    """Run the study of a name: on this kernel as root where it can, else in the lab kernel."""
    in_virtual_environment()
    from experiments.harness.cli.run import command_of
    from experiments.harness.definition.catalogue import find

    command_of(find(name), testbed="auto")()


def run() -> None:
    """Run `python -m experiments`, which is `tcplab run`."""
    in_virtual_environment()
    from experiments.harness.cli.run import experiments

    experiments()


if __name__ == "__main__":
    main("./tcplab")  # which ends in this file
