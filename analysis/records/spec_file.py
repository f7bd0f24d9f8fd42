"""spec.json: what a run was asked to do."""

from typing import Any, cast

from msgspec import Struct, field
from msgspec.structs import asdict

from analysis.records.published_row import RowEntry
from topologies.foundation.data import from_data
from topologies.foundation.errors import UsageError
from topologies.topology_spec import ETHERNET, TopologySpec


class TopologyEntry(Struct, frozen=True):
    """The network as a diagram; `segmentation` is `on` if hosts leave it to the network card.

    `nodes`, `links` and `reordering` are as they are written; `network` understands them.
    """

    name: str = ""
    diagram: str = ""
    segmentation: str = ""
    mtu: str = str(ETHERNET)
    nodes: tuple[Any, ...] = ()
    links: tuple[Any, ...] = ()
    reordering: tuple[Any, ...] = ()
    shaping_hosts: tuple[str, ...] = ()

    def network(self) -> TopologySpec | None:
        """The network that was asked for; None if what is written is none."""
        try:
            written = asdict(self).items()
            network = {name: value for name, value in written if value and name != "diagram"}
            return cast(TopologySpec, from_data(TopologySpec, network))
        except (UsageError, TypeError, ValueError, IndexError):
            return None


class RunFlow(Struct, frozen=True):
    """An iperf connection, or one of a `program`; `port` is the receiver's.

    One with a `rate` is of UDP. One with a `window` was given socket buffers (iperf -w), which are
    meant to limit it. `traffic` is what an application sent instead; calls and pings are of UDP.
    """

    name: str = "flow1"
    sender: str = "h1"
    receiver: str = "h2"
    port: int = 5001
    rate: Any = None
    window: Any = None
    start: str = "0s"
    duration: str = ""
    congestion_control: str = ""
    program: Any = None
    traffic: str = ""

    @property
    def protocol(self) -> str:
        if isinstance(self.program, dict):
            return "udp" if self.program.get("protocol") == "udp" else "tcp"
        return "udp" if self.rate or self.traffic.startswith(("call", "ping")) else "tcp"

    @property
    def windowed(self) -> bool:
        return bool(self.window)


class RunCondition(Struct, frozen=True):
    """A case that the experiment compares; it sets `sysctls`, names and values, on every host."""

    name: str = ""
    label: str = ""
    sysctls: tuple[tuple[str, str], ...] = ()


class MeasuredEntry(RowEntry, frozen=True):
    """A published number, and which measure of which condition and flow it is compared with.

    `flow` and `among` are as in analysis.measures.results.value_of; `scale` brings the measure to
    the unit.
    """

    metric: str = ""
    flow: str = ""
    among: str = ""
    scale: float | None = None
    condition: str = ""
    period_condition: str = ""


class SubjectEntry(Struct, frozen=True):
    """The subject of a value: a condition, or one flow under it."""

    condition: str = ""
    flow: str = ""


class HeadlineEntry(Struct, frozen=True):
    """The claim that is judged; experiments.spec.Headline says what the fields mean."""

    question: str = ""
    metric: str = ""
    what: str = ""
    subject: SubjectEntry = SubjectEntry()
    direction: str = ""
    against: SubjectEntry | None = None
    margin: str = "5%"
    low: float | None = None
    high: float | None = None
    expected: float = 1.0
    expectation: str = ""
    repetitions: int = 1


class ChangeEntry(Struct, frozen=True):
    """A change of the link during the run."""

    at: str = ""
    port: str = ""


class SpecFile(Struct, frozen=True):
    """spec.json. `settings` are what `--set` was given for anything but a parameter.

    `metrics` are the expressions of `--metric`.
    """

    name: str = ""
    claim: str = ""
    parameters: dict[str, str] = field(default_factory=dict)
    settings: tuple[str, ...] = ()
    metrics: tuple[str, ...] = ()
    topology: TopologyEntry = TopologyEntry()
    flows: tuple[RunFlow, ...] = ()
    conditions: tuple[RunCondition, ...] = ()
    captures: tuple[str, ...] = ()
    published: tuple[MeasuredEntry, ...] = ()
    headline: HeadlineEntry | None = None
    changes: tuple[ChangeEntry, ...] = ()
