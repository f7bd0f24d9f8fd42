"""The table of traffic: what an application of a flow sends, and when; a class for each kind.

Each seed draws its exchanges before the run, the same under all conditions.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from topologies.errors import UsageError, named
from topologies.units import Count, Duration, Quantity, Rate, Size

_MOST = 20_000  # exchanges of a flow
_CHUNK = Duration.parse("20ms")  # between two writes of an application with a rate
_NO_ANSWER = Size(0)


def result_line(seconds: float, amount: float) -> str:
    """Return the last line of iperf for bytes that it did not carry: all flows are read alike."""
    return (
        f"[  1] 0.00-{seconds:.2f} sec  {amount:.0f} Bytes  {8 * amount / seconds:.0f} bits/sec\n"
    )


@dataclass(frozen=True)
class Exchange:
    """`size` bytes to the receiver and `answer` bytes back, `at` after the flow's start.

    Those of a `connection` follow each other. With `after`, `at` counts from the answer before.
    """

    at: Duration
    connection: int
    size: Size
    answer: Size
    after: bool = False


@dataclass(frozen=True)
class Drawn:
    """A parameter that each exchange draws: a value, exp:MEAN, LOW..HIGH or pareto:SHAPE:LEAST."""

    kind: type[Quantity]
    default: str
    meaning: str
    least: str = ""
    most: str = ""

    def checked(self, name: str, text: str) -> None:
        """Raise UsageError for bounds of a value that are out of order or out of range."""
        low, dots, high = text.partition("..")
        values = [low, high] if dots else [text.rpartition(":")[2]]
        amounts = [self.kind.parse(value).base for value in values]
        if amounts != sorted(amounts):
            raise UsageError(f"{name} has no values from {text}.", f"Write {name}={high}..{low}.")
        least = self.kind.parse(self.least).base if self.least else 1
        most = self.kind.parse(self.most).base if self.most else amounts[-1]
        if not least <= amounts[0] <= amounts[-1] <= most:
            ends = f" from {self.kind(least)}" + f" to {self.most}" * bool(self.most)
            raise UsageError(f"A value of {text} is not possible for {name}.", f"Choose one{ends}.")

    def of(self, text: str, source: random.Random) -> int:
        """Return a drawn amount in base units. Raises UsageError."""
        form, _, rest = text.partition(":")
        low, dots, high = text.partition("..")
        if dots:
            return round(source.uniform(self.kind.parse(low).base, self.kind.parse(high).base))
        if form == "exp":
            return round(source.expovariate(1.0) * self.kind.parse(rest).base)
        if form == "pareto":
            shape, _, least = rest.partition(":")
            return round(source.paretovariate(_shape(shape)) * self.kind.parse(least).base)
        return self.kind.parse(text).base


def _shape(text: str) -> float:
    try:
        shape = float(text)
    except ValueError:
        shape = 0.0
    if not 1 < shape < 100:
        problem = f"'{text[:20]}' is no shape of a Pareto distribution."
        raise UsageError(problem, "Write pareto:1.2:10kB.")
    return shape


class Traffic:
    """A kind of traffic; subclasses have parameters and say which exchanges they make."""

    name: str
    title: str
    parameters: ClassVar[Mapping[str, Drawn]]
    as_time_allows: ClassVar[bool] = False
    """True if the plan has more exchanges than the flow's duration may suffice for."""

    def exchanges(self, draw: Draws, length: int) -> Iterator[Exchange]:
        """Yield the exchanges of a flow of `length` nanoseconds, in order of their times."""
        raise NotImplementedError


@dataclass(frozen=True)
class Draws:
    """The values of a text, drawn one by one from a seed."""

    kind: Traffic
    values: Mapping[str, str]
    source: random.Random

    def __call__(self, name: str) -> int:
        parameter = self.kind.parameters[name]
        return parameter.of(self.values.get(name, parameter.default), self.source)

    def size(self, name: str) -> Size:
        return Size(max(1, self(name)))

    def times(self, name: str, length: int) -> Iterator[int]:
        """Yield instants with a drawn time between two of them, the first at 0."""
        at = 0
        while at < length:
            yield at
            at += max(1000, self(name))


_SIZE = Drawn(Size, "exp:100kB", "Bytes to the receiver.")
_ANSWER = Drawn(Size, "100B", "Bytes of the answer.")
_INTERVAL = Drawn(Duration, "20ms", "Time between two datagrams.")
_PAYLOAD = Drawn(Size, "160B", "Bytes of a datagram.", most="65507B")


class Requests(Traffic):
    """Open loop: a connection for each request, whether or not earlier ones are answered."""

    name, title = "requests", "finite flows that come at their times"
    parameters: ClassVar = {
        "size": _SIZE,
        "answer": _ANSWER,
        "every": Drawn(Duration, "exp:500ms", "Time between two requests."),
    }

    def exchanges(self, draw: Draws, length: int) -> Iterator[Exchange]:
        for number, at in enumerate(draw.times("every", length)):
            yield Exchange(Duration(at), number, draw.size("size"), draw.size("answer"))


