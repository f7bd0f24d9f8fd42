"""Traffic of applications: what each seed draws."""

import asyncio
import errno
from dataclasses import replace
from typing import Any, Never

import pytest

from experiments.flows.exchanges import _end, _of_network
from experiments.flows.traffic import TRAFFIC, planned
from experiments.run.seed import drawn
from experiments.spec import Condition, ExperimentSpec, Flow
from topologies.data import from_data, to_data
from topologies.errors import UsageError
from topologies.shapes import two_hosts
from topologies.spec import Channel
from topologies.units import Duration, Rate

FLOW = Flow("app", "h1", "h2", Duration.parse("10s"))


def exchanges(text: str, seed: str = "1") -> list[Any]:
    return list(planned(FLOW.name, text, FLOW.duration, seed))


@pytest.mark.parametrize("name", TRAFFIC)
def test_every_kind_is_the_same_for_a_seed_and_within_the_flow(name: str) -> None:
    found = exchanges(name)
    assert found == exchanges(name)
    assert all(each.at < FLOW.duration for each in found if not each.after)
    assert found


@pytest.mark.parametrize("name", ["requests", "users", "page", "onoff"])
def test_another_seed_draws_another_traffic(name: str) -> None:
    assert exchanges(name, "1") != exchanges(name, "2")


def test_draws_have_the_mean_that_they_name() -> None:
    sizes = [each.size.base for each in exchanges("page objects=5000 size=exp:20kB")]
    assert sum(sizes) / len(sizes) == pytest.approx(20_000, rel=0.05)
    spread = [each.size.base for each in exchanges("page objects=5000 size=1kB..3kB")]
    assert 1000 <= min(spread) < max(spread) <= 3000
    heavy = [each.size.base for each in exchanges("page objects=5000 size=pareto:1.5:1kB")]
    assert min(heavy) >= 1000
    assert max(heavy) > 50_000


def test_a_paced_application_offers_its_rate() -> None:
    offered = sum(8 * each.size.base for each in exchanges("paced rate=2mbit"))
    assert offered == pytest.approx(20e6, rel=0.01)


def test_traffic_and_settings_of_iperf_exclude_each_other() -> None:
    with pytest.raises(UsageError, match="settings of iperf"):
        replace(FLOW, traffic="page", rate=Rate.parse("1mbit"))


def test_a_seed_resolves_the_traffic_of_its_flows() -> None:
    topology = two_hosts(Channel(Rate.parse("1mbit")))
    flow = replace(FLOW, traffic="requests")
    spec = ExperimentSpec("x", "X.", topology, (flow,), (Condition("as", "as"),))
    one, other = (drawn(spec, seed)[0] for seed in (1, 2))
    assert one.flows[0].exchanges
    assert one.flows[0].exchanges != other.flows[0].exchanges
    assert from_data(ExperimentSpec, to_data(one)) == one


def test_hosts_of_flows_agree_about_ecn() -> None:
    topology = two_hosts(Channel(Rate.parse("1mbit")))
    flows = replace(FLOW, ecn="off"), replace(FLOW, name="b", port=5002, ecn="accurate")
    with pytest.raises(UsageError, match="cannot have ECN both off and accurate"):
        ExperimentSpec("x", "X.", topology, flows, (Condition("as", "as"),))


@pytest.mark.parametrize("number", [errno.ETIMEDOUT, errno.ECONNRESET, errno.EHOSTUNREACH])
def test_errors_of_the_network_have_a_name(number: int) -> None:
    assert _of_network(OSError(number, "")) == errno.errorcode[number]
    assert _of_network(EOFError()) == "EOF"


@pytest.mark.parametrize("error", [OSError(errno.EMFILE, ""), OSError(), ValueError()])
def test_no_other_error_is_taken_for_the_networks(error: Exception) -> None:
    with pytest.raises(type(error)):
        _of_network(error)


def test_the_error_of_a_task_is_raised_at_the_end() -> None:
    async def fails() -> Never:
        raise ValueError

    async def all_of_them() -> None:
        tasks = [asyncio.create_task(asyncio.sleep(9)), asyncio.create_task(fails())]
        await asyncio.sleep(0)
        await _end(tasks)

    with pytest.raises(ValueError):
        asyncio.run(all_of_them())
