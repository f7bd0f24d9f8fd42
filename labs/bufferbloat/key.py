"""The key of the lab about bufferbloat: round trips and rates of a long and an active queue."""

from labs.definition.key import Key, Variables, calculated, factor_of, full_packets, packets_waiting
from labs.measuring.measures import MeasuredRun, Runs

TOGETHER, TRIP = "together", "tcp1.rtt_median_ms"


DERIVED = {
    "factor": factor_of("trip_long", "trip_managed"),
    "packets_waiting": packets_waiting("trip_long", "long."),
}


def key(runs: Runs, variables: Variables) -> Key:
    """Return the answers, and the values that known mistakes lead to."""
    long, managed = runs["long"], runs["managed"]
    numbers = {
        "trip_long": long(TOGETHER, TRIP),
        "trip_managed": managed(TOGETHER, TRIP),
        "total_long": sum(long.rates(TOGETHER)),
        "total_managed": sum(managed.rates(TOGETHER)),
    }
    numbers = calculated(DERIVED, numbers, variables)
    return Key(
        numbers=numbers,
        choices={"which_record": {"least"}, "who_suffers": {"call"}},
        mistakes={
            "trip_managed": {"other_run": numbers["trip_long"]},
            "total_long": {"tcp_only": _downloads(long)},
            "total_managed": {"tcp_only": _downloads(managed)},
            "factor": {"upside_down": 1 / numbers["factor"]},
            "packets_waiting": {"whole": full_packets(numbers["trip_long"], variables["long.bw"])},
        },
        frames={"peak_line": long.frames(f"{TOGETHER}/right.sockets", "peak")},
        measured={"queue": _bounds(runs["yours"], variables)} if "yours" in runs else {},
    )


def _downloads(run: MeasuredRun) -> float:
    return sum(run.rates(TOGETHER)) - run(TOGETHER, "udp.goodput_kbit_s")


def _bounds(run: MeasuredRun, variables: Variables) -> dict[str, float]:
    link = variables["yours.bw"].base / 1000  # kbit/s
    return {
        "trip": run(TOGETHER, TRIP),
        "rate": 100 * sum(run.rates(TOGETHER)) / link,
        "lost": run(TOGETHER, "udp.udp_lost_percent"),
    }


def lesson(runs: Runs) -> bool:
    """The active queue cuts the round trip to a third or less, and costs a tenth at most."""
    long, managed = runs["long"], runs["managed"]
    shorter = managed(TOGETHER, TRIP) < long(TOGETHER, TRIP) / 3
    return shorter and sum(managed.rates(TOGETHER)) > 0.9 * sum(long.rates(TOGETHER))
