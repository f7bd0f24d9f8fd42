"""One host of two does all that a stranger's program can; the other observes all that it can.

    python -m tests.virtual.test_strangers FOLDER    # print both tables of this machine

The tables, which people have read, are in strangers.txt.
"""

import json
import sys
from collections import defaultdict
from pathlib import Path
from textwrap import wrap

import pytest

from experiments.own_transport import OwnTransportParameters, experiment
from experiments.spec import ExperimentSpec
from topologies.units import Duration, Share, Size

pytestmark = pytest.mark.virtual
TABLE = Path(__file__).with_name("strangers.txt")


def spec(folder: Path) -> ExperimentSpec:
    """Return a network whose hosts run the actor and the observer."""
    sender, receiver = folder / "sender.py", folder / "receiver.py"
    parts = ("attack_values.py", "stranger_actor.py")
    sender.write_text("".join(TABLE.with_name(name).read_text() for name in parts))
    receiver.write_text(TABLE.with_name("stranger_observer.py").read_text())
    parameters = OwnTransportParameters(
        loss=Share(0),
        amount=Size.parse("1kB"),
        duration=Duration.parse("1min"),
        sender=str(sender),
        receiver=str(receiver),
    )
    return experiment(parameters)


def tables(out: Path) -> list[str]:
    """Return the calls that are not refused, and what the observer saw of each deed."""
    printed = (out / "own/flow1.client.txt").read_text().splitlines()
    actor = json.loads(next(line for line in printed if line.startswith("{")))
    lines = ["# calls that are made, of those that are generated; the others fail with EPERM"]
    for number, (refused, made) in sorted(actor["outcome"].items(), key=lambda row: int(row[0])):
        if refused < made:
            lines.append(f"{number}: {made - refused} of {made}")
    lines.append("# calls that may be made with some values, and are not generated:")
    lines += wrap(" ".join(map(str, actor["skipped"])), 90)
    lines.append("# what another host observes of a deed")
    seen: dict[str, set[str]] = defaultdict(set)
    for line in (out / "own/flow1.server.txt").read_text().splitlines():
        if line.startswith("[") and line.endswith("]"):
            at, name, _before, _after = json.loads(line)
            seen[actor["steps"][at]].add(name)
    lines += [f"{step}: {', '.join(sorted(seen[step]))}" for step in actor["steps"] if seen[step]]
    return lines


@pytest.fixture(scope="module")
def observed(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    return run(tmp_path_factory.mktemp("strangers"))


def run(folder: Path) -> list[str]:
    """Run both programs, and return the tables."""
    from testbed.host.supervise import Limits
    from testbed.lab.ready import lab
    from testbed.virtual.run import run_in_guest
    from topologies.data import to_data

    out = folder / "out"
    out.mkdir()
    data = to_data(spec(folder))
    procedure = "experiments.flows.procedure"
    run_in_guest(lab(), procedure, data, 7, out, lambda *_: None, Limits(900))
    return tables(out)


def test_what_a_host_observes_of_another_is_known(observed: list[str]) -> None:
    assert observed == TABLE.read_text().splitlines()


if __name__ == "__main__":
    print("\n".join(run(Path(sys.argv[1]))))
