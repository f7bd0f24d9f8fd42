"""`tcplab cc`: build a congestion control, smoke-test it in a guest, and compare it with Reno."""

import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from experiments.cli.commands import NearGroup
from experiments.cli.options import kernel_option
from experiments.custom_cc import OWN, CustomCcParameters, experiment
from experiments.run.seed import judge, limits_for, needed_mib, run_seed
from experiments.run.session import lab_on
from experiments.spec import ExperimentSpec
from testbed.builds import cache
from testbed.engine import Listener, Task, local_engine
from testbed.guest.kernel_modules import KernelModule, module_from
from testbed.host.processes import guests_at_once
from testbed.host.scratch import scratch
from testbed.host.supervise import CONSOLE
from testbed.lab.ready import Lab
from testbed.modules import built
from topologies import untrusted
from topologies.data import to_data
from topologies.errors import TcplabError
from topologies.notation import json_value
from topologies.units import Duration, Share

SPIN_SECONDS = 60.0  # wall seconds after which a guest is stopped; a try's longest takes 3
_SMOKE = CustomCcParameters(
    duration=Duration.parse("5s"), loss=Share.parse("2%"), delay=Duration.parse("5ms"), cc=OWN
)
_DURATION = Duration.parse("20s")
_HALF_A_SECOND, _LOSS = Duration.parse("500ms"), Share.parse("5%")
PUBLISHED = {
    "500 ms": CustomCcParameters(duration=_DURATION, delay=_HALF_A_SECOND, loss=Share(0)),
    "5 % loss": CustomCcParameters(duration=_DURATION, loss=_LOSS),
    "500 ms and 5 % loss": CustomCcParameters(duration=_DURATION, delay=_HALF_A_SECOND, loss=_LOSS),
}
"""The conditions of section 3.5 of the TCP assignment, for a third of its time."""
_MOST_CONSOLE = 1 << 20  # bytes of a guest's kernel messages, from their end
_LIKE = 0.05  # a smaller difference in one run is none


@dataclass(frozen=True)
class Outcome:
    """Goodput in Mbit/s of Reno and the module under a condition; None if iperf measured none."""

    condition: str
    reno: float | None
    own: float | None

    def sentence(self, algorithm: str) -> str:
        if not self.reno or not self.own:
            return f"Inconclusive under {self.condition}: a receiver measured no data."
        times = self.own / self.reno
        if abs(times - 1) < _LIKE:
            return f"Under {self.condition} {algorithm} and Reno are alike."
        return f"Under {self.condition} {algorithm} got {times:.2f} times what Reno got."


@click.group("cc", cls=NearGroup)
def cc() -> None:
    """Build your congestion control and compare it with Reno, never in this kernel."""


_file = click.argument("file", type=click.Path(path_type=Path))


@cc.command("build")
@_file
@kernel_option
def build_command(file: Path, kernel: str | None) -> None:
    """Build FILE.c for the lab kernel without loading it."""
    _build(module_from(file), lab_on(kernel))


@cc.command("try")
@_file
@kernel_option
def try_command(file: Path, kernel: str | None) -> None:
    """Load FILE.c in a guest, test that it works, and compare it with Reno."""
    module, lab = module_from(file), lab_on(kernel)
    _build(module, lab)
    algorithm = module.algorithm
    trial = f"Trying {algorithm} for {_SMOKE.duration} with {_SMOKE.loss} loss ..."
    click.echo(trial, err=True)
    click.echo(smoke(file, lab))
    click.echo(f"Comparing it with Reno for {_DURATION} each ...", err=True)
    title = "Throughput at the receiver, Mbit/s, one run each"
    table, sentences = Table("Condition", "Reno", algorithm, title=title), list[str]()
    for outcome in compared(file, lab):
        cells = (f"{rate:.3g}" if rate else "-" for rate in (outcome.reno, outcome.own))
        table.add_row(outcome.condition, *cells)
        sentences.append(outcome.sentence(algorithm))
    Console(file=sys.stdout).print(table)
    click.echo("\n".join(sentences))
    click.echo(
        "A single run can mislead; for intervals: ./tcplab sweep custom_cc --set"
        " module=FILE.c --seeds 30"
    )


def _build(module: KernelModule, lab: Lab) -> None:
    made = built(module, lab)
    if made.warnings:
        click.echo(made.warnings)
    where = f"{module.name}.c is built for Linux {lab.kernel_release}"
    click.echo(f"{where}: {module.algorithm}, {len(made.content)} bytes.")


def smoke(file: Path, lab: Lab, wall_seconds: float = SPIN_SECONDS) -> str:
    """Run the module alone, and describe the run. Raises TcplabError unless its window moved."""
    spec = _spec(file, _SMOKE, lab)
    with scratch() as raw:
        try:
            limits = limits_for(spec, wall_seconds)
            run_seed(spec, 1, raw, limits, lab, lambda _phase, _elapsed: None)
        except TcplabError as error:
            kept = cache.folder() / f"{spec.modules[0].name}.{CONSOLE}"
            kept.write_text(untrusted.tail(raw, CONSOLE, _MOST_CONSOLE))
            error.remedy = f"{error.remedy} ({CONSOLE} is kept as {kept}.)"
            raise
        verdict = judge(spec, 1, raw)
        if problems := [*verdict.failures, *verdict.warnings]:
            raise TcplabError(" ".join(problems), "Let the module carry a connection through loss.")
        algorithm = spec.conditions[0].name
        name = f"{algorithm}/{spec.flows[0].sender}.sockets.jsonl"
        samples = map(json_value, untrusted.text(raw, name).splitlines())
        sockets = [socket for sample in samples for socket in sample["sockets"]]
    windows = [int(socket["cwnd"]) for socket in sockets]
    retransmitted = max(int(socket["total_retrans"]) for socket in sockets)
    if len(set(windows)) == 1:
        raise TcplabError(
            f"The congestion window of {algorithm} stayed at {windows[0]} segments all the time.",
            "Let cong_avoid (or cong_control) set it with tcp_snd_cwnd_set.",
        )
    return (
        f"{algorithm} works: loaded, proved in use, window from {min(windows)} to {max(windows)}"
        f" segments, {retransmitted} segments retransmitted, unloaded."
    )


def _spec(file: Path, parameters: CustomCcParameters, lab: Lab) -> ExperimentSpec:
    spec = experiment(replace(parameters, module=str(file)))
    return replace(spec, kernel=str(lab.choice))


def compared(file: Path, lab: Lab) -> Iterator[Outcome]:
    """Run Reno and the module under the published conditions, in parallel guests."""
    # late: they take a third of a second
    from experiments.sweep.point import carry_rows

    specs = [_spec(file, parameters, lab) for parameters in PUBLISHED.values()]
    jobs = [(to_data(spec), 1, SPIN_SECONDS) for spec in specs]
    tasks = [Task(name, carry_rows, job) for name, job in zip(PUBLISHED, jobs, strict=True)]
    slots = min(len(tasks), guests_at_once(max(map(needed_mib, specs))))
    with local_engine(lab, slots, Listener()) as engine:
        records = {done.key: done.result() for done in engine.run(tasks)}
    for name in PUBLISHED:
        if records[name]["status"] != "complete":
            raise TcplabError(f"Under {name}: {records[name]['problem']}")
        rates = (row["goodput_kbit_s"] for row in records[name]["rows"])
        reno, own = (rate / 1000 if rate else None for rate in rates)
        yield Outcome(name, reno, own)
