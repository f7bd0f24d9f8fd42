"""Random early detection, and the disciplines that have a part of it: gred, choke and sfq."""

from collections.abc import Mapping
from typing import Any

from topologies.disciplines.base import ECN, QUANTUM, Choice, Discipline, Setting, Settings, flag
from topologies.errors import UsageError
from topologies.units import Count, Packets, Share, Size

_PROBABILITY = Setting(
    "probability", Share, "Greatest probability of an early drop.", "0.0001%", "100%"
)
_ECN = flag("ecn", ECN.meaning, off="")
_EACH = (
    Setting("min", Size, "Average length from which packets are dropped.", "1B", "1GiB"),
    Setting("max", Size, "Average length at which the probability is reached.", "1B", "1GiB"),
    _PROBABILITY,
    _ECN,
    flag("harddrop", "Above max packets are dropped even if they could be marked.", off=""),
)
"""Parameters of red and gred; sfq has them for each flow."""


def _average(low: int, high: int, frame: int) -> str:
    """Return tc's words for the average length between `low` and `high` bytes."""
    burst = max(1, (2 * (low // frame) + high // frame) // 3 + 1)
    return f"min {low} max {high} avpkt {frame} burst {burst}"


def _require_order(name: str, low: int, high: int, limit: int, unit: str) -> None:
    """Raise UsageError if red's bounds are not in order."""
    if not low < high <= limit:
        problem = f"{name} cannot drop from {low} to {high} {unit} in a queue of {limit}."
        raise UsageError(problem, "Choose min below max, and max up to the queue.")


class Red(Discipline):
    """Random early detection between a sixth and half of the queue, as tc-red(8) advises."""

    name, title, trial = "red", "red: drops early by length", "red limit 60000 avpkt 1000"
    shortest = 10  # its average has no constant for fewer
    in_bytes = True
    early_drops: tuple[str, ...] = ("early",)
    marks: tuple[str, ...] = ("marked",)
    parameters: tuple[Setting | Choice, ...] = (
        *_EACH,
        flag("nodrop", "With ecn, packets that cannot be marked are kept.", off=""),
        flag("adaptive", "The probability follows the average (Floyd and others, 2001).", off=""),
    )

    def words(self, queue: int, frame: int, rate: int, given: Settings = ()) -> str:
        if given:
            return self._bounded(queue, frame, rate, given)
        size = queue * frame
        burst = max(1, (2 * queue // 6 + queue // 2) // 3 + 1)  # (2 min + max) / (3 avpkt)
        average = f"min {size // 6} max {size // 2} avpkt {frame} burst {burst}"
        return f"limit {size} {average} probability 0.02 bandwidth {rate}bit ecn"

    def _bounded(self, queue: int, frame: int, rate: int, given: Settings) -> str:
        """Return tc's words; the burst follows from the bounds (tc-red(8)). Raises UsageError."""
        size, chosen = queue * frame, {"probability": "2%", "ecn": "on"} | dict(given)
        low = Size.parse(chosen.pop("min", str(Size(size // 6)))).base
        high = Size.parse(chosen.pop("max", str(Size(size // 2)))).base
        _require_order(self.name, low, high, size, "bytes")
        if chosen.get("nodrop") == "on" and chosen["ecn"] != "on":
            raise UsageError(f"{self.name} cannot mark with nodrop and without ecn.", "Set ecn=on.")
        words = f"limit {size} {_average(low, high, frame)} bandwidth {rate}bit"
        return self._with(words, chosen.items()).strip()


class Gred(Red):
    """Generic RED with one virtual queue, in which all packets are."""

    name, title, trial = "gred", "gred: red with virtual queues", "gred setup DPs 1 default 0"
    early_drops = ("drops", "pdrop")
    marks = ("prob_mark", "forced_mark")
    parameters = _EACH

    def words(self, queue: int, frame: int, rate: int, given: Settings = ()) -> str:
        return f"setup DPs 1 default 0 limit {queue * frame}"

    def further(self, queue: int, frame: int, rate: int, given: Settings) -> str:
        return f"{self._bounded(queue, frame, rate, given)} DP 0"

    def shown(self, options: Mapping[str, Any]) -> Mapping[str, Any]:
        return next(iter(options.get("vqs", [])), {})


class Choke(Discipline):
    """Red that also drops a packet and another one of its flow that waits (tc-choke(8))."""

    name, title = "choke", "choke: red against greedy flows"
    trial = "choke limit 60 min 5 max 20 avpkt 1000 bandwidth 1mbit probability 0.02"
    since, shortest = "3.0", 10
    early_drops, marks = ("drops", "pdrop"), ("marked",)
    parameters = (
        Setting("min", Packets, "Average length from which packets are dropped.", "1", "1000000"),
        Setting(
            "max", Packets, "Average length at which the probability is reached.", "2", "1000000"
        ),
        _PROBABILITY,
        _ECN,
    )

    def words(self, queue: int, frame: int, rate: int, given: Settings = ()) -> str:
        chosen = {"probability": "2%", "ecn": "on"} | dict(given)
        low = Packets.parse(chosen.pop("min", str(max(1, queue // 6)))).base
        high = Packets.parse(chosen.pop("max", str(queue // 2))).base
        _require_order(self.name, low, high, queue, "packets")
        average = f"min {low} max {high} avpkt {frame} burst {(2 * low + high) // 3 + 1}"
        return self._with(f"limit {queue} {average} bandwidth {rate}bit", chosen.items())


class Sfq(Discipline):
    """Stochastic fair queueing; parameters of red turn red on for each flow."""

    name, title, trial = "sfq", "sfq: a turn for each flow", "sfq"
    shortest, is_fair = 2, True
    early_drops = ("prob_drop+forced_drop",)
    marks = ("prob_mark+prob_mark_head+forced_mark+forced_mark_head",)
    parameters = (
        Setting("depth", Packets, "Packets of one flow.", "1", "127"),
        Setting("flows", Count, "Most flows, up to the queue's packets.", "1", "65408"),
        Setting("divisor", Count, "Size of the hash table, a power of two.", "256", "65536"),
        Setting("perturb", Count, "Seconds between two changes of the hash.", "1", "3600"),
        QUANTUM,
        flag("headdrop", "Packets are dropped at the head of a flow's queue.", off=""),
        *_EACH,
    )

    def words(self, queue: int, frame: int, rate: int, given: Settings = ()) -> str:
        """Return tc's words; absent bounds follow from the queue (tc-sfq(8)). Raises UsageError."""
        size, chosen = queue * frame, dict(given)
        words = f"limit {queue} depth {chosen.pop('depth', min(queue, 127))}"
        if {each.name for each in _EACH} & set(chosen):
            high = Size.parse(chosen.pop("max", str(Size(size // 4)))).base
            low = Size.parse(chosen.pop("min", str(Size(high // 3)))).base
            _require_order(self.name, low, high, size, "bytes")
            words += f" redflowlimit {size} {_average(low, high, frame)}"
        if Count.parse(chosen.get("flows", "1")).base > queue:
            problem = f"{self.name} has no room for {chosen['flows']} flows in {queue} packets."
            raise UsageError(problem, f"Choose 1 to {queue} flows, or a longer queue.")
        return self._with(words, chosen.items()).strip()
