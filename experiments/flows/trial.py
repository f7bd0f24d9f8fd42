"""What a condition is measured with, which everything in the guest that carries flows is given."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from experiments.spec import ExperimentSpec, Flow
from testbed.guest.host_root import Stranger
from testbed.guest.job_entry import JobContext
from testbed.guest.namespaces import network_namespace
from testbed.guest.network import LiveNetwork
from testbed.guest.socket_sampling import tcp_sockets

_CLIENTS = 1 << 16  # users of clients begin here; the user of a server is its port


def hosts_of(spec: ExperimentSpec) -> list[str]:
    return sorted({end for flow in spec.flows for end in (flow.sender, flow.receiver)})


@dataclass(frozen=True)
class LiveTrial:
    """A condition that is measured: spec, network, the folder of its files, and the job."""

    spec: ExperimentSpec
    live: LiveNetwork
    folder: Path
    job: JobContext

    @property
    def hosts(self) -> list[str]:
        return hosts_of(self.spec)

    def output(self, flow: Flow, role: str) -> Path:
        """Return the file of what a flow's server or client prints."""
        return self.folder / f"{flow.name}.{role}.txt"

    def sockets(self, host: str, states: int) -> list[dict[str, Any]]:
        with network_namespace(self.live.pid(host)):
            return tcp_sockets(states)

    def programs(self, flow: Flow) -> tuple[Stranger, Stranger]:
        """Return the users of a flow's server and client, which meet only over the network.

        Without an amount the client has what its link carries at most in its duration.
        """
        slowest = self.spec.topology.bottleneck(flow.sender, flow.receiver)
        rates = [slowest.bandwidth, *(change.channel.bandwidth for change in self.spec.changes)]
        most = int(max(rate.base for rate in rates) / 8 * flow.duration.seconds)
        amount, place = flow.amount.base if flow.amount else most, self.job.work / "programs"
        users = {"server": flow.port, "client": _CLIENTS + flow.port}
        server, client = (
            Stranger(user, place / flow.name / role, flow.protocol, amount)
            for role, user in users.items()
        )
        return server, client
