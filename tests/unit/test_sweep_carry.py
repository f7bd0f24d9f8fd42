"""How a plan is carried out, with an engine that makes up its records."""

import json
import random
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars
import pytest

from experiments.sweep.point import Record, measured_rows, origin
from experiments.sweep.results import GridSweep
from experiments.sweep.run import PointRunner, Watch, carry_out
from experiments.sweep.store import FILE, results, take_known
from tests.analysis.made_networks import MadeNetwork
from tests.unit.made_sweeps import LAB, Engine, carry, content, record, sack_plan, steady
from topologies.errors import TcplabError


def test_the_table_is_in_order_whatever_the_order_of_the_results(tmp_path: Path) -> None:
    planned = sack_plan("loss=1%,5%", seeds=(3, 1, 2))
    folders = [carry(planned, tmp_path / name, Engine(steady, None)) for name in "ab"]
    table = polars.read_csv(folders[0] / "rows.csv")
    assert table.select("loss", "seed", "condition").rows() == [
        (loss, seed, condition)
        for loss in ("1%", "5%")
        for seed in (1, 2, 3)
        for condition in ("sack_off", "sack_on")
    ]
    assert table["loss_percent"].to_list() == [1.0] * 6 + [5.0] * 6
    assert (folders[0] / "rows.csv").read_bytes() == (folders[1] / "rows.csv").read_bytes()


def test_each_point_keeps_its_series(tmp_path: Path) -> None:
    """A point of an older tcplab has none, and another version's are left out."""

    def made(data: Any, seed: int) -> Record:
        row = ["sack_on", "flow1", "rate", 8, *range(80)]
        return record(200.0) | {"series": {"version": 1 if seed < 3 else 99, "rows": [row]}}

    planned = sack_plan("loss=1%,5%", seeds=(1, 2, 3))
    folder = carry(planned, tmp_path, Engine(made))
    head, *lines = (folder / "series.csv").read_text().splitlines()
    assert head.startswith("point,loss,seed,condition,flow,quantity,seconds,1,2,")
    assert [line.split(",")[1:9] for line in lines] == [
        [loss, seed, "sack_on", "flow1", "rate", "8", "0", "1"]
        for loss in ("1%", "5%")
        for seed in "12"
    ]
    with closing(sqlite3.connect(tmp_path / FILE)) as connection, connection:
        connection.execute("alter table points drop column series")
        connection.execute("pragma user_version = 2")
    engine = Engine(made)
    folder = carry(planned, tmp_path, engine)
    assert (engine.ran, len((folder / "series.csv").read_text().splitlines())) == ([], 1)


