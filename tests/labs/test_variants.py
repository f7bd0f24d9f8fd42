"""Variants of each lab, really run: the claim, the order of five kinds of students, evenness."""

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from labs.definition import catalogue
from labs.definition.forecast import read_rule, scored
from labs.instructor.lint import MOST_COPIED, MOST_GUESSED, MOST_READ
from labs.instructor.preview import run_variants, unanswered
from labs.measuring.measures import Runs
from testbed.host.packages import install_missing
from testbed.lab.kernel.recipe import KERNEL_TOOLS
from tests.labs.kinds_of_students import tried, unevenness

MOST_UNEVEN = 5.0
"""Percent of the points that a variant may give over another to the same kind of student."""

_TRIP = "(2 * delay + {} * 8 * 1514 / bw) * 1000 within 20%"
_SHAPED = "(1.5 / shape if shape < 1 else 0.65 * queue)"
RULES = {
    "first_look": {
        "trip_rule": ("2000 * (delay + 8 * 74 / bw) within 5%", "2000 * delay within 10%")
    },
    "ecn_and_red": {"trip_rule": (_TRIP.format("(queue / 6 + 4)"), _TRIP.format("queue"))},
    "bufferbloat_home": {"ping_rule": (_TRIP.format(_SHAPED), _TRIP.format("0.65 * queue"))},
}
"""Rules of forecasts: one that understands the network, and one that is wrong about it."""


READ_ALONE = {"first_look"}
"""Labs of which reading without a run earns a quarter at most."""
_SHORT = {"bufferbloat", "first_look", "own_congestion_control", "packet_loss", "unknown_capture"}
_NAMES = [
    pytest.param(name, marks=[] if name in _SHORT else [pytest.mark.long])
    for name in catalogue.names()
]


