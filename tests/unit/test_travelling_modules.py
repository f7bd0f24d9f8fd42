"""What a study imports in a guest: a module more or fewer would move every packet."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from testbed.jobs.archive import job_archive

IMPORTED = """
experiments experiments.procedure experiments.proof experiments.spec experiments.transfers testbed
testbed.guest testbed.guest.job_entry testbed.guest.kernel_modules testbed.guest.namespaces
testbed.guest.network testbed.guest.nodes testbed.guest.programs testbed.guest.rtnetlink
testbed.guest.shaping testbed.guest.socket_sampling testbed.guest.switches topologies
topologies.addresses topologies.disciplines topologies.foundation topologies.foundation.data
topologies.foundation.errors topologies.foundation.units topologies.topology_spec
"""
"""See docs/concepts/virtual-time.md, *What is imported is part of a run*."""

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


def test_a_study_imports_the_modules_that_packets_depend_on(tmp_path: Path) -> None:
    archive = tmp_path / "job.pyz"
    archive.write_bytes(job_archive("experiments.procedure", {}))
    command = [sys.executable, "-P", "-B", "-c", IMPORT, str(archive)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert sorted(done.stdout.split()) == IMPORTED.split()