def test_points_of_another_computer_are_taken(tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    failing = Engine(lambda data, seed: steady(data, seed) if seed != 4 else 1 // 0)
    carry(sack_plan(seeds=(2, 3, 4)), there, failing)
    carry(sack_plan(seeds=(1, 2)), here, Engine(lambda data, seed: record(100.0)))
    before = (there / FILE).read_bytes()
    take_known([there, there], here)
    engine = Engine(steady)
    folder = carry(sack_plan(seeds=(1, 2, 3, 4)), here, engine)
    assert engine.ran == [4]  # it had failed there
    rates = polars.read_csv(folder / "rows.csv")["goodput_kbit_s"].to_list()
    assert rates == [100, 150, 100, 150, 203, 253, 204, 254]  # those here stay
    assert (there / FILE).read_bytes() == before


@pytest.mark.parametrize("content", [None, b"", b"no database"])
def test_a_folder_without_points_is_named(tmp_path: Path, content: bytes | None) -> None:
    if content is not None:
        (tmp_path / FILE).write_bytes(content)
    problem = "does not exist" if content is None else "cannot be read"
    with pytest.raises(TcplabError, match=f"{FILE} {problem}"):
        take_known([tmp_path], tmp_path / "here")
    assert not list((tmp_path / "here").glob("points.sqlite-journal"))


def test_what_is_known_is_not_run_again(tmp_path: Path) -> None:
    engine = Engine(steady)
    first = carry(sack_plan("loss=1%,5%", seeds=(1, 2)), tmp_path, engine)
    second = carry(sack_plan("loss=1%,5%", seeds=(1, 2)), tmp_path, engine)
    assert (len(engine.ran), engine.opened) == (4, 1)
    assert (first / "rows.csv").read_bytes() == (second / "rows.csv").read_bytes()
    counts = {"wanted": 4, "done": 4, "reused": 4, "failed": 0, "unproved": 0}
    assert content(second)["points"] == counts


def test_more_seeds_and_values_run_only_what_is_new(tmp_path: Path) -> None:
    engine = Engine(steady)
    carry(sack_plan("loss=1%", seeds=(1, 2)), tmp_path, engine)
    carry(sack_plan("loss=1%,5%", seeds=(1, 2, 3)), tmp_path, engine)
    assert len(engine.ran) == 2 + 4


def test_a_doubtful_network_is_told_with_the_seed_of_its_point(tmp_path: Path) -> None:
    run = MadeNetwork().write(tmp_path)
    evidence = {"held": True, "warnings": ["Data was cut off."], "proofs": []}
    (run / "raw/seed-1/only/evidence.json").write_text(json.dumps(evidence))
    spec = json.loads((run / "spec.json").read_text())
    network = measured_rows(run / "raw/seed-1", spec, 7)["network"]
    assert "only, seed 7: Data was cut off." in network["reasons"]


def test_what_many_points_warn_of_is_told_once(tmp_path: Path) -> None:
    def made(data: Any, seed: int) -> Record:
        warned = [f"Seed {seed}, SACK off: Data was cut off."] if seed > 1 else []
        alone = [f"Seed {seed}, SACK on: The clock ran late."] if seed == 3 else []
        return record(200.0) | {"warnings": [*warned, *alone]}

    folder = carry(sack_plan("loss=1%,5%", seeds=(1, 2, 3)), tmp_path / "grid", Engine(made))
    assert content(folder)["warnings"] == [
        "4 points, the first loss 1%, seed 2, SACK off: Data was cut off.",
        "2 points, the first loss 1%, seed 3, SACK on: The clock ran late.",
    ]
    folder = carry(sack_plan(seeds=(3,)), tmp_path / "one", Engine(made))
    assert content(folder)["warnings"] == [
        "The experiment as it is, seed 3, SACK off: Data was cut off.",
        "The experiment as it is, seed 3, SACK on: The clock ran late.",
    ]


def test_a_point_that_is_removed_meanwhile_is_left_out(tmp_path: Path) -> None:
    """Records are on the disk only, from which another command may remove them."""

    def made(data: Any, seed: int) -> Record:
        if len(engine.ran) == 3:
            with results(tmp_path) as memory:
                memory.forget([kept.key for kept in memory.listed()])
        return steady(data, seed)

    engine = Engine(made)
    folder = carry(sack_plan(seeds=(1, 2, 3)), tmp_path, engine)
    assert set(polars.read_csv(folder / "rows.csv")["seed"]) == {engine.ran[-1]}
    points = content(folder)["points"]
    assert (points["wanted"], points["done"], points["failed"]) == (3, 1, 0)


def test_force_runs_everything_again(tmp_path: Path) -> None:
    engine = Engine(steady)
    carry(sack_plan(seeds=(1, 2)), tmp_path, engine)
    carry(sack_plan(seeds=(1, 2)), tmp_path, engine, force=True)
    assert sorted(engine.ran) == [1, 1, 2, 2]


def test_an_interrupted_sweep_goes_on_where_it_was(tmp_path: Path) -> None:
    planned = sack_plan("loss=1%,5%", seeds=(1, 2, 3))
    stopped = Engine(steady, stop_after=4)
    with pytest.raises(KeyboardInterrupt):
        carry(planned, tmp_path, stopped)
    (kept,) = (each for each in (tmp_path / "sweeps").glob("2*"))
    assert (content(kept)["status"], content(kept)["points"]["done"]) == ("interrupted", 4)
    assert polars.read_csv(kept / "rows.csv").height == 8
    engine = Engine(steady)
    folder = carry(planned, tmp_path, engine)
    assert len(engine.ran) == 2
    fresh = carry(planned, tmp_path / "fresh", Engine(steady))
    assert (folder / "rows.csv").read_bytes() == (fresh / "rows.csv").read_bytes()


def test_another_lab_makes_other_points(tmp_path: Path) -> None:
    engine = Engine(steady)
    planned = sack_plan(seeds=(1,))
    carry(planned, tmp_path, engine)
    other = replace(LAB, digests={**LAB.digests, "whole": "another"})
    carry_out(GridSweep(planned), tmp_path, PointRunner(other, engine, "two"), Watch())
    assert len(engine.ran) == 2


def test_points_differ_by_seed_and_spec_and_not_by_words(tmp_path: Path) -> None:
    source = origin(LAB)
    one, other = sack_plan("loss=1%,5%").combinations
    assert (
        len({source.point(one, 1).key, source.point(one, 2).key, source.point(other, 1).key}) == 3
    )
    assert source.point(one, 1).key == source.point(sack_plan("loss=1%,2%").combinations[0], 1).key


def test_failed_points_are_listed_with_their_log_and_tried_again(tmp_path: Path) -> None:
    def made(_data: Any, seed: int) -> Record:
        if seed == 2:
            failed = {"status": "failed", "problem": "It broke.", "log": "last words"}
            return {**failed, "rows": [], "warnings": []}
        if seed == 3:
            raise ArithmeticError("a bug")
        return steady(_data, seed)

    engine = Engine(made)
    folder = carry(sack_plan(seeds=(1, 2, 3)), tmp_path, engine)
    sweep = content(folder)
    assert sweep["points"] == {"wanted": 3, "done": 1, "reused": 0, "failed": 2, "unproved": 0}
    broke, bug = sweep["failures"]
    assert (broke["seed"], broke["problem"]) == (2, "It broke.")
    assert broke["repeat"] == "./tcplab run sack --seed 2 --repeat 1"
    assert "last words" in (folder / broke["log"]).read_text()
    assert "a bug" in bug["problem"]
    assert "Traceback of it" in (folder / bug["log"]).read_text()
    carry(sack_plan(seeds=(1, 2, 3)), tmp_path, engine)
    assert sorted(engine.ran) == [1, 2, 2, 3, 3]


def test_unproved_points_are_listed_left_out_and_not_tried_again(tmp_path: Path) -> None:
    engine = Engine(lambda _data, seed: record(200.0, "unproved" if seed == 2 else "complete"))
    folder = carry(sack_plan(seeds=(1, 2)), tmp_path, engine)
    assert polars.read_csv(folder / "rows.csv")["seed"].unique().to_list() == [1]
    assert [failure["seed"] for failure in content(folder)["failures"]] == [2]
    carry(sack_plan(seeds=(1, 2)), tmp_path, engine)
    assert sorted(engine.ran) == [1, 2]


def test_until_stops_where_the_interval_is_narrow_enough(tmp_path: Path) -> None:
    def made(data: Any, seed: int) -> Record:
        """Steady at 1 % loss, wild at 5 %."""
        wild = data["topology"]["links"][1]["rightward"]["loss"] == "5%"
        return record(1000.0 + (random.Random(seed).gauss(0, 300) if wild else seed % 3))

    engine = Engine(made)
    folder = carry(
        sack_plan("loss=1%,5%", seeds=tuple(range(1, 101)), until=0.05), tmp_path, engine
    )
    runs = polars.read_csv(folder / "rows.csv").group_by("loss").agg(polars.col("seed").n_unique())
    counts = dict(runs.rows())
    assert counts["1%"] == 10
    assert 20 <= counts["5%"] <= 100
    assert content(folder)["until"] == 0.05


def test_until_ends_with_the_seeds(tmp_path: Path) -> None:
    engine = Engine(lambda _data, seed: record(1000.0 * (1 + seed % 2)))
    carry(sack_plan(seeds=tuple(range(1, 16)), until=0.001), tmp_path, engine)
    assert sorted(engine.ran) == list(range(1, 16))


def test_the_memory_lists_finds_and_forgets(tmp_path: Path) -> None:
    carry(sack_plan("loss=1%,5%", seeds=(1, 2)), tmp_path, Engine(steady))
    with results(tmp_path) as memory:
        listed = memory.listed()
        assert {(kept.experiment, kept.combination["loss"], kept.seed) for kept in listed} == {
            ("sack", loss, seed) for loss in ("1%", "5%") for seed in (1, 2)
        }
        kept, record = memory.single(listed[0].key[:12])
        assert (kept, record["rows"][0]["condition"]) == (listed[0], "sack_off")
        memory.forget([listed[0].key])
        assert len(memory.listed()) == 3
        assert memory.done([kept.key for kept in listed]).keys() == {
            kept.key for kept in listed[1:]
        }


def test_a_damaged_memory_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(b"no database at all" * 100)
    with pytest.raises(TcplabError, match="moved away"), results(tmp_path):
        pass


def test_a_newer_memory_is_refused(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / FILE)) as connection, connection:
        connection.execute("pragma user_version = 99")
    connection.close()
    with pytest.raises(TcplabError, match="newer tcplab"), results(tmp_path):
        pass


def test_a_folder_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(TcplabError, match="--out"), results(tmp_path / "file/runs"):
        pass
