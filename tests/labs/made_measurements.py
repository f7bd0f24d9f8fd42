"""Made-up measurements of every lab that show its claim, and changes that contradict it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from labs.measuring.measures import MeasuredRun

Place = tuple[str, str, str]
"""Run, condition, and the name of what was measured."""


@dataclass(frozen=True)
class MadeLab:
    """`shown` shows the claim; each of `contradictions` is a change that does not.

    `right` are options that the key must tick in any runs that show the claim, `wrong` those
    that it must not.
    """

    shown: Mapping[Place, float]
    contradictions: tuple[Mapping[Place, float], ...]
    right: Mapping[str, set[str]] = field(default_factory=dict)
    wrong: Mapping[str, set[str]] = field(default_factory=dict)


def runs_of(values: Mapping[Place, float]) -> dict[str, MeasuredRun]:
    """The measurements as runs of one seed."""
    runs: dict[str, dict[str, dict[str, float]]] = {}
    for (run, condition, name), value in values.items():
        measured_values = runs.setdefault(run, {}).setdefault(condition, {})
        measured_values[name] = value
        flow, _, metric = name.rpartition(".")
        if metric in ("goodput_kbit_s", "rate"):  # of 10 s
            amount = f"{flow.replace('server', 'flow1')}.transfer_kbyte"
            measured_values[amount] = value * 1250 / 1024
    return {run: MeasuredRun((conditions,)) for run, conditions in runs.items()}


def measured(run: str, condition: str, **values: float) -> dict[Place, float]:
    """Measurements of a condition; a double underscore stands for the point in their names."""
    return {(run, condition, name.replace("__", ".")): value for name, value in values.items()}


RATE, WINDOW = "flow1.goodput_kbit_s", "flow1.cwnd_median_segments"
TIMEOUTS, RESENT = "nstat.TcpExtTCPTimeouts", "nstat.TcpRetransSegs"
_BESIDE = "beside.goodput_kbit_s"
_UDP, _SECONDS = "udp.goodput_kbit_s", "flow1.client_seconds"


def _sack_condition(condition: str, rate: float, timeouts: float) -> dict[Place, float]:
    counts = {("sack", condition, TIMEOUTS): timeouts, ("sack", condition, RESENT): 300.0}
    return counts | measured(
        "sack",
        condition,
        server__rate=rate,
        sender__rexmt_data_bytes=4e5,
        sender__actual_data_bytes=5e6,
        sender__unique_bytes_sent=4.6e6,
        receiver__rexmt_data_bytes=1e4,
        receiver__actual_data_bytes=4.7e6,
        receiver__rexmt_data_pkts=60.0,
        pauses__total=20.0,
        pauses__count=30.0,
        pauses__longest=2.0,
    )


def _loss_condition(run: str, condition: str, rate: float, resent: float) -> dict[Place, float]:
    return measured(
        run,
        condition,
        flow1__goodput_kbit_s=rate,
        run__resent_percent=100 * resent / (100 + resent),
        run__resent_of_new_percent=resent,
        flow1__slowest_second_kbit_s=rate / 2,
        flow1__client_kbit_s=rate,
    )


def _one_flow(run: str, condition: str, rate: float) -> dict[Place, float]:
    return measured(
        run,
        condition,
        flow1__goodput_kbit_s=rate,
        flow1__rtt_median_ms=200.0,
        flow1__cwnd_median_segments=100.0,
    )


def _both(run: str, cubic: float, bbr: float) -> dict[Place, float]:
    return measured(
        run,
        "cubic",
        flow1__goodput_kbit_s=cubic,
        beside__goodput_kbit_s=bbr,
        flow1__rtt_median_ms=470.0,
    )


def _beside_udp(run: str, udp: float, tcp: float, lost: float) -> dict[Place, float]:
    return measured(
        run,
        "together",
        udp__goodput_kbit_s=udp,
        tcp1__goodput_kbit_s=tcp,
        tcp2__goodput_kbit_s=tcp,
        tcp3__goodput_kbit_s=tcp,
        udp__udp_lost_percent=lost,
    )


def _transfer(run: str, seconds: float, lost: float) -> dict[Place, float]:
    return measured(run, "dropping", flow1__client_seconds=seconds, run__lost_percent=lost)


def _queue(run: str, trip: float, total: float) -> dict[Place, float]:
    return measured(
        run,
        "together",
        tcp1__rtt_median_ms=trip,
        tcp1__goodput_kbit_s=total - 300,
        udp__goodput_kbit_s=300.0,
    )


def _marked(run: str, repeated: float, marks: float, total: float) -> dict[Place, float]:
    counts = {(run, "as_set", RESENT): repeated, (run, "as_set", "run.marks"): marks}
    frames = {"h2-eth0.ce": (90,), "h1-eth0.ece": (95, 96, 97, 98), "h1-eth0.cwr": (99,)}
    named = {
        (run, "as_set", f"frame.{event}.{number}"): number / 100
        for event, numbers in ({"h1-eth0.syn": (1,)} | frames).items()
        for number in numbers
    }
    rates = {"flow1__rtt_median_ms": 80.0, "run__total_goodput_kbit_s": total}
    return counts | named | measured(run, "as_set", **rates)


def _home(run: str, ping: float, late: float) -> dict[Place, float]:
    return measured(
        run, "home", ping__exchange_p50_ms=ping, web__exchange_p50_ms=900.0, call__late_percent=late
    )


def _varied_delay() -> dict[Place, float]:
    counts = measured("varied", "cubic", path__lost=0.0, path__dropped=0.0, run__reorderings=900.0)
    rates = {"steady": 94e3, "varied": 1200.0, "counting": 1e4, "patient": 5e4}
    values = {(run, "cubic", RATE): rate for run, rate in rates.items()}
    return values | counts | {("varied", "cubic", RESENT): 360.0}


LABS = {
    "sack": MadeLab(
        _sack_condition("sack_off", 427.0, 54.0) | _sack_condition("sack_on", 539.0, 10.0),
        ({("sack", "sack_on", TIMEOUTS): 28.0}, {("sack", "sack_off", TIMEOUTS): 5.0}),
        right={"blocks": {"fewer_timeouts"}},
        wrong={"blocks": {"no_loss"}},
    ),
    "retransmission": MadeLab(
        _loss_condition("some", "sack_on", 117e3, 1.4)
        | _loss_condition("some", "sack_off", 58e3, 9.0)
        | _loss_condition("rare", "sack_on", 143e3, 0.01)
        | _loss_condition("rare", "sack_off", 143e3, 0.02),
        (
            {("some", "sack_on", RATE): 57e3},
            {("some", "sack_on", "run.resent_of_new_percent"): 9.5},
        ),
        right={"compare": {"sack_helps"}},
        wrong={"compare": {"more_repeats_on"}},
    ),
    "congestion_control": MadeLab(
        _one_flow("near", "cubic", 47.8e3)
        | _one_flow("near", "reno", 47.8e3)
        | _one_flow("far", "cubic", 22.8e3)
        | _one_flow("far", "reno", 8.1e3),
        (
            {("far", "cubic", RATE): 8e3},
            {("near", "reno", RATE): 40e3},
            {("near", "cubic", RATE): 40e3},
        ),
        right={"what_limits": {"growth"}},
    ),
    "fairness": MadeLab(
        _beside_udp("fifo", 23.7e3, 7e3, 0.1) | _beside_udp("fair", 8.8e3, 8.7e3, 62.0),
        (
            {("fifo", "together", "udp.udp_lost_percent"): 40.0},
            {("fair", "together", _UDP): 23.7e3},
            {("fair", "together", _UDP): 15e3},
            {("fifo", "together", _UDP): 8e3},
        ),
        right={"who": {"router"}},
        wrong={"who": {"sender", "tcp"}},
    ),
    "reordering": MadeLab(
        _varied_delay(),
        (
            {("varied", "cubic", "path.lost"): 350.0},
            {("varied", "cubic", "path.dropped"): 1.0},
            {("varied", "cubic", RESENT): 0.0},
            {("varied", "cubic", "run.reorderings"): 0.0},
            {("varied", "cubic", RATE): 95e3},
        ),
        right={"needless": {"copies"}},
        wrong={"needless": {"repairs"}},
    ),
    "reliable_transport": MadeLab(
        {("simple", "own", RATE): 90.0, ("own", "own", RATE): 3e3},
        ({("simple", "own", RATE): 900.0},),
    ),
    "congestion_contest": MadeLab(
        {("simple", "own", RATE): 120.0, ("simple", "own", _BESIDE): 4700.0},
        ({("simple", "own", RATE): 2000.0},),
    ),
    "own_congestion_control": MadeLab(
        _one_flow("lossy", "reno", 8e3)
        | _one_flow("lossy", "mine", 11e3)
        | {("crowd", "reno", RESENT): 900.0, ("crowd", "mine", RESENT): 2500.0},
        ({("lossy", "mine", RATE): 7.9e3},),
    ),
    "packet_loss": MadeLab(
        _transfer("none", 2.5, 0.0) | _transfer("few", 20.0, 0.9) | _transfer("many", 60.0, 3.4),
        ({("few", "dropping", _SECONDS): 5.0}, {("many", "dropping", _SECONDS): 19.0}),
        right={"no_ack_lost": {"back"}},
        wrong={"no_ack_lost": {"resent", "server"}},
    ),
    "bufferbloat": MadeLab(
        _queue("long", 480.0, 9500.0) | _queue("managed", 32.0, 9400.0),
        (
            {("managed", "together", "tcp1.rtt_median_ms"): 300.0},
            {("managed", "together", "tcp1.goodput_kbit_s"): 5000.0},
        ),
        right={"which_record": {"least"}, "who_suffers": {"call"}},
    ),
    "bufferbloat_home": MadeLab(
        _home("busy", 500.0, 95.0) | _home("router", 510.0, 96.0),
        (
            {("busy", "home", "call.late_percent"): 5.0},
            {("router", "home", "ping.exchange_p50_ms"): 40.0},
        ),
        right={"where": {"modem"}},
        wrong={"where": {"router", "server"}},
    ),
    "ecn_and_red": MadeLab(
        _marked("dropping", 50.0, 0.0, 5700.0) | _marked("marking", 1.0, 45.0, 5720.0),
        (
            {("marking", "as_set", RESENT): 49.0},
            {("marking", "as_set", "run.marks"): 0.0},
            {("marking", "as_set", "run.total_goodput_kbit_s"): 4000.0},
        ),
        right={"who_marks": {"router"}},
        wrong={"who_marks": {"sender", "receiver"}},
    ),
    "bbr_and_cubic": MadeLab(
        _both("shallow", 400.0, 9e3) | _both("middle", 2e3, 7.5e3) | _both("deep", 7e3, 2.5e3),
        ({("deep", "cubic", _BESIDE): 8e3}, {("shallow", "cubic", _BESIDE): 500.0}),
        right={"sign": {"rate"}},
        wrong={"crossing": {"never", "before"}},
    ),
    "unknown_capture": MadeLab(
        {
            ("unknown", "cubic", RATE): 900.0,
            ("unknown", "cubic", "frame.right-eth0.syn.1"): 0.01,
            ("unknown", "cubic", "frame.right-eth0.syn_ack.2"): 0.2,
            ("unknown", "cubic", "frame.right-eth0.resent.90"): 2.0,
        },
        (),
        wrong={"faults": {"none"}},
    ),
    "first_look": MadeLab(
        {
            ("first", "reno", "server.rate"): 3e3,
            ("first", "reno", "frame.h1-eth0.syn.1"): 0.01,
            ("first", "reno", "frame.h1-eth0.syn_ack.2"): 0.2,
            ("first", "reno", "frame.h2-eth0.syn.1"): 0.0,
            ("first", "reno", "frame.h2-eth0.syn_ack.2"): 0.001,
        },
        (
            {("first", "reno", "server.rate"): 0.0},
            {("first", "reno", "frame.h2-eth0.syn_ack.2"): 0.15},
        ),
        right={"whose_capture": {"at_once"}},
    ),
}
