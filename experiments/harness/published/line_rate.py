"""Published numbers that any network gives whose link is full, whatever TCP does."""

from __future__ import annotations

from analysis.statistics.published import TOLERANCE
from experiments.harness.published.target import Target
from experiments.spec import ExperimentSpec, Flow

_FULL = 1 - TOLERANCE
"""Share of the link's payload rate from which a full link agrees with the published number."""
_UNITS = {"Mbit/s": 1e6, "kbit/s": 1e3}
_FRAME_HEADER, _HEADERS = 14, 52  # bytes of Ethernet; of IP and TCP with timestamps


def at_line_rate(target: Target, spec: ExperimentSpec) -> bool:
    """Return whether the published number is the rate of the link, or of the sender's datagrams.

    A time counts by the amount that a flow sends in it. One of several flows never counts.
    """
    prefix = target.flow.removesuffix("*")  # as analysis.measures.results.value_of takes it
    flows = [flow for flow in spec.flows if flow.name.startswith(prefix)]
    rate = _published_rate(target, flows)
    return bool(rate) and rate >= _FULL * min(_highest(spec, flow) for flow in flows)


def _published_rate(target: Target, flows: list[Flow]) -> float:
    """Return bits of payload a second; 0 for what is no rate of all these flows."""
    if not target.published or target.among or target.listed:
        return 0.0
    if target.unit == "s" and len(flows) == 1 and flows[0].amount:
        return 8 * flows[0].amount.base / target.published
    return target.published * _UNITS.get(target.unit, 0.0)


def _highest(spec: ExperimentSpec, flow: Flow) -> float:
    """Return the payload rate of the slowest link, or the rate at which a sender of UDP sends."""
    if flow.rate:
        return float(flow.rate.base)
    ports = spec.topology.path(flow.sender, flow.receiver)
    rates = [port.channel.bandwidth.base for port in ports if port.channel]
    mtu = spec.topology.mtu.base
    return min(rates) * (mtu - _HEADERS) / (mtu + _FRAME_HEADER)
