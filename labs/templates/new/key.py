"""The key of a lab: the right answers, from the student's run."""

from labs.definition.key import Key, Variables
from labs.measuring.measures import Runs


def key(runs: Runs, variables: Variables) -> Key:
    """Return the answers, and the values that known mistakes lead to."""
    run = runs["first"]
    return Key(
        numbers={"rate": run("reno", "server.rate")},
        frames={"answer": run.frames("reno/h1-eth0", "syn_ack")},
        wrong_frames={"answer": {"request": run.frames("reno/h1-eth0", "syn")}},
    )


def lesson(runs: Runs) -> bool:
    """Return whether a run shows the claim: data arrived."""
    return runs["first"]("reno", "server.rate") > 0
