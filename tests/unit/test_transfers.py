"""What a transfer without a result is said to be."""

from pathlib import Path

import pytest

from experiments.flows.transfers import without_result
from experiments.spec import Flow
from topologies.units import Duration

SILENT = """\
------------------------------------------------------------
Server listening on TCP port 5001
TCP window size:  256 KByte (WARNING: requested  128 KByte)
------------------------------------------------------------
read tcp flags (runt) failed
(null)local 10.0.0.2 port 5001 connected with 10.0.0.1 port 50040 (icwnd/mss/irtt=1/1448/81000)
"""
REFUSED = "bind failed: Address already in use\n"
FINISHED = "[  1] 0.00-10.13 sec  1.12 MBytes   932 Kbits/sec\n"


@pytest.mark.parametrize(
    ("output", "sentence"),
    [
        (SILENT, "flow1: iperf's server gave up, since the first data took over 4 s to come."),
        (REFUSED, "flow1: iperf's server has no result: bind failed: Address already in use"),
        (FINISHED, ""),
        (SILENT + FINISHED, ""),
    ],
)
def test_a_server_without_a_result_says_why(output: str, sentence: str, tmp_path: Path) -> None:
    """SILENT is iperf 2.1.8's own, of a flow whose first segments were lost."""
    (tmp_path / "flow1.server.txt").write_text(output)
    assert without_result(Flow("flow1", "h1", "h2", Duration.parse("1s")), tmp_path) == sentence
