"""Programs that read the clock: each read takes a little time, and no clock goes back."""

import ctypes
import mmap
import os
import select
import threading
import time
from collections.abc import Iterator
from itertools import pairwise

import pytest

from experiments.programs.links import channel
from experiments.programs.network import Network
from experiments.programs.start import NetworkOptions, started
from tests.virtual.conftest import ROOT
from topologies.shapes import two_hosts

pytestmark = pytest.mark.virtual
SINCE_BOOT = ("CLOCK_MONOTONIC", "CLOCK_MONOTONIC_RAW", "CLOCK_BOOTTIME")
OF_THE_DAY = ("CLOCK_REALTIME", "CLOCK_TAI")
READ_TIME_STAMP = bytes.fromhex("0f31 48c1e220 4809d0 c3")  # rdtsc; shl $32, %rdx; or; ret


def reads(count: int) -> int:
    begun = time.monotonic_ns()
    for _ in range(count):
        time.time()
    return time.monotonic_ns() - begun


def smallest_step(values: list[int]) -> int:
    return min(later - earlier for earlier, later in pairwise(values))


def smallest_step_of_clocks(names: list[str], count: int) -> int:
    """Return the least nanoseconds from one read to the next, each of another clock."""
    clocks = [getattr(time, name) for name in names]
    found = [time.clock_gettime_ns(clocks[each % len(clocks)]) for each in range(count)]
    alike = [time.monotonic_ns() for _ in range(count)]
    return min(smallest_step(found), smallest_step(alike))


def coarse_lag() -> tuple[int, int]:
    """Return by how much the coarse clock was behind the exact one, at least and at most."""
    lags = []
    for _ in range(500):
        coarse = time.clock_gettime_ns(6)  # CLOCK_MONOTONIC_COARSE
        lags.append(time.monotonic_ns() - coarse)
        time.sleep(0.0001)
    return min(lags), max(lags)


def time_stamps(count: int) -> tuple[int, int, int]:
    """Return the smallest step of the counter, and its distances to reads before and after."""
    code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    code.write(READ_TIME_STAMP)
    place = ctypes.addressof(ctypes.c_char.from_buffer(code))
    read = ctypes.CFUNCTYPE(ctypes.c_uint64)(place)
    rows = [(time.monotonic_ns(), read(), time.monotonic_ns()) for _ in range(count)]
    stamps = [read() for _ in range(count)]
    before, after = min(row[1] - row[0] for row in rows), min(row[2] - row[1] for row in rows)
    return smallest_step(stamps), before, after


def child_and_threads() -> tuple[int, int]:
    """Return the smallest step of a clock that two processes, and four threads, read in turn."""
    source, sink = os.pipe()
    before = time.monotonic_ns()
    if not (child := os.fork()):
        os.write(sink, b"%d" % time.monotonic_ns())
        os._exit(0)
    os.waitpid(child, 0)
    between = int(os.read(source, 64))
    found: list[int] = []

    def read() -> None:
        for number in range(500):
            found.append(time.monotonic_ns())
            if number % 7 == 0:
                time.sleep(0)

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return min(between - before, time.monotonic_ns() - between), smallest_step(found)


def spin() -> float:
    begun, poll = time.monotonic(), select.poll()
    while time.monotonic() - begun < 1.0:
        poll.poll(0)
    return time.monotonic() - begun


@pytest.fixture
def network(ready_lab) -> Iterator[Network]:
    with started(two_hosts(channel()), 1, None, NetworkOptions(project=ROOT)) as running:
        yield running


def test_a_read_takes_about_as_long_as_on_a_computer(network: Network) -> None:
    assert 5_000_000 <= network.h1.call(reads, 100_000) <= 10_000_000


@pytest.mark.parametrize("names", [SINCE_BOOT, OF_THE_DAY])
def test_no_clock_repeats_or_goes_back(network: Network, names: tuple[str, ...]) -> None:
    assert network.h1.call(smallest_step_of_clocks, list(names), 2_000) > 0


def test_a_coarse_clock_is_at_most_two_ticks_behind(network: Network) -> None:
    least, most = network.h1.call(coarse_lag)
    assert least >= 0 and most <= 2_000_000


def test_the_time_stamp_counter_agrees_with_the_clock(network: Network) -> None:
    assert min(network.h1.call(time_stamps, 500)) > 0


def test_a_child_and_threads_continue_the_clock(network: Network) -> None:
    of_the_child, of_the_threads = network.h1.call(child_and_threads)
    assert of_the_child > 0 and of_the_threads > 0


def test_a_spin_ends_just_in_time_and_is_named(ready_lab) -> None:
    with started(two_hosts(channel()), 1, None, NetworkOptions(project=ROOT)) as network:
        assert 1.0 <= network.h1.call(spin) <= 1.01
        network.end()
        (wait,) = network.waits
        assert "python" in wait and "in a loop once" in wait and network.unrepeatable == ""
