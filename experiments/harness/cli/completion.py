"""`tcplab completion`, and what shells are told of values: studies, runs, kernels.

Congestion controls are completed by the options of their own parameters (parameter_options.py).
"""

from __future__ import annotations

from pathlib import Path

import click
from click.shell_completion import CompletionItem, get_completion_class

from experiments.harness.cli.commands import COMPLETE, tcplab


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the code that completes commands: eval "$(./tcplab completion bash)"."""
    kind = get_completion_class(shell)
    assert kind is not None  # click has all three
    click.echo(kind(tcplab, {}, "tcplab", COMPLETE).source())


def studies(_context: click.Context, _param: click.Parameter, typed: str) -> list[CompletionItem]:
    """Return the names of experiments, with their claims."""
    from experiments.harness.definition.catalogue import catalogue

    return [
        CompletionItem(named.name, help=named.claim)
        for named in catalogue()
        if named.name.startswith(typed)
    ]


def folders_of_runs(
    context: click.Context, _param: click.Parameter, typed: str
) -> list[CompletionItem]:
    """Finished runs in the folder that --out names, newest first."""
    out = Path(context.params.get("out") or "runs")
    places = sorted({file.parent for file in out.glob("*/*/manifest.json")}, reverse=True)
    return [CompletionItem(str(place)) for place in places if str(place).startswith(typed)]


def kernels(_context: click.Context, _param: click.Parameter, typed: str) -> list[CompletionItem]:
    """Return the lab's own kernels, the newest first."""
    from testbed.lab.kernel.version import all_series

    return [CompletionItem(name) for name in all_series() if name.startswith(typed)]
