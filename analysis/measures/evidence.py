"""Evidence in a run's files: proofs that conditions held, and frames that show an event.

A frame is called frame.INTERFACE.EVENT.NUMBER. Its value is its time in seconds since the
capture's first packet, as Wireshark counts and shows both. frame.HOST.sockets.EVENT.NUMBER is a
line of HOST.sockets.jsonl, counted from 1.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from analysis import flows
from analysis.flows.columns import KIND, KINDS, RETRANSMISSIONS, table_rows
from analysis.records.json_reader import Problems, read
from analysis.records.output import by_port
from analysis.records.run_directory import RunRecord, Trial, changed_files
from analysis.records.trial_files import EnvironmentFile, RecordedSetting
from analysis.table import ColumnTable, RowGroups, Truths
from topologies import untrusted
from topologies.errors import TcplabError

_CAPTURE_DROPS = re.compile(r"^(\d{1,18}) packets dropped by kernel$", re.MULTILINE)


@dataclass(frozen=True)
class HeldProof:
    """A claim about a condition, and what was `observed` in the first, or the first that failed."""

    condition: str
    claim: str
    observed: tuple[str, ...]
    source: str
    held: bool


@dataclass(frozen=True)
class Evidence:
    """Settings and tools of the first seed, and proofs of every condition of all seeds."""

    environment: EnvironmentFile
    settings: tuple[RecordedSetting, ...]
    proofs: tuple[HeldProof, ...]
    has_buckets: bool
    same_draws: bool

    @property
    def held(self) -> bool:
        return bool(self.proofs) and all(proof.held for proof in self.proofs)


def read_evidence(run: RunRecord, problems: Problems) -> Evidence:
    """Reads all seeds' evidence; what is missing or does not hold is a problem too."""
    seeds = sorted({trial.seed for trial in run.trials})
    names = [f"raw/seed-{seed}/environment.json" for seed in seeds]
    environments = [read(EnvironmentFile, run.path / name, problems, name) for name in names]
    first = environments[0] if environments else EnvironmentFile()
    for environment in environments:
        _note_differences(environment.asked_and_found, problems)
    if changed := changed_files(run):
        which = f"{', '.join(changed[:5])}{', ...' if changed[5:] else ''}"
        problems.add(f"Changed since the run was written (SHA-256): {which}.")
    proofs, sysctls = _proofs(run, problems), _sysctls(run, problems)
    return Evidence(
        first,
        first.asked_and_found + sysctls,
        proofs,
        any(environment.lines is False for environment in environments),
        bool(environments) and all(environment.same_draws for environment in environments),
    )


def _sysctls(run: RunRecord, problems: Problems) -> tuple[RecordedSetting, ...]:
    """The first seed's sysctls, asked and found, less those that a proof says the kernel lacks."""
    settings: list[RecordedSetting] = []
    for trial in run.trials:
        evidence = trial.files.evidence(problems)
        proved = {proof.claim for proof in evidence.proofs if proof.held}
        rows = [
            RecordedSetting(
                f"{host}, {trial.condition.label}", name, asked, values.get(name, "unknown")
            )
            for host, values in evidence.sysctls.items()
            for name, asked in trial.condition.sysctls
            if name in values or f"every host behaves as with {name} {asked}" not in proved
        ]
        _note_differences(rows, problems)
        settings += rows if trial.seed == run.trials[0].seed else []
    return tuple(settings)


def _note_differences(settings: Sequence[RecordedSetting], problems: Problems) -> None:
    for setting in settings:
        if not setting.agrees:
            asked = f"{setting.field} {setting.asked} was asked for"
            problems.add(f"{setting.interface}: {asked}, the kernel had {setting.found}.")


