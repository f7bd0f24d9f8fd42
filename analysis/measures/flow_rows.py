"""The rows of one finished run: one for each condition and flow, from what iperf, the sockets and
the qdiscs said.

They are computed where the run was made and are all that a sweep keeps of it, so captures are
not read here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean, median, quantiles

from analysis.records import counters, iperf, socket_samples
from analysis.records.jsonfile import Object, inner, objects, read_object, text
from analysis.records.problems import Problems
from analysis.records.row_columns import METRICS, Row
from topologies import untrusted

Samples = Mapping[str, Mapping[str, Sequence[socket_samples.SocketSample]]]
"""The samples of sockets by the sending host and the receiver's port."""

# A sender may notice reordering by SACK or DSACK, without SACK by the number of duplicate ACKs, or
# by timestamps.
_ORDER = {
    "reorderings": ("TcpExtTCPSACKReorder", "TcpExtTCPRenoReorder", "TcpExtTCPTSReorder"),
    "out_of_order": ("TcpExtTCPOFOQueue",),
    "dsacks": ("TcpExtTCPDSACKRecv",),
}


def rows_of(raw: Path, spec: Object) -> list[Row]:
    """The rows of the run whose raw files are in `raw` (a `raw/seed-N`) and whose spec.json said
    `spec`.
    """
    names = [text(condition, "name") for condition in objects(spec, "conditions")]
    return [row for name in names for row in rows_of_condition(raw / name, spec, name)]


def rows_of_condition(
    folder: Path, spec: Object, condition: str, samples: Samples | None = None
) -> Iterator[Row]:
    """The rows of one condition, a row for each flow. Raises ValueError where a file of samples is
    broken.

    `samples` are those of every sender's sockets; without them the files in `folder` are read.
    """
    flows, problems = objects(spec, "flows"), Problems()
    if samples is None:
        samples = {
            sender: _samples(folder, sender) for sender in {text(flow, "sender") for flow in flows}
        }
    measured = [
        _flow(folder, flow) | _socket(samples[text(flow, "sender")].get(text(flow, "port"), []))
        for flow in flows
    ]
    of_run = _of_run(folder, [text(flow, "sender") for flow in flows], measured, problems)
    if (
        text(inner(spec, "topology"), "segmentation") == "on"
    ):  # netem counts packets of up to 64 KB, tc its segments
        of_run.pop("lost_percent", None)
    for flow, values in zip(flows, measured, strict=True):
        found = values | of_run
        yield {"condition": condition, "flow": text(flow, "name")} | {
            one.name: found.get(one.name) for one in METRICS
        }


def _samples(folder: Path, sender: str) -> dict[str, list[socket_samples.SocketSample]]:
    """What the sender's sockets looked like over time, by the receiver's port."""
    return socket_samples.by_port(
        untrusted.text_if_any(folder, f"{sender}.sockets.jsonl").splitlines()
    )


def _flow(folder: Path, flow: Object) -> dict[str, float]:
    """What iperf's server and client said of the flow."""
    name = text(flow, "name")
    server, client = (
        untrusted.text_if_any(folder, f"{name}.{side}.txt") for side in ("server", "client")
    )
    found: dict[str, float] = {}
    if summary := iperf.read_summary(server):
        found |= {
            "goodput_kbit_s": summary.rate,
            "transfer_kbyte": summary.transfer,
            "seconds": summary.seconds,
        }
    if datagrams := iperf.read_datagrams(server):
        found |= {"udp_lost_percent": datagrams.share, "udp_jitter_ms": datagrams.jitter}
    if sent := iperf.read_summary(iperf.sent_part(client)):
        found |= {"client_kbit_s": sent.rate, "client_seconds": sent.seconds}
    if seconds := [interval.rate for interval in iperf.read_intervals(client)]:
        found |= {"mean_second_kbit_s": fmean(seconds)}
        found |= {"slowest_second_kbit_s": min(seconds), "fastest_second_kbit_s": max(seconds)}
    return found


