"""Names for tests of programs in a network: `import tcplab.testing`."""

from experiments.programs.capture import CapturedConnection, HostCapture
from experiments.programs.fixture import NetworkFixture
from experiments.programs.links import NetworkFault, NetworkLink
from experiments.programs.network import Host, Network
from experiments.programs.program import Program, ProgramFailed
from experiments.programs.start import NetworkOptions, started
from experiments.programs.words import FaultWords

__all__ = [
    "CapturedConnection",
    "FaultWords",
    "Host",
    "HostCapture",
    "Network",
    "NetworkFault",
    "NetworkFixture",
    "NetworkLink",
    "NetworkOptions",
    "Program",
    "ProgramFailed",
    "started",
]
