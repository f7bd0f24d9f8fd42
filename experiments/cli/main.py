"""Start of every command line: find the right Python, then load the command."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager

from testbed.host import in_virtual_environment


def main(typed: str = "tcplab") -> None:
    """Run the console script `tcplab`, which its help calls `typed`."""
    with _ended_by_ctrl_c():
        in_virtual_environment()
        from experiments.cli.commands import COMPLETE, tcplab

    tcplab(prog_name=typed, complete_var=COMPLETE)


@contextmanager
def _ended_by_ctrl_c() -> Iterator[None]:
    """End without a traceback at Ctrl-C: no command is there yet that prints a sentence."""
    handler = signal.getsignal(signal.SIGINT)
    if handler is signal.default_int_handler:  # a program started with nohup keeps ignoring it
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGINT, handler)


def start(name: str) -> None:
    """Run the study of a name: on this kernel as root where it can, else in the lab kernel."""
    in_virtual_environment()
    from experiments.cli.run import command_of
    from experiments.study.catalogue import find

    command_of(find(name), testbed="auto")()


def run() -> None:
    """Run `python -m experiments`, which is `tcplab run`."""
    in_virtual_environment()
    from experiments.cli.run import experiments

    experiments()


if __name__ == "__main__":
    main("./tcplab")  # which ends in this file
