"""The key of the first lab: a rate, and the first round trip of a connection."""

from labs.definition.key import Key, Numbers, Variables, change_effect, rate_mistakes
from labs.measuring.measures import MeasuredRun, Runs

RENO, CAPTURE = "reno", "reno/h1-eth0"


def on_the_way(answers: Numbers, _: Variables) -> float:
    """kB that pass in a round trip; the rate is in kbit/s, the round trip in ms."""
    return answers["rate"] * answers["trip"] / 8000


DERIVED = {"on_the_way": on_the_way}


def first_trip(run: MeasuredRun, capture: str = CAPTURE) -> float:
    """ms from the request to open the connection to its answer, as a capture has them."""
    request, answer = (run.frames(capture, event) for event in ("syn", "syn_ack"))
    return 1000 * (min(answer.values()) - min(request.values()))


def key(runs: Runs, variables: Variables) -> Key:
    """Return the answers, and the values that known mistakes lead to."""
    run = runs["first"]
    trip = first_trip(run)
    numbers = {"rate": run(RENO, "server.rate"), "trip": trip}
    return Key(
        numbers={**numbers, "on_the_way": on_the_way(numbers, variables)},
        choices={"whose_capture": {"at_once"}, **change_effect(runs, "first", first_trip)},
        mistakes={
            "rate": rate_mistakes(run, RENO, variables["bw"]),
            "trip": {"one_way": variables["delay"].base / 1e6},
            "on_the_way": {"bits": 8 * on_the_way(numbers, variables)},
        },
        frames={"answer_frame": run.frames(CAPTURE, "syn_ack")},
        wrong_frames={"answer_frame": {"request": run.frames(CAPTURE, "syn")}},
        measured={"change": {}} if "changed" in runs else {},
    )


def lesson(runs: Runs) -> bool:
    """Data arrived, and the host that answers sees less than a tenth of the round trip."""
    run = runs["first"]
    at_receiver = first_trip(run, f"{RENO}/h2-eth0")
    return run(RENO, "server.rate") > 0 and at_receiver < first_trip(run) / 10