def _proofs(run: RunRecord, problems: Problems) -> tuple[HeldProof, ...]:
    """Proofs of all trials, those of one condition and claim joined."""
    joined: dict[tuple[str, str], HeldProof] = {}
    for trial in run.trials:
        evidence, label = trial.files.evidence(problems), trial.condition.label
        if evidence.held is False:
            problems.add(f"{trial.name}: the run itself says that this condition did not hold.")
        for each in evidence.proofs:
            held = each.held is True
            if not held:
                observed = "; ".join(each.observed)
                problems.add(f"{trial.name}: '{each.claim}' did not hold ({observed}).")
            earlier = joined.get((label, each.claim))
            if earlier is None or earlier.held:
                proof = HeldProof(label, each.claim, each.observed, each.source, held)
                joined[label, each.claim] = proof
        for interface, lost in capture_drops(run, trial).items():
            if lost != "0":
                name = f"{trial.name}/{interface}.tcpdump.txt"
                problems.add(f"{name}: tcpdump lost {lost} packets, so the capture has gaps.")
    return tuple(joined.values())


def capture_drops(run: RunRecord, trial: Trial) -> dict[str, str]:
    """Return the packets that tcpdump lost on each interface, as it wrote them, if it did."""
    texts = (untrusted.text_if_any(trial.folder, f"{name}.tcpdump.txt") for name in run.captures)
    counts = zip(run.captures, map(_CAPTURE_DROPS.search, texts), strict=True)
    return {interface: count[1] for interface, count in counts if count}


PREFIX = "frame."
_MOST = 10_000
"""Frames of one event; what is more frequent is no evidence, since any guess would be right."""
_PAUSE = 250_000_000  # ns without a segment of data, as in analysis.measures.results
_TABLE = tuple(table_rows(Path(__file__).with_name("frames.csv")))
EVENTS = {row["event"]: row["meaning"] or dict(KINDS)[row["event"]] for row in _TABLE}
"""The events of frames, and of lines of sockets' samples, with their meanings."""


_LEAST_TIMEOUT, _REACTION = 190_000_000, 100_000
"""ns: Linux's least time-out less a tick, and within which a sender reacts to a packet."""
_ECE, _CWR = 64, 128  # flags of TCP (RFC 3168), which a SYN carries for another purpose
_CE = 3


def frame_values(folder: Path, captures: Sequence[str]) -> dict[str, float]:
    """Return the evidence in a condition's captures; unreadable ones are left out."""
    values: dict[str, float] = {}
    for name in captures:
        try:
            packets = flows.read(folder / f"{name}.pcap", packets=True).packet_table
        except (TcplabError, OSError):
            continue
        if packets is not None and len(packets):
            values |= dict(_named(name, packets))
    return values


def line_values(run: RunRecord, trial: Trial) -> dict[str, float]:
    """Return the evidence in the first TCP flow's samples. Raises ValueError on a broken line."""
    flow = next((flow for flow in run.flows if flow.protocol == "tcp"), run.flow)
    lines = untrusted.text_if_any(trial.folder, f"{flow.sender}.sockets.jsonl").splitlines()
    samples = {
        number: sample
        for number, line in enumerate(lines, 1)
        for sample in by_port([line]).get(str(flow.port), [])[:1]
    }
    longest = max((sample.rtt for sample in samples.values()), default=0.0)
    first = next(iter(samples.values())).time if samples else 0.0
    values, prefix = {}, f"{PREFIX}{flow.sender}.sockets"
    for number, sample in samples.items():
        before = samples.get(number - 1)
        if before is not None and sample.cwnd <= 0.8 * before.cwnd:
            values[f"{prefix}.cut.{number}"] = sample.time - first
        if sample.rtt >= 0.95 * longest:
            values[f"{prefix}.peak.{number}"] = sample.time - first
    return values


def _named(interface: str, packets: ColumnTable) -> Iterator[tuple[str, float]]:
    number, times = packets.whole("number"), packets.whole("time")
    since = (times - times[0]) / 1e9
    for event, fits in events(packets).items():
        if fits.sum() <= _MOST:
            for at in np.flatnonzero(fits):
                yield f"{PREFIX}{interface}.{event}.{number[at]}", float(since[at])


