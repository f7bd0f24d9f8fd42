"""The statistics file of a run: what was counted and printed before, during and after it, as text.

After the script of the published study: the sender's segments, the settings, the queueing
disciplines, what iperf printed, and the same again. The first and fifth word of the lines of
segments are numbers, as netstat's were, so that a command line that reads the one reads the other.
A sweep keeps the texts in its memory of points.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from analysis.records.jsonfile import Object, inner, number, objects, read_object, text
from analysis.records.problems import Problems
from topologies import untrusted

_FORBIDDEN = re.compile(r'[<>:"/\\|?*\x00-\x20]+')  # in a file's name on NTFS, and space


_WRITTEN: dict[str, Callable[[float], str]] = {
    "delay": lambda seconds: f"{1e6 * seconds:g}us",
    "jitter": lambda seconds: f"{1e6 * seconds:g}us",
    "loss": lambda share: f"{100 * share:g}%",
    "rate": lambda octets: f"{8e-6 * octets:g}Mbit",
}
"""Options that tc's JSON has in seconds, as a share of 1 and in bytes a second."""


def statistics_of(raw: Path, spec: Object) -> dict[str, str]:
    """The text of each condition, by its name, from the files of a `raw/seed-N`."""
    names = [text(condition, "name") for condition in objects(spec, "conditions")]
    return {name: statistics(raw / name, spec, name) for name in names}


def file_name(condition: str, values: Mapping[str, str], seed: int) -> str:
    """Such as statistics/sack_on_loss_0.01%_seed-1.txt: a name that every file system takes."""
    words = [condition, *(f"{name}_{value}" for name, value in values.items()), f"seed-{seed}"]
    return f"statistics/{_FORBIDDEN.sub('-', '_'.join(words))}.txt"


def statistics(folder: Path, spec: Object, condition: str) -> str:
    """The text of one condition, whose files are in `folder`. What is missing is said in it."""
    problems = Problems()
    counters, qdiscs, evidence = (
        read_object(folder / name, problems, name)
        for name in ("counters.json", "qdiscs.json", "evidence.json")
    )
    flows = objects(spec, "flows")
    sender = text(flows[0], "sender")
    settings = _settings(evidence, sender, spec, condition)
    lines = [_segments(counters, "before", sender), *settings, *_shaped(qdiscs, "before")]
    lines += [
        line for flow in flows for line in _printed(folder / f"{text(flow, 'name')}.client.txt")
    ]
    lines += [
        *_shaped(qdiscs, "after"),
        _segments(counters, "after", sender),
        *_changed(counters, sender),
    ]
    return "\n".join([*lines, *problems.found]) + "\n"


def _segments(counters: Object, when: str, host: str) -> str:
    counts = inner(inner(counters, when), host)
    sent, again = (number(counts, name) or 0 for name in ("TcpOutSegs", "TcpRetransSegs"))
    return f"{sent:.0f} segments sent out {again:.0f} segments retransmitted"


def _settings(evidence: Object, host: str, spec: Object, condition: str) -> Iterator[str]:
    """What the condition sets, as it was read back."""
    values = inner(inner(evidence, "sysctls"), host)
    pairs = next(
        (
            entry.get("sysctls", ())
            for entry in objects(spec, "conditions")
            if entry.get("name") == condition
        ),
        (),
    )
    yield from (f"{name} = {text(values, name, 'not read back')}" for name, _ in pairs)


def _shaped(qdiscs: Object, when: str) -> Iterator[str]:
    """Each queueing discipline with what it has counted, nearly as `tc -s qdisc show` prints it."""
    ports = inner(qdiscs, when)
    for port in ports:
        for entry in objects(ports, port):
            words = (
                text(entry, "kind"),
                text(entry, "handle"),
                f"dev {port}",
                *_options(inner(entry, "options")),
            )
            yield " ".join(("qdisc", *words))
            sent = f" Sent {text(entry, 'bytes')} bytes {text(entry, 'packets')} pkt"
            yield f"{sent} (dropped {text(entry, 'drops')}, overlimits {text(entry, 'overlimits')})"


def _options(options: Object) -> Iterator[str]:
    """Names and values, one level deep; what is off or 0 is left out."""
    for name, value in options.items():
        if isinstance(value, dict):
            yield from _options(value)
        elif value:
            amount = number(options, name)
            yield (
                f"{name}"
                f" {_WRITTEN[name](amount) if name in _WRITTEN and amount else text(options, name)}"
            )


def _printed(file: Path) -> list[str]:
    if not untrusted.is_file(file.parent, file.name):
        return [f"{file.name} is missing"]
    return untrusted.text(file.parent, file.name).splitlines()


def _changed(counters: Object, host: str) -> Iterator[str]:
    """The sender's TCP counters that changed, each before and after."""
    yield f"Counters of {host} that changed, before and after:"
    before, after = inner(inner(counters, "before"), host), inner(inner(counters, "after"), host)
    for name in after:
        if name.startswith("Tcp") and after[name] != before.get(name):
            yield f"{name} {text(before, name, '0')} {text(after, name)}"
