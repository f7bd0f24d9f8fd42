"""What happened to each sender, told by the kernel's samples and counters and by its packets."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from experiments.harness.play.played_columns import Frame
from topologies.foundation import untrusted

_OPEN, _DISORDER, _CWR, _RECOVERY, _LOSS = range(5)  # enum tcp_ca_state, include/uapi/linux/tcp.h
_HYSTART = ("TcpExtTCPHystartTrainDetect", "TcpExtTCPHystartDelayDetect")
_PROBED = "TcpExtTCPLossProbes"
_KB = 1000  # as on the graphs' axes


@dataclass(frozen=True)
class PlayEvent:
    """One event of flow number `flow` (from 0) at `time` (s), explained in a sentence."""

    time: float
    flow: int
    kind: str
    sentence: str


def events(samples: Frame, probes: Frame, folder: Path) -> list[PlayEvent]:
    """All events of a run, in order of time.

    `samples` are all of them; `probes` are the packets that were sent as tail loss probes;
    `folder` is the condition's, with counters.json.
    """
    grown = _grown(folder)
    flows = np.unique(samples.columns["flow"])
    found = [event for flow in flows for event in _of_flow(_only(samples, flow), int(flow), grown)]
    if grown.get(_PROBED, 0):
        found += [
            PlayEvent(float(time), int(flow), "tail loss probe", _PROBE)
            for time, flow in zip(probes.columns["time"], probes.columns["flow"], strict=True)
        ]
    return sorted(found, key=lambda event: event.time)


_PROBE = (
    "No ACK came for two round trips although data was on its way, so the last segment was sent"
    " again, as a tail loss probe (RFC 8985): its ACK tells what is missing without a time-out."
)


def _only(samples: Frame, flow: int) -> dict[str, Any]:
    rows = samples.columns["flow"] == flow
    return {name: column[rows] for name, column in samples.columns.items()}


def _of_flow(rows: dict[str, Any], flow: int, grown: dict[str, int]) -> Iterator[PlayEvent]:
    slow_start = np.isnan(rows["ssthresh"])
    state = rows["state"]
    left = False
    for at in range(1, len(state)):
        time = float(rows["time"][at])
        if not left and slow_start[at - 1] and not slow_start[at]:
            left = True
            yield PlayEvent(time, flow, "slow start left", _left(rows, at, grown))
        if state[at] != state[at - 1] and state[at] in _ENTERED:
            kind, sentence = _ENTERED[int(state[at])]
            window = (rows[name][at] / _KB for name in ("cwnd", "ssthresh"))
            yield PlayEvent(
                time, flow, kind, sentence.format(*(f"{amount:.3g}" for amount in window))
            )


_ENTERED = {
    _CWR: (
        "window reduced",
        "The receiver reported a mark of congestion (ECN, RFC 3168), or the host's own queue was"
        " full: the window shrinks although nothing was lost. It is {0} kB, on its way to {1}.",
    ),
    _RECOVERY: (
        "fast recovery",
        "ACKs showed that a segment is missing, so it is sent again at once (RFC 5681, RFC 6675)."
        " The window is {0} kB, and slow start would end at {1} kB.",
    ),
    _LOSS: (
        "time-out",
        "No ACK came until the retransmission timer ran out (RFC 6298). All that is on its way"
        " counts as lost: the window falls to {0} kB, and slow start goes up to {1} kB.",
    ),
}


def _left(rows: dict[str, Any], at: int, grown: dict[str, int]) -> str:
    window = f"at a window of {rows['cwnd'][at - 1] / _KB:.3g} kB"
    if rows["state"][at] in (_RECOVERY, _LOSS, _CWR, _DISORDER):
        return f"Slow start ended {window}: a loss or a mark showed that the path is full."
    if any(grown.get(name, 0) for name in _HYSTART):
        return (
            f"Slow start ended {window} before any loss: HyStart saw the round trip grow, or ACKs"
            " spread over it (the kernel's counter TCPHystartDelayDetect or TrainDetect grew)."
        )
    return f"Slow start ended {window}, by the congestion control's own judgement."


def _grown(folder: Path) -> dict[str, int]:
    """How much the counters of the sending host grew."""
    counters = json.loads(untrusted.content(folder, "counters.json"))
    before, after = (counters[when]["h1"] for when in ("before", "after"))
    return {name: value - before.get(name, 0) for name, value in after.items()}
