"""The key of the lab about ECN and RED: marks, their reports, and the answers of senders."""

from labs.definition.key import Key, Variables, calculated, first, full_packets, packets_waiting
from labs.measuring.measures import MeasuredRun, Runs

ALL, TRIP, TOTAL = "as_set", "flow1.rtt_median_ms", "run.total_goodput_kbit_s"
REPEATED, MARKS = "nstat.TcpRetransSegs", "run.marks"
SENDER, RECEIVER = f"{ALL}/h1-eth0", f"{ALL}/h2-eth0"


DERIVED = {"packets_waiting": packets_waiting("trip")}


def key(runs: Runs, variables: Variables) -> Key:
    """Return the answers, and the values that known mistakes lead to."""
    marking = runs["marking"]
    reports, cuts, opens = (marking.frames(SENDER, event) for event in ("ece", "cwr", "syn"))
    numbers = {
        "repeated": runs["dropping"](ALL, REPEATED),
        "marks": marking(ALL, MARKS),
        "cuts": float(len(cuts)),
        "trip": marking(ALL, TRIP),
    }
    numbers = calculated(DERIVED, numbers, variables)
    whole = full_packets(numbers["trip"], variables["bw"])
    return Key(
        numbers=numbers,
        choices={"who_marks": {"router"}},
        mistakes={
            "cuts": {"reports": float(len(reports))},
            "packets_waiting": {"whole": whole},
        },
        frames={"mark": first(marking.frames(RECEIVER, "ce")), "report": first(reports)},
        wrong_frames={"report": {"syn": opens}},
        measured={"queue": _bounds(runs["yours"], variables)} if "yours" in runs else {},
    )


def _bounds(run: MeasuredRun, variables: Variables) -> dict[str, float]:
    link = variables["yours.bw"].base / 1000  # kbit/s
    return {
        "wait": run(ALL, TRIP) - 2 * variables["yours.delay"].base / 1e6,
        "rate": 100 * run(ALL, TOTAL) / link,
        "repeated": run(ALL, REPEATED),
    }


def lesson(runs: Runs) -> bool:
    """Marks take the place of repeats, at nearly the same rate."""
    dropping, marking = runs["dropping"], runs["marking"]
    fewer = marking(ALL, REPEATED) < dropping(ALL, REPEATED) / 4
    return fewer and marking(ALL, MARKS) > 0 and marking(ALL, TOTAL) > 0.9 * dropping(ALL, TOTAL)
