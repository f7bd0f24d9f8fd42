"""Times of networks for programs on this computer, as medians: boot, an order, a whole test.

    python -m tests.tools.program_times [TIMES]

Prints wall milliseconds of the boot until the first order, of an order that does nothing, of a
function that is called in a host, and of a test with its virtual seconds.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from experiments.programs.program import channel
from experiments.programs.start import NetworkOptions, started
from topologies.shapes import two_hosts

_ORDERS = 200


def main(times: int) -> None:
    boots, orders, calls, tests, virtual = [], [], [], [], 0.0
    with tempfile.TemporaryDirectory() as place:
        Path(place).chmod(0o755)
        (Path(place) / "page").write_bytes(b"x" * 100_000)
        options = NetworkOptions(project=place)
        link = channel(delay="150ms", loss="5%")
        for _ in range(times):
            begun = time.monotonic()
            with started(two_hosts(link), 1, None, options) as network:
                boots.append(time.monotonic() - begun)
                for _order in range(_ORDERS):
                    network.sleep("1us")
                orders += [step.wall for step in network.steps]
                one = time.monotonic()
                network.h1.run(["true"])
                calls.append(time.monotonic() - one)
                network.h2.start([sys.executable, "-m", "http.server", "80"], port=80)
                network.h1.run(["curl", "-sS", "-o", "/dev/null", "http://h2/page"])
                network.capture("h1").connections[0].retransmissions  # noqa: B018
                virtual = network.now
            tests.append(
                time.monotonic() - begun - sum(step.wall for step in network.steps[:_ORDERS])
            )
    for name, values in (("boot", boots), ("order", orders), ("program", calls), ("test", tests)):
        print(f"{name:<8} {1000 * median(values):9.2f} ms, least {1000 * min(values):9.2f} ms")
    print(f"the test has {virtual:.3f} virtual seconds, which real time takes too")


if __name__ == "__main__":
    main(int(sys.argv[1]) if sys.argv[1:] else 10)
