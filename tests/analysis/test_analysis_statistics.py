"""The figures that readers see."""

from __future__ import annotations

from analysis.fmt import spread, written


def test_figures_are_written_for_readers() -> None:
    assert [written(value) for value in (1048636, 0, 94.5, 267.4, 0.3961, -3)] == [
        "1,048,636",
        "0",
        "94.5",
        "267",
        "0.396",
        "-3",
    ]
    assert spread([3.0, 1.0, 2.0]) == "2 (1 to 3)"
    assert spread([4.0, 4.0]) == "4"
    assert spread([]) == "\N{EN DASH}"
