"""One seed of an experiment: drawn, carried out in a guest, and judged by its evidence.

Each draw has a name of seed, study, flow and field, so another one changes none of the others.
"""

import json
import random
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from experiments.flows.traffic import planned
from experiments.spec import Condition, Draw, ExperimentSpec, Flow
from experiments.study.kernels import without_what_always_holds
from testbed.guest.namespaces import CONGESTION_CONTROL, HOST_SYSCTLS
from testbed.host import supervise
from testbed.host.supervise import Limits, Progress, Usage
from testbed.lab.ready import Lab, with_kernel
from testbed.modules import attached, build_all, built_for_this_kernel
from testbed.modules.crash import accounting_lab, explained, lacks_backtrace, rerun_verbose
from testbed.native import realtime
from testbed.native.changes import KernelNeeds
from testbed.native.realtime import REALTIME
from testbed.native.run import run_natively
from testbed.virtual.run import guest_keeper, run_in_guest
from topologies import untrusted
from topologies.data import kind_at, to_data
from topologies.errors import TcplabError, UsageError
from topologies.notation import json_value
from topologies.spec import Channel
from topologies.units import Duration, Quantity, Rate


def drawn(spec: ExperimentSpec, seed: int) -> tuple[ExperimentSpec, dict[str, str]]:
    """Return the spec of one seed, and the drawn values by their places. Raises UsageError."""
    if not spec.draws and not any(flow.traffic for flow in spec.flows):
        return spec, {}
    flows, values = [], dict[str, str]()
    for number, flow in enumerate(spec.flows):
        named, fields = f"{spec.name} flows.{flow.name}", dict[str, Any]()
        for draw in spec.draws:
            _, which, field = draw.path
            if which in ("*", str(number)):
                fields[field] = _value(draw, flow, random.Random(f"{seed} {named}.{field}"))
                values[f"flows.{flow.name}.{field}"] = str(fields[field])
        if flow.traffic:
            fields["exchanges"] = planned(
                flow.name, flow.traffic, flow.duration, f"{seed} {named}.traffic"
            )
        flows.append(replace(flow, **fields))
    return replace(spec, flows=tuple(flows), draws=()), values


def note_draws(folder: Path, values: dict[str, str]) -> None:
    if values:
        (folder / "drawn.json").write_text(json.dumps(values, indent=1) + "\n")


def _value(draw: Draw, flow: Flow, source: random.Random) -> Quantity:
    kind: Any = kind_at(Flow, draw.path[2:])
    base = getattr(flow, draw.path[2])
    if not (isinstance(kind, type) and issubclass(kind, Quantity) and base is not None):
        raise UsageError(
            f"{draw.field} is no quantity of flow {flow.name}.", "Draw its start or its amount."
        )
    amount = kind.parse(draw.amount).base
    uniform = draw.kind == "uniform"
    share = source.random() if uniform else source.expovariate(1.0)
    return kind(base.base + int(share * amount))


PROCEDURE = "experiments.flows.procedure"
GUEST_MIB = 1024
_STEP_MIB = 512
# the kernel lets TCP have a 16th of its memory before windows shrink (net/ipv4/tcp.c, tcp_init_mem)
_TCP_SHARE = 16
_SAMPLES = 2000  # sockets that are sampled in a second of virtual time, at most


def needed_mib(spec: ExperimentSpec) -> int:
    """Estimate the MiB of a guest, with slack: one with too little freezes.

    Measured: 120 MB, 0.7 a host, 1.7 a flow, captures of a condition twice, 0.64 KB a sample.
    """
    hosts, flows = len(spec.topology.named("host")), len(spec.flows)
    captures = spec.capture_bytes() // len(spec.conditions)
    longest = max(flow.end.seconds for flow in spec.flows)
    samples = 640 * min(20 * flows, _SAMPLES) * 1.5 * longest
    return 256 + hosts + 3 * flows + int(3 * captures + samples) // 2**20 + _buffers_mib(spec)


def _buffers_mib(spec: ExperimentSpec) -> int:
    """Return the MiB that the kernel needs for TCP while flows fill their paths with large buffers.

    A sender holds twice what is in flight (tcp_sndbuf_expand), a receiver once; a tenth more.
    """
    received, sent = (_largest(spec, f"net.ipv4.tcp_{name}") for name in ("rmem", "wmem"))
    if not received and not sent:
        return 0
    held = 0.0
    for flow in spec.flows:
        rate = spec.topology.bottleneck(flow.sender, flow.receiver).bandwidth.base
        amount = rate * spec.topology.round_trip(flow.sender, flow.receiver).seconds / 8
        held += min(2 * amount, sent or amount) + min(amount, received)
    return int(1.1 * _TCP_SHARE * held) // 2**20


def _largest(spec: ExperimentSpec, sysctl: str) -> int:
    """Return the bytes of the largest buffer that a condition allows; 0 if it is usual."""
    usual = HOST_SYSCTLS[sysctl]
    texts = [dict(condition.sysctls).get(sysctl, usual) for condition in spec.conditions]
    largest = max(int(text.split()[2]) for text in texts)
    return largest if largest > int(usual.split()[2]) else 0