class Users(Traffic):
    """Closed loop: each user thinks after an answer, and asks again on the same connection."""

    name, title = "users", "users who think between answer and request"
    as_time_allows = True
    parameters: ClassVar = {
        "users": Drawn(Count, "1", "Users, each with a connection."),
        "size": _SIZE,
        "answer": _ANSWER,
        "think": Drawn(Duration, "exp:500ms", "Time between an answer and the next request.", "0s"),
        "requests": Drawn(Count, "100", "Requests of a user, if the time suffices."),
    }

    def exchanges(self, draw: Draws, length: int) -> Iterator[Exchange]:
        for user in range(draw("users")):
            for _ in range(draw("requests")):
                sizes = draw.size("size"), draw.size("answer")
                yield Exchange(Duration(draw("think")), user, *sizes, after=True)


class Page(Traffic):
    """Objects of a page, in turn over some connections: one after the other on each."""

    name, title = "page", "objects of a page over a few connections"
    parameters: ClassVar = {
        "objects": Drawn(Count, "20", "Objects of the page."),
        "connections": Drawn(Count, "6", "Connections at once."),
        "size": Drawn(Size, "exp:30kB", "Bytes of an object."),
        "answer": _ANSWER,
    }

    def exchanges(self, draw: Draws, length: int) -> Iterator[Exchange]:
        connections = draw("connections")
        for number in range(draw("objects")):
            sizes = draw.size("size"), draw.size("answer")
            yield Exchange(Duration(0), number % connections, *sizes, after=True)


class Paced(Traffic):
    """An application that is slower than the network, over TCP."""

    name, title = "paced", "an application with a rate, over TCP"
    parameters: ClassVar = {"rate": Drawn(Rate, "1mbit", "Rate of the application.")}

    def exchanges(self, draw: Draws, length: int) -> Iterator[Exchange]:
        for at in range(0, length, _CHUNK.base):
            yield Exchange(Duration(at), 0, _bytes(draw("rate")), _NO_ANSWER)


class OnOff(Traffic):
    """An application that sends for a time, and rests for a time, over one connection of TCP."""

    name, title = "onoff", "bursts and rests, over TCP"
    parameters: ClassVar = {
        "rate": Drawn(Rate, "5mbit", "Rate of a burst."),
        "on": Drawn(Duration, "exp:1s", "Length of a burst."),
        "off": Drawn(Duration, "exp:1s", "Length of a rest.", "0s"),
    }

    def exchanges(self, draw: Draws, length: int) -> Iterator[Exchange]:
        at = 0
        while at < length:
            end = min(length, at + draw("on"))
            for instant in range(at, end, _CHUNK.base):
                yield Exchange(Duration(instant), 0, _bytes(draw("rate")), _NO_ANSWER)
            at = end + max(1000, draw("off"))


class Call(Traffic):
    """A call with a constant rate, of UDP: what comes after its deadline is not played."""

    name, title = "call", "a call with a playout deadline, over UDP"
    parameters: ClassVar = {
        "interval": _INTERVAL,
        "size": _PAYLOAD,
        "deadline": Drawn(Duration, "150ms", "Delay after which a datagram is too late."),
    }

    def exchanges(self, draw: Draws, length: int) -> Iterator[Exchange]:
        for at in draw.times("interval", length):
            yield Exchange(Duration(at), 0, draw.size("size"), _NO_ANSWER)


class Ping(Call):
    """Datagrams that come back at once."""

    name, title = "ping", "a probe of the round trip, over UDP"
    parameters: ClassVar = {
        "interval": Drawn(Duration, "100ms", "Time between two probes."),
        "size": Drawn(Size, "64B", "Bytes of a probe.", most="65507B"),
        "deadline": Drawn(Duration, "10s", "Delay after which a probe counts as late."),
    }

    def exchanges(self, draw: Draws, length: int) -> Iterator[Exchange]:
        return (replace(each, answer=each.size) for each in super().exchanges(draw, length))


TRAFFIC: dict[str, Traffic] = {
    each.name: each for each in (Requests(), Users(), Page(), Paced(), OnOff(), Call(), Ping())
}


def _bytes(rate: int) -> Size:
    return Size(max(1, rate * _CHUNK.base // (8 * 10**9)))


def planned(flow: str, traffic: str, duration: Duration, seed_name: str) -> tuple[Exchange, ...]:
    """Return the exchanges of a flow; `seed_name` names the draw. Raises UsageError."""
    word, *given = traffic.split()
    kind = named("There is no traffic", word, TRAFFIC)
    values = dict[str, str]()
    for text in given:
        name, equals, value = text.partition("=")
        named(f"Traffic {word} has no parameter", name, kind.parameters)
        if not equals:
            raise UsageError(f"Traffic {word}: {name} has no value.", f"Write {name}=VALUE.")
        kind.parameters[name].checked(name, value)
        values[name] = value
    found = []
    for each in kind.exchanges(Draws(kind, values, random.Random(seed_name)), duration.base):
        found.append(each)
        if len(found) > _MOST:
            problem = f"Flow {flow} makes more than {_MOST:,} exchanges."
            raise UsageError(problem, "Let it make fewer.")
    return tuple(found)
