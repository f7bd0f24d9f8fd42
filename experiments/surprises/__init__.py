"""The table of surprises: a question, what one expects, and a script in the lab that shows it."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from experiments.programs.links import channel
from experiments.programs.start import NetworkOptions, started
from testbed.host.scratch import scratch
from topologies.errors import TcplabError, UsageError
from topologies.notation import toml_file
from topologies.shapes import two_hosts

_HERE = Path(__file__).parent
PRELUDE = (_HERE / "prelude.txt").read_text(encoding="utf-8")
_LIMIT = "5h"  # of virtual time


@dataclass(frozen=True)
class Surprise:
    """A behaviour that is guessed wrong; `shows` matches the output of `code` or `shell`."""

    name: str
    question: str
    expect: str
    happens: str
    source: str
    shows: str
    code: str = ""
    shell: str = ""
    since: str = ""

    @property
    def command(self) -> tuple[str, ...]:
        if self.code:
            return ("python3", "-c", PRELUDE + self.code)
        return ("bash", "-c", self.shell)

    def is_shown_by(self, output: str) -> bool:
        return re.search(self.shows, output.rstrip("\n"), re.MULTILINE) is not None


@cache
def surprises() -> dict[str, Surprise]:
    rows = toml_file(_HERE / "table.toml")["surprise"]
    return {row["name"]: Surprise(**row) for row in rows}


def find(name: str) -> Surprise:
    """Return a surprise by name. Raises UsageError."""
    if name not in surprises():
        raise UsageError(f"There is no surprise {name}.", "`tcplab surprise` lists them.")
    return surprises()[name]


def outputs(chosen: Sequence[Surprise]) -> list[str]:
    """Run scripts one after the other in host h1 of one network, and return what they printed."""
    topology, options, found = two_hosts(channel()), NetworkOptions(), []
    with scratch() as folder, started(topology, 1, folder, options) as network:
        for surprise in chosen:
            program = network.h1.run(surprise.command, timeout=_LIMIT, check=False)
            found.append(program.stdout + program.stderr)
        return found


def shown(surprise: Surprise) -> str:
    """Return the output of a surprise. Raises TcplabError if it shows something else."""
    (output,) = outputs([surprise])
    if not surprise.is_shown_by(output):
        raise TcplabError(f"{surprise.name} showed something else:\n{output}", "Report it.")
    return output
