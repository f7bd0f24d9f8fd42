"""Captures by chance: connections that do what TCP does and what it must not do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

from hypothesis import strategies as st

from tests.analysis.captures import MSS, MadeCapture, MadeEnd
from tests.analysis.frames import ACK, CWR, ECE

Step = tuple[int, int, int, int, int]
"""Connection, end, action, amount, and pause before it: small, so that a failure shrinks well."""
Action = Callable[[MadeEnd, float, int], object]
PAUSES = (0.00001, 0.001, 0.01, 0.04, 0.25, 1.0, 70.0, 250.0)


def _again(end: MadeEnd, at: float, amount: int) -> None:
    end.send(at, 1 + amount % 3000, seq=1 + amount * 7 % max(end.next, 1))


def _whole(end: MadeEnd, at: float, _amount: int) -> None:
    _acknowledge(end, at, end.peer.next)


def _onward(end: MadeEnd, at: float, amount: int) -> None:
    """An ACK of some segments, and a block of all that was sent above the next one."""
    first = max(end.acknowledged, 1)
    open_segments = (end.peer.next - first) // MSS
    whole = first + amount % (open_segments + 1) * MSS
    blocks = [(whole + MSS, end.peer.next)] if whole + MSS < end.peer.next and end.flow.sack else []
    _acknowledge(end, at, whole, blocks)


def _reported(end: MadeEnd, at: float, amount: int) -> None:
    """A duplicate of a segment that was acknowledged."""
    count = (end.acknowledged - 1) // MSS
    left = 1 + amount % max(count, 1) * MSS
    _acknowledge(
        end, at, end.acknowledged, [(left, left + MSS)] if count > 0 and end.flow.sack else []
    )


def _acknowledge(
    end: MadeEnd, at: float, whole: int, blocks: Sequence[tuple[int, int]] = ()
) -> None:
    end.acknowledged = max(whole, 1)
    end.ack(at, to=end.acknowledged, sacks=blocks)


def _repeated(end: MadeEnd, at: float, amount: int) -> None:
    """A segment that is not acknowledged, again."""
    first = max(end.peer.acknowledged, 1)
    if first < end.next:
        end.send(at, seq=first + amount % ((end.next - first) // MSS) * MSS)


def _kept_alive(end: MadeEnd, at: float, _amount: int) -> None:
    if end.peer.acknowledged == end.next > 1:
        end.segment(at, end.next - 1, 0, ACK)


def _part(end: MadeEnd, at: float, amount: int) -> None:
    end.ack(at, to=end.peer.next * (amount % 11) // 10)


def _sack(end: MadeEnd, at: float, amount: int) -> None:
    whole, blocks = end.peer.next * (amount % 7) // 10, []
    for number in range(1 + amount % 3):  # four do not fit beside timestamps
        left = whole + 1 + (amount * 31 + number * 977) % max(end.peer.next - whole, 1)
        blocks.append((left, left + 1 + amount % 2000))
    end.ack(at, to=whole, sacks=blocks)


def _duplicate(end: MadeEnd, at: float, amount: int) -> None:
    left = amount % max(end.peer.next, 1)
    end.ack(at, sacks=[(left, left + MSS)])


def _unseen(end: MadeEnd, at: float, amount: int) -> None:
    end.next += amount
    end.ack(at)


def _marked(end: MadeEnd, at: float, amount: int) -> None:
    end.segment(at, end.next, amount % 100, ACK | (ECE, CWR)[amount % 2], ecn=amount % 4)
    end.next += amount % 100


ACTIONS: tuple[Action, ...] = (
    lambda end, at, amount: end.send(at, 1 + amount % 1460),
    lambda end, at, _amount: end.send(at, MSS),
    lambda end, at, amount: end.send(at, amount * 90),
    lambda end, at, _amount: end.ack(at),
    lambda end, at, amount: end.ack(at, window=amount % 3),
    _again,
    _part,
    _sack,
    _duplicate,
    _unseen,
    _marked,
    lambda end, at, _amount: end.syn(at),
    lambda end, at, _amount: end.fin(at),
    lambda end, at, amount: end.fin(at, seq=max(end.next - amount % 3, 0)),
    lambda end, at, _amount: end.rst(at),
    lambda end, at, amount: end.segment(at, max(end.next - 1, 0), amount % 2, ACK),
    lambda end, at, _amount: end.ack(at, echo=1),
)

_STEPS = st.tuples(
    st.integers(0, 2),
    st.integers(0, 1),
    st.integers(0, len(ACTIONS) - 1),
    st.integers(0, 4000),
    st.integers(0, len(PAUSES) - 1),
)
_SETTINGS = st.fixed_dictionaries(
    {
        "firsts": st.tuples(
            *[st.sampled_from([0, 1, 2**31 - 1000, 2**31 + 5, 2**32 - 2500, 2**32 - 1])] * 2
        ),
        "sack": st.booleans(),
        "timestamps": st.booleans(),
        "scales": st.tuples(*[st.sampled_from([None, 0, 7, 14, 20])] * 2),
        "hosts": st.sampled_from([("10.0.0.1", "10.0.0.2"), ("fd00::1", "fd00::2")]),
    }
)


@st.composite
def conversations(draw: st.DrawFn) -> MadeCapture:
    """One to three connections in one capture, with or without handshakes."""
    settings = draw(
        st.lists(st.tuples(_SETTINGS, st.sampled_from([None, False, True])), min_size=1, max_size=3)
    )
    return held(settings, draw(st.lists(_STEPS, max_size=60)))


def held(
    settings: list[tuple[dict[str, object], bool | None]],
    steps: list[Step],
    actions: Sequence[Action] = ACTIONS,
) -> MadeCapture:
    """The capture of connections with these settings that take these steps.

    A setting also says at which end the handshake was seen.
    """
    capture, at = MadeCapture(snaplen=200), 1.0
    flows = [
        capture.flow(ports=(1000 + number, 80), **options)
        for number, (options, _) in enumerate(settings)
    ]
    for flow, (_, seen_at_b) in zip(flows, settings, strict=True):
        if seen_at_b is not None:
            flow.open(0.1, seen_at_b=seen_at_b)
    for number, side, action, amount, pause in steps:
        at += PAUSES[pause]
        flow = flows[number % len(flows)]
        actions[action]((flow.a, flow.b)[side], at, amount)
    return capture


DECENT = (
    ACTIONS[1],
    ACTIONS[1],
    ACTIONS[1],
    _whole,
    _onward,
    _onward,
    _repeated,
    _reported,
    _kept_alive,
)
"""What a sane TCP does, in segments of one size."""


def by_chance(seed: int, decent: bool = False) -> MadeCapture:
    """A conversation that a number chooses.

    It is quicker than Hypothesis, and the same for the same number. A decent one stays clear of
    multiples of 2^30, where tcptrace splits segments in two.
    """
    chance = Random(seed)
    settings = []
    for _ in range(chance.randint(1, 3)):
        options: dict[str, object] = {
            "firsts": (
                (10**6, 9 * 10**6)
                if decent
                else (chance.choice([0, 2**32 - 2500]), chance.choice([1, 2**31 - 9]))
            ),
            "sack": chance.random() < 0.8,
            "timestamps": chance.random() < 0.8,
            "hosts": chance.choice([("10.0.0.1", "10.0.0.2"), ("fd00::1", "fd00::2")]),
        }
        settings.append((options, chance.choice([False, True] if decent else [None, False, True])))
    actions, pauses = (DECENT, PAUSES[:-2]) if decent else (ACTIONS, PAUSES)
    steps = [
        (
            chance.randrange(3),
            chance.randrange(2),
            chance.randrange(len(actions)),
            chance.randrange(4000),
            chance.randrange(len(pauses)),
        )
        for _ in range(chance.randrange(60))
    ]
    return held(settings, steps, actions)
