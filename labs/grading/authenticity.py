"""Whether captures agree with others of the same run, and with its own witnesses.

experiments.harness.running.verify compares them byte for byte. All of this runs in a
process of its own (labs.measuring.contained): one of the two captures is a stranger's.
"""

from __future__ import annotations

from pathlib import Path

from experiments.harness.running.verify import content_if_any, packets
from topologies.foundation import untrusted

_FEW = 5.0  # bytes or packets by which counts may differ in any case
_WITNESSES = (
    ("bytes that its socket counted", "ss.bytes_sent", "sender.actual_data_bytes", 0.02),
    (
        "packets that tcpdump counted at the sender",
        "tcpdump.sender",
        "sender.both.total_packets",
        0.01,
    ),
    (
        "packets that tcpdump counted at the receiver",
        "tcpdump.receiver",
        "receiver.both.total_packets",
        0.01,
    ),
    (
        "retransmissions by the kernel's counter",
        "nstat.TcpRetransSegs",
        "sender.rexmt_data_pkts",
        0.02,
    ),
)
"""What is counted, the witness's count, that of the capture, and how far they may differ."""


def shared_packets(reference: str, handed_in: str, names: list[str]) -> dict[str, float]:
    """For each capture among `names`: the share of its packets that the reference has at any time.

    Two runs in real time share next to none: sequence numbers and timestamps begin at chance (RFC
    6528, RFC 7323).
    """
    shares = {}
    for name in names:
        given = [packet for _, packet in packets(content_if_any(handed_in, name) or b"")]
        reference_content = untrusted.content(Path(reference), name)
        expected = {packet for _, packet in packets(reference_content)}
        shares[name] = sum(packet in expected for packet in given) / len(given) if given else 0.0
    return shares


def inconsistencies(values: dict[str, dict[str, float]]) -> list[str]:
    """Sentences about how a run's own witnesses contradict its captures.

    They judge runs that cannot be repeated. The sender's socket counts every byte of data that it
    sent (tcp_info, tcpi_bytes_sent) and tcpdump every packet that it wrote. The last sample of the
    socket may be a little older than the end.
    """
    sentences = []
    for condition, measured in values.items():
        for claim, counter, capture_key, slack in _WITNESSES:
            count, captured = measured.get(counter), measured.get(capture_key)
            if count is None or captured is None:
                continue
            if abs(count - captured) > max(_FEW, slack * max(count, captured)):
                difference = f"{captured:,.0f} in the capture, and {count:,.0f} {claim}"
                sentences.append(f"{condition}: {difference}")
    return sentences