def _socket(samples: Sequence[socket_samples.SocketSample]) -> dict[str, float]:
    """Round-trip times and windows of samples that the connection had, and its totals in the last
    of them.
    """
    established = [sample for sample in samples if sample.rtt > 0]
    if not established or not established[-1].bytes_sent:
        return {}
    last, rtts = established[-1], [1000 * sample.rtt for sample in established]
    return {
        "retransmitted_percent": 100 * last.bytes_retrans / last.bytes_sent,
        "retransmitted_segments": last.segments_retrans,
        "rtt_median_ms": median(rtts),
        "rtt_p95_ms": quantiles(rtts, n=20)[-1] if len(rtts) > 1 else rtts[0],
        "cwnd_median_segments": median(sample.cwnd for sample in established),
    }


def _of_run(
    folder: Path, senders: list[str], flows: list[dict[str, float]], problems: Problems
) -> dict[str, float]:
    nstat = read_object(folder / "counters.json", problems, "counters.json")
    qdiscs = read_object(folder / "qdiscs.json", problems, "qdiscs.json")
    ports = [counters.port_loss(qdiscs, port) for port in inner(qdiscs, "after")]
    offered = sum(port.lost + port.dropped + port.passed for port in ports)
    rates = [flow["goodput_kbit_s"] for flow in flows if "goodput_kbit_s" in flow]
    grown = [counters.growth(nstat, host) for host in sorted(set(senders))]
    sent = sum(host.get("TcpOutSegs", 0.0) for host in grown)
    return {
        "timeouts": sum(host.get("TcpExtTCPTimeouts", 0.0) for host in grown),
        **(
            {"resent_percent": 100 * sum(host.get("TcpRetransSegs", 0.0) for host in grown) / sent}
            if sent
            else {}
        ),
        "queue_drops": sum(port.dropped for port in ports),
        **_reordering(folder, nstat, problems),
        **({"lost_percent": 100 * sum(port.lost for port in ports) / offered} if offered else {}),
        **({"total_goodput_kbit_s": sum(rates)} if len(rates) == len(flows) else {}),
        **({"jain_index": jain(rates)} if len(rates) == len(flows) and any(rates) else {}),
    }


def _reordering(folder: Path, nstat: Object, problems: Problems) -> dict[str, float]:
    """What TCP's counters of all hosts say of the order of segments, and what hosts that reorder
    dropped.
    """
    grown = [counters.growth(nstat, host) for host in inner(nstat, "after")]
    found = {
        metric: sum(host.get(name, 0.0) for host in grown for name in names)
        for metric, names in _ORDER.items()
    }
    if (folder / "reordering.json").exists():
        hosts = read_object(folder / "reordering.json", problems, "reordering.json")
        found["host_drops"] = sum(
            counters.host_drops(hosts, port) for port in inner(hosts, "after")
        )
    return found


_SHARED = {"goodput_kbit_s", "client_kbit_s", "transfer_kbyte"}


def value_of(rows: Iterable[Row], metric: str, flow: str = "") -> float | None:
    """A run's value: of one `flow`, or of those whose names begin so (`tcp*`), or of all where
    `flow` is empty.

    Rates and amounts add up; of what does not the mean is meant. None where one of the flows has
    no value.
    """
    prefix = flow.removesuffix("*")
    values = [row.get(metric) for row in rows if str(row["flow"]).startswith(prefix)]
    known = [float(value) for value in values if value is not None]
    if not known or len(known) < len(values):
        return None
    return sum(known) if metric in _SHARED else fmean(known)


def jain(rates: list[float]) -> float:
    """Jain's fairness index: 1 for equal rates, 1/n where one of n has all (Jain, Chiu, Hawe;
    DEC-TR-301, 1984).
    """
    return fmean(rates) ** 2 / fmean(rate**2 for rate in rates)
