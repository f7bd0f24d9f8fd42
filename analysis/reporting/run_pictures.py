"""Which graphs a report has, from what was measured."""

from __future__ import annotations

import base64
from dataclasses import dataclass

from analysis.measures.run_results import RunResults
from analysis.measures.trial_measures import PAUSE


@dataclass(frozen=True)
class Picture:
    """A PNG under its file name, with the sentence that tells what to look for."""

    name: str
    title: str
    caption: str
    png: bytes

    @property
    def data_url(self) -> str:
        return "data:image/png;base64," + base64.b64encode(self.png).decode("ascii")


def pictures(results: RunResults) -> list[Picture]:
    """The graphs of the first seed, and where there are several seeds one of all."""
    drawn = (_time_sequence(results), _over_time(results), _repetitions(results))
    return [picture for picture in drawn if picture]


def _time_sequence(results: RunResults) -> Picture | None:
    from analysis.figures import (
        time_sequence,
    )  # matplotlib takes a third of a second, and bad input ends earlier
    from analysis.reporting import packet_graphs

    drawn = [(one.trial.condition.label, packet_graphs.drawn(one)[0]) for one in results.first]
    shown = [(label, sequence) for label, sequence in drawn if sequence and len(sequence.data)]
    if not shown:
        return None
    caption = (
        f"Seed {results.first[0].trial.seed}, at the sender. Steeper is faster; flat is waiting."
        " Each mark is one segment at the bytes that it carries. A green step up is an ACK: what"
        " lies below it has arrived. Letters and colours are those of tcptrace -S."
    )
    return Picture(
        "time_sequence.png", "What was sent, and when", caption, time_sequence.draw(shown, PAUSE)
    )


def _over_time(results: RunResults) -> Picture | None:
    from analysis.figures import over_time
    from analysis.reporting import packet_graphs

    link = results.link_rate
    drawn = [(one, *packet_graphs.drawn(one)) for one in results.first]
    courses = [
        over_time.ConditionCourse(one.trial.condition.label, sequence, rtts, one.samples, link)
        for one, sequence, rtts in drawn
        if sequence or one.samples
    ]
    if not courses:
        return None
    caption = (
        f"Seed {results.first[0].trial.seed}, at the sender. Throughput counts newly acknowledged"
        " bytes (from the capture). Round-trip times are samples of segments that were sent once"
        " (RFC 6298, section 3). The congestion window and the slow-start threshold are the"
        " socket's own, sampled like ss -ti."
    )
    return Picture(
        "over_time.png",
        "Throughput, round-trip time and congestion window",
        caption,
        over_time.draw(courses),
    )


def _repetitions(results: RunResults) -> Picture | None:
    from analysis.figures import repetitions

    conditions = results.run.conditions
    compared = (
        ("Throughput", "kbit/s", "server.rate"),
        ("Time-outs", "TcpExtTCPTimeouts", "nstat.TcpExtTCPTimeouts"),
    )
    rows = [
        repetitions.RepeatedQuantity(title, unit, results.pairs(key, conditions))
        for title, unit, key in compared
    ]
    enough = [row for row in rows if len(row.pairs) > 1]
    if not enough:
        return None
    caption = (
        "One line per seed joins what the conditions gave under that seed. The thick mark is the"
        " median."
    )
    png = repetitions.draw([condition.label for condition in conditions], enough)
    return Picture("repetitions.png", "All repetitions", caption, png)
