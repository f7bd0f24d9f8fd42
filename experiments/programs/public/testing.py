"""Names for tests of programs in a network: `import tcplab.testing`."""

from experiments.programs.capture import CapturedConnection, HostCapture
from experiments.programs.fixture import NetworkFixture
from experiments.programs.network import Host, Network
from experiments.programs.program import NetworkLink, Program, ProgramFailed
from experiments.programs.start import NetworkOptions, started

__all__ = [
    "CapturedConnection",
    "Host",
    "HostCapture",
    "Network",
    "NetworkFixture",
    "NetworkLink",
    "NetworkOptions",
    "Program",
    "ProgramFailed",
    "started",
]
