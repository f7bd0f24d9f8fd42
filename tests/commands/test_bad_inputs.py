"""Bad input of a run or sweep: one sentence with its remedy, before anything runs."""

import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from experiments.cli.commands import tcplab
from tests.tools.own_studies import forgotten

FILES = {
    "empty.trace": "",
    "down.trace": "5\n3\n",
    "words.trace": "hello\n",
    "nameless.toml": '[set]\nloss = ["1%"]\n',
    "odd.toml": 'experiment = "sack"\nfoo = 0\n',
    "broken.toml": "experiment = [",
    "mine/stray.py": '''"""A flow to a host that is not there."""

from tcplab import ExperimentSpec, Flow, LinkParameters, sack, two_hosts


class Stray(LinkParameters):
    pass


def experiment(parameters: Stray) -> ExperimentSpec:
    flow = Flow("flow1", "h1", "h9", parameters.duration)
    topology = two_hosts(parameters.channel())
    return ExperimentSpec("stray", __doc__, topology, flows=(flow,), conditions=(sack(on=True),))
''',
}
TRAFFIC = "run latency_under_load --set flows.0.traffic="
BAD = f"""\
run sakc | no experiment 'sakc' | Did you mean sack?
run sack --los 1% | No such option '--los' | '--loss'
run sack --bw 2mbti | '2mbti' is not a rate | such as 10mbit
run sack --bw 10 | '10' is not a rate | such as 10mbit
run sack --bw 1MBps | bits or bytes? | Write 1mbit or 8mbit
run sack --bw 0mbit | A bandwidth of 0bit is not possible | from 1kbit to 100gbit
run sack --delay 40 | '40' is not a duration | such as 40ms
run sack --delay 1h | A delay of 3600s is not possible | from 0s to 60s
run sack --loss 1 | '1' is not a percentage | such as 10%
run sack --loss 101% | A loss of 101% is not possible | from 0% to 100%
run sack --jitter 50ms | above the delay of 40ms | Lower the jitter or raise the delay
run sack --queue 0 | A queue of 0 is not possible | from 1 to 1000000
run sack --queue 1.5 | finer than a number of packets | Write it like 1000
run sack --duration 0s | A flow of 0s is not possible | from 1s to 86400s
run sack --window 1 | A window of 1B is too small | at least 2KiB
run sack --repeat 0 | '--repeat': 0 | 1<=x<=1000
run sack --seed -1 | '--seed': -1 | 0<=x
run sack --loss 1% --set loss=2% | loss is set twice | Leave out --loss or --set loss
run sack --set loss | Missing '=' in --set 'loss' | Write --set NAME=VALUE
run sack --set loss= | '' is not a percentage | such as 10%
run sack --set loss=1%,2% | loss has several values | ./tcplab sweep takes many
run sack --set loss=1% --set loss=2% | loss is set twice | all its values into one --set
run sack --set foo=1 | no parameter 'foo' | Its parameters are bw, delay
run sack --kernel 9.9 | no kernel '9.9' | Choose from 7.2
run sack --kernel 7.2+no.patch | no patch no.patch | Name a file that patch(1) takes
run sack --set topology.links.9.rightward.queue=5 | topology.links.9: no such place | --dry-run
run sack --set topology.links.1.rightward.quue=5 | no field 'quue' | the fields are bandwidth
run sack --set topology.mtu=1 | A mtu of 1B | from 576B
run sack --set topology.segmentation=maybe | cannot be 'maybe' | Choose from off, on
run sack --set flows.0.windw=64KiB | no field 'windw' | the fields are name, sender
run sack --set flows.1.window=64KiB | flows.1: no such place | See the fields: --dry-run
run sack --set flows.0.port=99999 | flows.0.port cannot be '99999' | from 1 to 65535
run sack --set flows.0.ecn=yes | flows.0.ecn cannot be 'yes' | off, classic, accurate
run sack --set flows.0.receiver=h9 | names h9, which is no host | Hosts are h1, h2
run sack --set flows.0.receiver=h1 | goes from h1 to itself | Name two hosts
run sack --loss 0% --set link.gemodel='p=1% r=9% p=2%' | has a parameter twice | Write each once
run sack --set flows.0.congestion_control=bbrr | no congestion control 'bbrr' | Choose from bbr
run sack --set flows.0.traffic=page | traffic, and settings of iperf | Leave out rate
run cubic_vs_reno --cc cubic+bbrr | no congestion control 'bbrr' | Choose from bbr
run sack --set net.ipv4.tcp_congestion_control=bbrr | congestion control 'bbrr' | Choose from bbr
run sack --set net.ipv4.tcp_reodering=5 | no sysctl | Do you mean net.ipv4.tcp_reordering?
run --studies mine stray | names h9, which is no host | Hosts are h1, h2
run sack --set link.discipline=fq_codl | discipline 'fq_codl' | Do you mean fq_codel?
run sack --set link.foo=1 | The link has no field 'foo' | Its fields are back_trace, bandwidth
run sack --set link.order=foo | 'foo' is not one of free, kept | Correct it
run sack --set link.target=5ms | fifo has no parameter 'target' | --set link.discipline=fq_codel
run sack --set link.discipline=codel --set link.limt=5 | no field 'limt' | Its fields are
run sack --set link.discipline=codel --set link.target=0s | A target of 0s | Choose 1us to 1s
run sack --set link.discipline=codel --set link.ecn=maybe | ecn cannot be 'maybe' | on or off
run sack --set link.discipline=cake --set link.diffserv=9 | diffserv cannot be '9' | besteffort
run sack --set link.discipline=dualpi2 --kernel 6.1 | Linux 6.1 lacks | Choose another kernel
run l4s_coexistence --kernel 6.12 | needs accurate ECN | Choose another kernel
run sack --set link.gemodel='p=1% r=5%' | lose 10% and follow a gemodel | Leave out one
run sack --loss 0% --set link.gemodel=p=1% | lacks p or r | Write 'p=1% r=25%'
run sack --loss 0% --set link.gemodel='p=2 r=1%' | '2' is not a percentage | such as 10%
run sack --loss 0% --set link.gemodel='p=0.25252525% r=25%' | more digits | such as 0.252525%
run sack --set link.trace=no.trace | Trace no.trace: No such file | slow_sine or on_off
run sack --set link.trace=empty.trace | has no time above 0 | Its last line is its length
run sack --set link.trace=down.trace | down.trace:2: 3 comes after 5 | Sort the times
run sack --set link.trace=words.trace | words.trace:1: 'hello' | one time a line
run sack --set link.trace=on_off --set link.bandwidth=1mbit | trace and a bandwidth | Leave out one
run playground --change 5s | '5s' changes no link | Write '5s bw=2mbit
run playground --change '5s foo=2mbit' | is no change of a link | There are bw, delay
run playground --change '100h bw=1mbit' | changes no link within 10s | Write '5s
{TRAFFIC}web | no traffic 'web' | Choose from requests
{TRAFFIC}'page objets=3' | no parameter 'objets' | Do you mean objects?
{TRAFFIC}'requests size' | size has no value | Write size=VALUE
{TRAFFIC}'requests size=normal:1kB' | 'normal:1kB' is not a size | such as 128KiB
{TRAFFIC}'requests size=pareto:1:1kB' | no shape of a Pareto | Write pareto:1.2:10kB
{TRAFFIC}'requests size=20kB..10kB' | no values from 20kB..10kB | Write size=10kB..20kB
{TRAFFIC}'page connections=0' | not possible for connections | Choose one from 1
{TRAFFIC}'users users=0' | not possible for users | Choose one from 1
{TRAFFIC}'paced rate=0mbit' | not possible for rate | Choose one from 1bit
{TRAFFIC}'ping interval=0s' | not possible for interval | Choose one from 1ns
{TRAFFIC}'ping interval=1us' | more than 20,000 exchanges | Let it make fewer
{TRAFFIC}'ping size=70kB' | not possible for size | from 1B to 65507B
run sack --metric 'p95 delay[probe]' | There is no flow 'probe' | There are flow1
run sack --metric 'goodput@20s..10s' | The window from 20 s to 10 s is empty | Write @20s..60s
run sack --metric 'goodput@90s..' | outside the run | Choose another window
run sack --metric 'goodput[' | cannot be read at '[' | Write it as goodput[bbr*]
sweep sack --set loss=1%,1% | loss has the value 1% twice | Name each value once
sweep sack --set loss=1%,2% --seeds 5-3 | The seeds are none | Write 30 for 1 to 30
sweep sack --set loss=1%,2% --until 0% | cannot be that exact | Write --until 2%
sweep sack --set loss=1%,2% --compare bw | 'bw' cannot be compared | Choose from condition, loss
sweep sack --set jitter=5ms,50ms --set delay=10ms | above the delay | Leave those values out
sweep sack --set link.discipline=fifo,codl | discipline 'codl' | Do you mean codel?
sweep sack --set kernel=6.1,9.9 | no kernel '9.9' | Leave those values out
sweep sack --set link.queue=1,10 --set link.discipline=gred,fq | too short for gred | Leave those
sweep nameless.toml | it names no experiment | Write experiment =
sweep odd.toml | no 'foo' in a sweep | There are experiment
sweep broken.toml | cannot be read as a sweep | Write it in TOML
"""


@pytest.mark.parametrize("line", BAD.splitlines())
def test_bad_input_is_one_sentence_with_its_remedy_before_anything_runs(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words, problem, remedy = line.split(" | ")
    for name, text in FILES.items():
        file = tmp_path / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
    monkeypatch.chdir(tmp_path)
    with forgotten(monkeypatch, "stray"):
        done = CliRunner().invoke(tcplab, [*shlex.split(words), "--dry-run"])
    assert done.exit_code == 2, done.output
    sentence = done.output.partition("Error: ")[2]
    assert problem in sentence, done.output
    assert remedy in sentence.partition(problem)[2], sentence
    assert "Traceback" not in done.output and done.output.count("Error: ") == 1
    left = {str(file.relative_to(tmp_path)) for file in tmp_path.rglob("*") if file.is_file()}
    assert {name for name in left if "__pycache__" not in name} == set(FILES), "nothing is written"
