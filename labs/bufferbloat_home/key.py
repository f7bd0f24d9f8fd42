"""The key of the lab about bufferbloat at home: what applications feel of an upload."""

from labs.definition.key import Key, Variables, calculated, full_packets, packets_waiting
from labs.measuring.measures import MeasuredRun, Runs

HOME, PING = "home", "ping.exchange_p50_ms"
WEB, LATE = "web.exchange_p50_ms", "call.late_percent"
UPLOADS = tuple(f"upload{number}.goodput_kbit_s" for number in range(1, 5))


DERIVED = {"packets_waiting": packets_waiting("ping_busy")}


def key(runs: Runs, variables: Variables) -> Key:
    """Return the answers, and the values that known mistakes lead to."""
    busy = runs["busy"]
    numbers = {
        "ping_busy": busy(HOME, PING),
        "late_busy": busy(HOME, LATE),
        "web_busy": busy(HOME, WEB),
        "ping_router": runs["router"](HOME, PING),
    }
    numbers = calculated(DERIVED, numbers, variables)
    whole = full_packets(numbers["ping_busy"], variables["bw"])
    return Key(
        numbers=numbers,
        choices={"where": {"modem"}},
        mistakes={"packets_waiting": {"whole": whole}},
        measured={"home": _bounds(runs["yours"], variables)} if "yours" in runs else {},
    )


def _bounds(run: MeasuredRun, variables: Variables) -> dict[str, float]:
    link = variables["yours.bw"].base / 1000  # kbit/s
    return {
        "ping": run(HOME, PING),
        "late": run(HOME, LATE),
        "web": run(HOME, WEB),
        "upload": 100 * sum(run(HOME, each) for each in UPLOADS) / link,
    }


def lesson(runs: Runs) -> bool:
    """The call is unusable next to uploads; a good queue in the wrong place changes little."""
    busy, router = runs["busy"], runs["router"]
    return busy(HOME, LATE) > 30 and router(HOME, PING) > busy(HOME, PING) / 2