def events(packets: ColumnTable) -> dict[str, Truths]:
    kind, flags, payload = (packets[name].values for name in ("kind", "flags", "payload"))
    forward, connection = packets["forward"].values, packets["connection"].values
    opens, acknowledges, data = flags & 2 > 0, flags & 16 > 0, payload > 0
    again = data & np.isin(kind, [KIND[name] for name in RETRANSMISSIONS])
    copies = RowGroups(connection, forward, packets["sequence"].values)
    before, after = _pauses(packets, data)
    return {
        "syn": opens & ~acknowledges,
        "syn_ack": opens & acknowledges,
        "resent": again,
        **{name: data & (kind == KIND[name]) for name in RETRANSMISSIONS},
        "first_copy": data & ~again & (copies.spread(copies.sums(again)) > 0),
        "timeout": _timed_out(packets, data),
        "after_pause": after,
        "before_pause": before,
        "with_blocks": ~data & (packets.lists("sacks").lengths > 0),
        "dsack": ~data & packets["dsack"].values,
        "ce": data & (packets["ecn"].values == _CE),
        "ece": ~opens & ~data & (flags & _ECE > 0),
        "cwr": data & (flags & _CWR > 0),
    }


def _timed_out(packets: ColumnTable, data: Truths) -> Truths:
    """Return the segments that the sender's timer repeated, by a capture at the sender.

    The timer repeats the lowest segment that is not acknowledged, 200 ms at the soonest after the
    last progress (RFC 6298; TCP_RTO_MIN of Linux), and no packet of the peer sets it off.
    """
    found = np.zeros(len(packets), np.bool_)
    connection, forward = packets["connection"].values, packets["forward"].values
    for number in np.unique(connection):
        for sent in (forward, ~forward):
            own = connection == number
            found |= _timed_out_towards(packets, data & own & sent, own & ~sent)
    return found


def _timed_out_towards(packets: ColumnTable, sent: Truths, back: Truths) -> Truths:
    times, sequence = packets.whole("time"), packets["sequence"].values.astype(np.int64)
    acknowledged = np.where(back, packets["acknowledgement"].values.astype(np.int64), 0)
    lowest = np.maximum.accumulate(acknowledged)
    advanced = _latest(times, np.diff(lowest, prepend=0) > 0)
    heard = _latest(times, back)
    rows = np.flatnonzero(sent)
    previous = RowGroups(sequence[rows]).previous
    repeated, before = rows[previous >= 0], rows[previous[previous >= 0]]
    waited = times[repeated] - np.maximum(times[before], advanced[repeated]) >= _LEAST_TIMEOUT
    gaps = times - heard
    prompt = gaps[rows][gaps[rows] < _REACTION]
    is_virtual = len(prompt) > 0 and np.median(prompt) == 0  # hosts react within the instant
    alone = gaps[repeated] >= (1 if is_virtual else _REACTION)
    is_lowest = sequence[repeated] == lowest[repeated]
    return np.isin(np.arange(len(packets)), repeated[waited & alone & is_lowest])


def _latest(times: np.ndarray, which: Truths) -> np.ndarray:
    """Return for each packet the time of the latest of those before it, or its own."""
    rows = np.maximum.accumulate(np.where(which, np.arange(len(times)), 0))
    return np.asarray(times[rows])


def _pauses(packets: ColumnTable, data: Truths) -> tuple[Truths, Truths]:
    rows, times = np.flatnonzero(data), packets.whole("time")[data]
    names = ("connection", "forward")
    previous = RowGroups(*(packets[name].values[data] for name in names)).previous
    late = np.flatnonzero((previous >= 0) & (times - times[previous] >= _PAUSE))
    before, after = np.zeros((2, len(packets)), np.bool_)
    before[rows[previous[late]]] = after[rows[late]] = True
    return before, after
