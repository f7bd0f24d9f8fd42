"""TCP experiments from Python: run them, sweep, read captures, do labs.

    import tcplab

    folder = tcplab.run("sack", {"loss": "2%"})      # a run directory with its report
    tcplab.report(folder).results                    # what it measured, trial by trial
    tcplab.sweep("sack", {"loss": ["0%", "2%"]}, seeds=30).table
    tcplab.read("trace.pcap", packets=True).packets  # any capture, as data frames
    tcplab.lab.start("sack", "ann")                  # a lab's assignment
    tcplab.play(loss="1%")                           # the live page in a notebook's cell

What an experiment of one's own is written with is here too: two_hosts, ExperimentSpec, Flow, Rate.
In a wheel this file is the package `tcplab`, and all else is below it.
"""

from __future__ import annotations

import ast
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # the one list of what is here: `places` reads it too
    from analysis.flows.reader import FileFacts as FileFacts
    from analysis.flows.reader import Reading as Reading
    from analysis.flows.reader import read as read
    from analysis.measures.results import RunResults as RunResults
    from analysis.pages.run import RunReport as RunReport
    from experiments.play import play as play
    from experiments.programs import plugin as plugin
    from experiments.programs.network import Network as Network
    from experiments.programs.public import testing as testing
    from experiments.programs.start import network as network
    from experiments.programs.start import twice as twice
    from experiments.reporting.studies import figure as figure
    from experiments.reporting.studies import make_report as report  # noqa: F401
    from experiments.run.session import run_from_python as run  # noqa: F401
    from experiments.spec import Condition as Condition
    from experiments.spec import ExperimentSpec as ExperimentSpec
    from experiments.spec import Flow as Flow
    from experiments.spec import FlowProgram as FlowProgram
    from experiments.spec import Headline as Headline
    from experiments.spec import LinkParameters as LinkParameters
    from experiments.spec import Proof as Proof
    from experiments.spec import Subject as Subject
    from experiments.spec import congestion_control as congestion_control
    from experiments.spec import parameter as parameter
    from experiments.spec import sack as sack
    from experiments.spec import sending_with as sending_with
    from experiments.spec import word as word
    from experiments.sweep.results import SweepResult as SweepResult
    from experiments.sweep.results import sweep as sweep
    from labs.student import python_api as lab  # noqa: F401
    from testbed import VERSION as VERSION
    from topologies.errors import TcplabError as TcplabError
    from topologies.errors import UsageError as UsageError
    from topologies.shapes import chain as chain
    from topologies.shapes import dumbbell as dumbbell
    from topologies.shapes import parking_lot as parking_lot
    from topologies.shapes import separate_pairs as separate_pairs
    from topologies.shapes import star as star
    from topologies.shapes import two_hosts as two_hosts
    from topologies.shapes import two_paths as two_paths
    from topologies.spec import Channel as Channel
    from topologies.spec import HostReordering as HostReordering
    from topologies.spec import Link as Link
    from topologies.spec import Node as Node
    from topologies.spec import Port as Port
    from topologies.spec import TopologySpec as TopologySpec
    from topologies.units import Count as Count
    from topologies.units import Duration as Duration
    from topologies.units import Packets as Packets
    from topologies.units import Rate as Rate
    from topologies.units import Share as Share
    from topologies.units import Size as Size

# For `import tcplab.testing` in a checkout, where this file is no package.
__path__ = [
    *globals().get("__path__", []),
    str(Path(__file__).parent / "experiments/programs/public"),
]


@cache
def places() -> dict[str, tuple[str, str]]:
    """Module and name of everything above: it is imported only when somebody asks for it."""
    tree = ast.parse(Path(__file__).read_text())
    (block,) = (node for node in tree.body if isinstance(node, ast.If))
    return {
        alias.asname or alias.name: (statement.module or "", alias.name)
        for statement in block.body
        if isinstance(statement, ast.ImportFrom)
        for alias in statement.names
    }


def __getattr__(name: str) -> Any:
    if name.startswith("__") or name not in places():
        raise AttributeError(f"module 'tcplab' has no attribute '{name}'")
    module, original = places()[name]
    place = import_module(module)
    return getattr(place, original, None) or import_module(f"{module}.{original}")


def __dir__() -> list[str]:
    return sorted(places())


def main() -> None:
    """The command `tcplab`."""
    from experiments.cli.main import main as start

    start()
