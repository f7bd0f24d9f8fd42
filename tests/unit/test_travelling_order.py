"""What travels into a guest is imported in one order: another order would move every packet."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from testbed.jobs.archive import job_archive

ORDER = """
testbed testbed.guest testbed.guest.background topologies topologies.errors testbed.guest.programs
testbed.guest.openvswitch testbed.guest.job_entry experiments testbed.guest.algorithms
testbed.guest.kernel_modules topologies.units topologies.topology_spec experiments.spec
experiments.reordering_proof topologies.addresses experiments.proof testbed.guest.namespaces
testbed.guest.baseline testbed.guest.first_packets testbed.guest.rtnetlink
testbed.guest.netem_draws testbed.guest.shaping testbed.guest.offloads
testbed.guest.reordering_qdiscs testbed.guest.mtu testbed.guest.nodes testbed.guest.network
testbed.guest.socket_sampling experiments.transfers topologies.data experiments.procedure
"""
"""A new name takes the place of the old one. See docs/design/guest.md, *The order of imports*."""

IMPORT = """
import sys, types

class Anything(type):
    def __getattr__(cls, name):
        return None

for name in ("mininet", "mininet.net", "mininet.node", "mininet.link"):
    module = sys.modules[name] = types.ModuleType(name)
    module.__getattr__ = lambda _: Anything("Mininets", (), {})
sys.path.insert(0, sys.argv[1])
import testbed.guest.job_entry, experiments.procedure
ours = ("topologies", "testbed", "experiments")
print(*(name for name in sys.modules if name.split(".")[0] in ours))
"""


def test_modules_are_imported_in_the_order_that_packets_depend_on(tmp_path: Path) -> None:
    archive = tmp_path / "job.pyz"
    archive.write_bytes(job_archive("experiments.procedure", {}))
    command = [sys.executable, "-P", "-B", "-c", IMPORT, str(archive)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ORDER.split()
