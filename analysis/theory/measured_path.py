"""Values of a run that laws need: its path by its parameters, and the samples of its senders."""

from collections.abc import Sequence
from itertools import pairwise

from analysis.measures.results import Measured, RunResults
from analysis.records.socket_samples import SocketSample
from analysis.theory.window_laws import FilledPath
from topologies.foundation.units import Duration, Packets, Rate

PAYLOAD = 1448
"""Bytes of data in a full segment: 1500 of IP less 20, 20 of TCP and 12 of its time stamps."""
FRAME, ACK_FRAME = 1514, 66
"""Bytes that a full segment and a lone ACK take on the link: IP's and 14 of Ethernet."""


def path_of(results: RunResults) -> FilledPath:
    """The path that the run's parameters bw, delay and queue ask for, in full segments.

    The round trip without a queue is two delays, a segment and its ACK on the line. Raises
    UsageError if the run has no such parameter.
    """
    given = results.run.parameters
    rate = Rate.parse(given.get("bw", "")).base
    delay = Duration.parse(given.get("delay", "")).seconds
    queue = Packets.parse(given.get("queue", "")).base
    trip = 2 * delay + 8 * (FRAME + ACK_FRAME) / rate
    return FilledPath(trip, 8 * FRAME / rate, queue)


def payload_rate(path: FilledPath) -> float:
    """The bytes of data a second that a full link carries."""
    return PAYLOAD / path.serialization


def samples_of(measured: Measured, flow: int = 0) -> Sequence[SocketSample]:
    """The samples of a flow's sender, once its first round trip is known; empty if none is kept.

    Raises ValueError for a broken file.
    """
    of_flow = measured.flows[flow]
    kept = of_flow.samples
    if not kept:
        of_host = measured.trial.files.samples(of_flow.flow.sender)
        kept = tuple(of_host.get(str(of_flow.flow.port), ()))
    return [sample for sample in kept if sample.rtt > 0]


def loss_times(samples: Sequence[SocketSample], apart: float) -> list[float]:
    """Return the times at which the sender began a retransmission, in the clock of the samples.

    Retransmissions that follow each other within `apart` seconds belong to one loss.
    """
    times = [
        after.time
        for before, after in pairwise(samples)
        if after.segments_retrans > before.segments_retrans
    ]
    return [time for at, time in enumerate(times) if not at or time - times[at - 1] > apart]
