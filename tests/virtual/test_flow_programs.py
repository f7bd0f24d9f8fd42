"""Flows that a study's own programs carry: captured, measured and compared as iperf's."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from analysis.flows.reader import read
from analysis.pages.run import RunReport
from experiments.programs.links import channel
from experiments.reporting.studies import make_report
from experiments.run.request import RunRequest
from experiments.run.seed import refuse_modules
from experiments.run.session import carry_out
from experiments.spec import Condition, ExperimentSpec, Flow, FlowProgram
from testbed.lab.ready import Lab
from topologies.errors import UsageError
from topologies.shapes import two_hosts
from topologies.units import Duration, Size

pytestmark = pytest.mark.virtual
TCP_SERVER = """
import socket, sys
_server, port, received = sys.argv
stream = socket.create_server(("", int(port))).accept()[0]
with open(received, "wb") as file:
    while piece := stream.recv(1 << 16):
        file.write(piece)
"""
TCP_CLIENT = """
import socket, sys
_client, address, port, sent = sys.argv
with socket.create_connection((address, int(port))) as stream, open(sent, "rb") as file:
    stream.sendfile(file)
"""
UDP_SERVER = """
import socket, sys
_server, port, received = sys.argv
line = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
line.bind(("", int(port)))
with open(received, "wb", buffering=0) as file:
    while True:
        packet, peer = line.recvfrom(2000)
        number = int.from_bytes(packet[:4])
        if number * 1000 == file.tell():
            file.write(packet[4:])
        line.sendto((file.tell() // 1000).to_bytes(4), peer)
"""
UDP_CLIENT = """
import socket, sys
_client, address, port, sent = sys.argv
content, number = open(sent, "rb").read(), 0
line = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
line.settimeout(0.2)
while number * 1000 < len(content):
    packet = number.to_bytes(4) + content[number * 1000 : number * 1000 + 1000]
    line.sendto(packet, (address, int(port)))
    WAIT
    number += 1
"""
STOP_AND_WAIT = """while True:
        try:
            if int.from_bytes(line.recv(4)) > number:
                break
        except TimeoutError:
            line.sendto(packet, (address, int(port)))
"""


def study(program: FlowProgram, **options: object) -> ExperimentSpec:
    """One flow of 100 kB over a link with loss."""
    link = channel(delay="20ms", loss="5%", bandwidth="10mbit")
    amount, longest = Size.parse("100kB"), Duration.parse("1min")
    flow = Flow("flow1", "h1", "h2", longest, amount=amount, program=program, **options)  # type: ignore[arg-type]
    conditions, captures = (Condition("usual", "usual"),), ("h1-eth0", "h2-eth0")
    return ExperimentSpec("own", "A claim.", two_hosts(link), (flow,), conditions, captures)


def carried(spec: ExperimentSpec, lab: Lab, out: Path) -> RunReport:
    """The report of one seed."""
    return make_report(carry_out(RunRequest(spec, None, (1,), "virtual", out), lab))


def test_a_program_over_tcp_is_captured_sampled_and_measured(ready_lab: Lab, tmp_path) -> None:
    report = carried(study(FlowProgram(TCP_SERVER, TCP_CLIENT)), ready_lab, tmp_path)
    (measured,) = report.results.measured
    (flow,) = measured.flows
    assert flow.goodput and 100 < flow.goodput < 10_000 and flow.samples
    trial = measured.trial.folder
    (connection,) = read(trial / "h1-eth0.pcap").connection_table.as_rows()
    assert connection["unique_bytes_sent_a2b"] == 100_000
    assert json.loads((trial / "evidence.json").read_text())["warnings"] == []


def test_a_transport_of_its_own_is_held_to_all_bytes(ready_lab: Lab, tmp_path: Path) -> None:
    """Stop-and-wait brings all; without its wait the loss of the link leaves a gap."""
    found = {}
    for name, wait in (("waits", STOP_AND_WAIT), ("hurries", "pass")):
        program = FlowProgram(UDP_SERVER, UDP_CLIENT.replace("WAIT", wait), "udp")
        report = carried(study(program), ready_lab, tmp_path / name)
        evidence = report.results.measured[0].trial.folder / "evidence.json"
        found[name] = json.loads(evidence.read_text())["warnings"]
    assert found["waits"] == [] and "bytes came in order" in found["hurries"][0]


def test_a_program_without_an_amount_ends_with_its_duration(ready_lab: Lab, tmp_path: Path) -> None:
    """TCP meanwhile has the same window. A wrong byte leaves nothing of the rate."""
    wrong = UDP_SERVER.replace("packet[4:])", "bytes(1000))")
    for name, server in (("right", UDP_SERVER), ("wrong", wrong)):
        client = UDP_CLIENT.replace("WAIT", STOP_AND_WAIT)
        spec = study(FlowProgram(server, client, "udp"))
        timed = replace(spec.flows[0], amount=None, duration=Duration.parse("3s"))
        tcp = Flow("tcp", "h1", "h2", timed.duration, port=5002)
        report = carried(replace(spec, flows=(timed, tcp)), ready_lab, tmp_path / name)
        (measured,) = report.results.measured
        rates = {flow.flow.name: flow.goodput for flow in measured.flows}
        evidence = json.loads((measured.trial.folder / "evidence.json").read_text())
        if name == "right":
            assert 50 < rates["flow1"] < 250 < rates["tcp"] and evidence["warnings"] == []
        else:
            assert rates["flow1"] == 0 and "bytes came in order" in evidence["warnings"][0]


def test_a_program_takes_no_options_of_iperf_and_no_root() -> None:
    program = FlowProgram("", "")
    with pytest.raises(UsageError, match="options of iperf"):
        study(program, window=Size.parse("64KiB"))
    with pytest.raises(UsageError, match="would be root"):
        refuse_modules(study(program), False)