def memory_for(spec: ExperimentSpec) -> int:
    """Return the MiB that a guest is given, in steps, so that it serves many settings."""
    return max(GUEST_MIB, -(-needed_mib(spec) // _STEP_MIB) * _STEP_MIB)


def limits_for(spec: ExperimentSpec, wall_seconds: float) -> Limits:
    """Return a guest's limits; it may write its estimated memory for each condition."""
    written = len(spec.conditions) * needed_mib(spec) << 20
    return Limits(wall_seconds, memory_for(spec), output_bytes=written)


@dataclass(frozen=True)
class SeedVerdict:
    """The verdict on a seed's evidence: failed proofs, and warnings."""

    failures: tuple[str, ...]
    warnings: tuple[str, ...]


def judge(spec: ExperimentSpec, seed: int, raw: Path) -> SeedVerdict:
    """Read the evidence of each condition and of timers, and what the guest says of busy waits."""
    failures: list[str] = []
    said = [f"{words}." for words in (*supervise.waits(raw), supervise.spin(raw)) if words]
    if untrusted.is_file(raw, REALTIME):
        said = [*realtime.warnings(json_value(untrusted.content(raw, REALTIME))), *said]
    warnings = [f"Seed {seed}: {sentence}" for sentence in said]
    for condition in spec.conditions:
        place = f"Seed {seed}, {condition.label}:"
        try:
            evidence = json_value(untrusted.content(raw, f"{condition.name}/evidence.json"))
            warned = [f"{place} {warning}" for warning in evidence["warnings"]]
            failed = [
                f"{place} not proved that {proof['claim']} ({'; '.join(proof['observed'])})."
                for proof in evidence["proofs"]
                if not proof["held"]
            ]
        except (OSError, ValueError, KeyError, TypeError) as error:
            warned = []
            failed = [f"{place} its evidence cannot be read ({type(error).__name__})."]
        warnings += warned
        failures += failed
    return SeedVerdict(tuple(failures), tuple(warnings))


def run_seed(
    spec: ExperimentSpec, seed: int, out: Path, limits: Limits, lab: Lab, progress: Progress
) -> Usage:
    """Run the spec once in a guest on its kernel, with raw files into the empty folder `out`."""
    spec, values = drawn(spec, seed)
    lab = with_kernel(lab, spec.kernel)
    modules = build_all(spec.modules, lab)
    order = to_data(without_what_always_holds(spec).for_guest())

    def run(place: Path, on: Lab = lab, verbose: bool = False) -> Usage:
        job = (on, PROCEDURE, order, seed, place, progress, limits)
        if spec.told_later:
            return run_in_guest(*job, known=to_data(known_before(spec)), verbose=verbose)
        if not verbose and _is_kept(spec, on):
            with guest_keeper() as keeper:
                return keeper.run(*job, to_data(replace(known_before(spec), told_later=False)))
        files = attached(modules if on is lab else build_all(spec.modules, on))
        return run_in_guest(*job, files, verbose=verbose)

    try:
        usage = run(out)
    except TcplabError as error:
        if lacks_backtrace(error, out, lab.choice):
            on = accounting_lab(out, lab, progress)
            rerun_verbose(out, lambda place: run(place, on, verbose=True))
        raise explained(error, out, modules, lab.choice) from None
    note_draws(out, values)
    return usage


def _is_kept(spec: ExperimentSpec, lab: Lab) -> bool:
    """Return whether a guest may carry several seeds: one without code of others, or applications.

    In a used guest some first calls of these come 1.3 us earlier (cause not found).
    """
    strange = spec.modules or any(flow.program or flow.traffic for flow in spec.flows)
    return lab.takes_orders and not lab.choice.digest and not strange


def known_before(spec: ExperimentSpec) -> ExperimentSpec:
    """Return the part of a spec that its guests know from the start: equal for all settings."""
    usual = Channel(Rate.parse("1mbit"))
    pairs = dict.fromkeys((flow.sender, flow.receiver) for flow in spec.flows)
    return ExperimentSpec(
        spec.name,
        "",
        spec.topology.with_channels(lambda *_: usual),
        tuple(Flow("flow", *pair, Duration.parse("1s")) for pair in pairs),
        (Condition(spec.conditions[0].name, "usual"),),
        spec.captures,
        told_later=True,
    )


def run_seed_natively(
    spec: ExperimentSpec,
    seed: int,
    out: Path,
    limits: Limits,
    progress: Progress,
    *,
    load_modules: bool,
) -> Usage:
    """Run the spec once on this computer's kernel, into the folder `out`. Raises UsageError."""
    refuse_modules(spec, load_modules)
    spec, values = drawn(spec, seed)
    modules = attached([built_for_this_kernel(module) for module in spec.modules])
    contents = {name.removesuffix(".ko"): content for name, content in modules.items()}
    chosen = {dict(condition.sysctls).get(CONGESTION_CONTROL) for condition in spec.conditions}
    chosen |= {flow.congestion_control for flow in spec.flows}
    algorithms = sorted({HOST_SYSCTLS[CONGESTION_CONTROL], *filter(None, chosen)})
    needs = KernelNeeds(contents, algorithms)
    order = to_data(spec.for_guest())
    usage = run_natively(PROCEDURE, order, out, progress, limits, modules, needs)
    note_draws(out, values)
    return usage


def refuse_modules(spec: ExperimentSpec, load_modules: bool) -> None:
    """Raise UsageError for programs, and for modules in this kernel without `load_modules`."""
    if own := [flow.name for flow in spec.flows if flow.program]:
        problem = f"Natively, the program of {own[0]} would be root of this computer."
        raise UsageError(problem, "Use --testbed virtual.")
    if spec.modules and not load_modules:
        raise UsageError(
            f"Natively, {spec.modules[0].name}.c becomes part of this computer's kernel, which its"
            " mistakes crash.",
            "Use --testbed virtual, or say that you want this: --load-module-into-this-kernel.",
        )