@pytest.mark.virtual
@pytest.mark.parametrize("name", _NAMES)
def test_variants_show_the_claim_and_are_even(
    name: str, tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    """One of each lab takes a minute or two; fifty, `--variants 50`, take hours."""
    install_missing(KERNEL_TOOLS if name == "own_congestion_control" else ())
    variants = pytestconfig.getoption("--variants")
    found = run_variants(catalogue.find(name), variants, tmp_path, workers=1)
    drawn = [runs.variant.values for runs in found.carried]
    wrong = [values for values, shown in zip(drawn, found.shown, strict=True) if not shown]
    assert wrong == [], "the claim does not hold"
    assert [
        (values, unanswered(each))
        for values, each in zip(drawn, found.markers, strict=True)
        if unanswered(each)
    ] == []
    assert found.copied <= MOST_COPIED and found.guessed <= MOST_GUESSED
    assert found.read <= MOST_READ or name not in READ_ALONE
    by_variant = [tried(marker) for marker in found.markers]
    assert [
        values for values, each in zip(drawn, by_variant, strict=True) if not each.in_order
    ] == []
    assert max(unevenness(by_variant).values()) <= MOST_UNEVEN
    for question, (reference, misled) in RULES.get(name, {}).items():
        results = found.markers[0].hidden[question]
        assert scored(read_rule(reference), results).share >= 0.6
        assert scored(read_rule(misled), results).share <= 0.1
    for carried in found.carried:
        WITNESSES.get(name, no_witness)(carried.key(found.lab).numbers, carried.runs)


def no_witness(_numbers: Mapping[str, float], _runs: Runs) -> None:
    """Leave a lab whose key reads the counters themselves."""


def sack_by_counters(_numbers: Mapping[str, float], runs: Runs) -> None:
    """Each frame is one that the kernel counted, which counts repeated SYNs as well.

    The key asks without SACK; with it a probe of a lone segment looks like a time-out.
    """
    run = runs["sack"]
    for condition, likes in (("sack_off", 0), ("sack_on", 2)):
        frames = run.frames(f"{condition}/h1-eth0", "timeout")
        repeated = len(run.frames(f"{condition}/h1-eth0", "syn")) - 1
        counted = run(condition, "nstat.TcpExtTCPTimeouts")
        assert 0 <= len(frames) + repeated - counted <= likes


def transport_by_counters(numbers: Mapping[str, float], runs: Runs) -> None:
    """Stop-and-wait takes a round trip for each piece and 200 ms for each datagram too many."""
    own, pieces = runs["simple"], 100
    sent = own("own", "nstat.UdpOutDatagrams")
    trip = 2 * own("own", "flow1.delay_p50_ms") / 1000
    seconds = 0.2 * (sent - pieces) + trip * pieces
    assert numbers["simple_rate"] == pytest.approx(8 * pieces / seconds, rel=0.08)


def contest_by_counters(numbers: Mapping[str, float], runs: Runs) -> None:
    """The kernel's new segments carry what CUBIC brings, and its datagrams the other rate."""
    run = runs["simple"]
    new = run("own", "nstat.TcpOutSegs") - run("own", "nstat.TcpRetransSegs")
    seconds = run("own", "beside.seconds")
    assert numbers["cubic_rate"] == pytest.approx(8 * 1.448 * new / seconds, rel=0.05)
    datagrams = run("own", "nstat.UdpOutDatagrams")
    assert numbers["simple_rate"] == pytest.approx(8 * 1.4 * datagrams / 20, rel=0.1)


def home_by_traces(numbers: Mapping[str, float], runs: Runs) -> None:
    """A ping and a call take what tcp_info and the captures say of uploads and datagrams."""
    for name in ("busy", "router"):
        ping, run = numbers[f"ping_{name}"], runs[name]
        assert ping == pytest.approx(run("home", "upload1.rtt_median_ms"), rel=0.1)
        assert run("home", "ping.delay_p50_ms") < ping < run("home", "ping.delay_p50_ms") + 40
    late, busy = numbers["late_busy"], runs["busy"]
    assert (late > 50) == (busy("home", "call.delay_p50_ms") > 150)
    assert (late > 5) == (busy("home", "call.delay_p95_ms") > 150)
    # A fetch opens a connection, asks and is answered: two round trips at least.
    assert numbers["web_busy"] > 1.9 * busy("home", "web.rtt_median_ms")


def marks_by_traces(numbers: Mapping[str, float], runs: Runs) -> None:
    """The queue's marks are the frames with CE that arrive; repeats are frames sent again."""
    marking, dropping = runs["marking"], runs["dropping"]
    assert len(marking.frames("as_set/h2-eth0", "ce")) == numbers["marks"]
    assert len(marking.frames("as_set/h2-eth0", "cwr")) == numbers["cuts"]
    assert len(dropping.frames("as_set/h1-eth0", "resent")) == numbers["repeated"]


def bbr_by_tcp_info(numbers: Mapping[str, float], runs: Runs) -> None:
    """The kernel's tcp_info confirms both rates, the wait, and whose packets wait.

    What BBR paces by is what was delivered, whatever is lost; the two senders see one queue.
    """
    deep = runs["deep"]
    for name, run in (("shallow", runs["shallow"]), ("middle", runs["middle"]), ("deep", deep)):
        cubic, bbr = (run("cubic", f"{flow}.ss.acked_kbit_s") for flow in ("flow1", "beside"))
        if name == "middle":
            assert numbers["middle_share"] == pytest.approx(100 * bbr / (cubic + bbr), abs=1)
        else:
            assert numbers[f"{name}_cubic"] == pytest.approx(cubic, rel=0.05)
            assert numbers[f"{name}_bbr"] == pytest.approx(bbr, rel=0.05)
        assert 0.9 * bbr < run("cubic", "beside.ss.pacing_kbit_s") < 1.5 * bbr
    assert numbers["trip"] == pytest.approx(deep("cubic", "beside.rtt_median_ms"), rel=0.1)
    cubic, bbr = (deep("cubic", f"{flow}.ss.unacked_segments") for flow in ("flow1", "beside"))
    assert numbers["waiting"] + numbers["fits"] == pytest.approx(cubic + bbr, rel=0.2)
    assert numbers["fits"] < bbr < cubic


WITNESSES: dict[str, Callable[[Mapping[str, float], Runs], None]] = {
    "sack": sack_by_counters,
    "reliable_transport": transport_by_counters,
    "congestion_contest": contest_by_counters,
    "bufferbloat_home": home_by_traces,
    "ecn_and_red": marks_by_traces,
    "bbr_and_cubic": bbr_by_tcp_info,
}
"""Other readings of the numbers of a key: counters of the kernel, or captures."""
