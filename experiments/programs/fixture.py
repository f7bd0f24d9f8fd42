"""The fixture `network` of tests: a network of which the files stay if the test fails."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from contextlib import ExitStack, nullcontext
from pathlib import Path
from typing import Any

from experiments.programs.link import channel
from experiments.programs.network import Host, Network
from experiments.programs.start import Aloud, NetworkOptions, options_and_link, started
from experiments.programs.story import story
from experiments.programs.twice import AGAIN, differences
from testbed.host.scratch import scratch
from topologies.foundation.errors import UsageError
from topologies.topology_spec import TopologySpec
from topologies.two_hosts import two_hosts

SEED = "seed"
"""The file with the seed of a failed test."""


class NetworkFixture:
    """A network that is not started yet, and then stands for the one that is.

    Its files are in a scratch folder, and stay in .tcplab/TEST if the test fails. `usual` are the
    options of a network without other ones; `aloud` is a context for what a user waits for.
    """

    def __init__(
        self, usual: Mapping[str, Any], kept: Path, seed: int, aloud: Aloud = nullcontext
    ) -> None:
        self.network: Network | None = None
        self.seed, self.has_failed = seed, False
        self._usual, self._kept, self._aloud = usual, kept, aloud
        self._stack, self._running = ExitStack(), ExitStack()
        self._place = self._scratch = Path()

    def __enter__(self) -> NetworkFixture:
        shutil.rmtree(self._kept, ignore_errors=True)
        self._scratch = self._stack.enter_context(scratch())
        self._place = self._scratch / "run"
        return self

    def __exit__(self, *_error: object) -> None:
        with self._stack:
            self._running.close()
            if self.has_failed:
                self._keep()

    def two_hosts(self, **settings: Any) -> tuple[Host, ...]:
        """Start h1 and h2 with a link such as delay="150ms" between them, and return both.

        Other settings are those of NetworkOptions.
        """
        options, link = options_and_link(settings)
        return self.build(two_hosts(channel(**link)), **options).hosts

    def build(self, topology: TopologySpec, **options: Any) -> Network:
        """Start a network with the options of NetworkOptions. Raises UsageError for a second."""
        if self.network:
            raise UsageError("This test has a network already.", "Use one network in a test.")
        chosen = NetworkOptions(**{**self._usual, **options})
        self.network = self._running.enter_context(
            started(topology, self.seed, self._place, chosen, self._aloud)
        )
        return self.network

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or self.network is None:
            raise AttributeError(f"There is no {name}: call two_hosts() or build() first.")
        return getattr(self.network, name)

    def again(self) -> None:
        """End the network, so that the test can run once more."""
        self._running.close()
        self._place, self.network = self._scratch / AGAIN, None

    def differences(self, first: Network) -> list[str]:
        """End the network, and return its differences from the first as sentences."""
        self._running.close()
        if self.network is None:
            return ["A network was started once only."]
        return differences(first, self.network)

    def _outputs(self) -> dict[str, str]:
        programs = self.network.programs.values() if self.network else ()
        return {
            f"{number}. {program.host}: {' '.join(program.argv)}": program.stdout + program.stderr
            for number, program in enumerate(programs, 1)
        }

    def _keep(self) -> None:
        """Keep captures and logs, what programs printed, and the seed."""
        shutil.copytree(self._scratch, self._kept, dirs_exist_ok=True)
        (self._kept / SEED).write_text(f"{self.seed}\n")
        for name, text in self._outputs().items():
            (self._kept / f"program-{name.partition('.')[0]}.log").write_text(f"{name}\n{text}")

    @property
    def story(self) -> str:
        """The orders and the outputs, for the message of a failed test."""
        return story(self.network) if self.network else "No network was started."

    @property
    def properties(self) -> list[tuple[str, object]]:
        """The properties of the test in JUnit's file."""
        if not self.network:
            return [("tcplab_seed", self.seed)]
        return [("tcplab_seed", self.seed), ("virtual_seconds", round(self.network.now, 6))]
