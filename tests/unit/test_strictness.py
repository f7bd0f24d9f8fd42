"""`--strict`: only a good network passes, and what it was else is said."""

import json
from pathlib import Path

import pytest

from experiments.run.report import require_good_network, require_good_points
from topologies.errors import TcplabError


def run(folder: Path, **manifest: object) -> Path:
    (folder / "manifest.json").write_text(json.dumps(manifest))
    return folder


def test_a_good_network_passes(tmp_path: Path) -> None:
    require_good_network(run(tmp_path, network={"verdict": "good", "reasons": ["All is well."]}))
    require_good_points({"good": 30})
    require_good_points({})


@pytest.mark.parametrize("verdict", ["usable with care", "not to be used"])
def test_any_other_fails_with_its_first_reason(tmp_path: Path, verdict: str) -> None:
    network = {"verdict": verdict, "reasons": ["The link was short.", "And slow."]}
    with pytest.raises(TcplabError, match=rf"The network is {verdict}: The link was short\. "):
        require_good_network(run(tmp_path, network=network))


def test_a_run_that_was_not_judged_fails(tmp_path: Path) -> None:
    with pytest.raises(TcplabError, match="gave no verdict"):
        require_good_network(run(tmp_path))


def test_points_that_are_not_good_are_counted() -> None:
    with pytest.raises(TcplabError, match="of 3 points is not good: 2 usable with care, 1 not"):
        require_good_points({"good": 30, "usable with care": 2, "not to be used": 1})
