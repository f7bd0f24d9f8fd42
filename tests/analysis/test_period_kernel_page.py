"""Runs on a kernel of a study's time."""

from __future__ import annotations

from pathlib import Path

from analysis.statistics.published import Word
from tests.analysis.made_reproductions import row, run, study, table, write
from tests.analysis.stored_graphs import graphs_of

KERNEL = {
    "linux": "2.6.27",
    "known": "Its text names it.",
    "taken": "3.13",
    "remarks": ["This tcplab does not know Linux 2.6.32."],
}
NEAR_20 = [19.0, 19.5, 20.0, 20.5, 21.0, 22.0]


def test_the_page_counts_by_the_kernel(tmp_path: Path) -> None:
    rows = [
        row(10.0, "a", period=[30.0] * 6, period_kernel=[10.0] * 6),
        row(10.0, "b", period=[10.0] * 6, period_kernel=[20.0] * 6),
        row(10.0, "c", period=[10.0] * 6),
    ]
    result = run(write(tmp_path, study(*rows, kernel=KERNEL), rows=["5 % loss"]))
    page, lines = (tmp_path / "reproduction.html").read_text(), table(tmp_path)
    assert result.exit_code == 0, result.output
    assert [line["outcome"] for line in lines] == [Word.AGREES, Word.DIFFERS, Word.AGREES]
    assert [line["period_kernel_center"] for line in lines] == ["10.0", "20.0", ""]
    assert "Measured, on Linux 3.13" in page
    assert "Linux 2.6.27. Its text names it." in page
    assert "This tcplab does not know Linux 2.6.32." in page
    assert "Selected: rows with 5 % loss." in page
    assert "./tcplab reproduce --quick --rows &#39;5 % loss&#39;" in page
    assert "sack had Linux 2.6.27, repeated on 3.13." in result.output


def test_the_kernel_of_its_time_is_in_the_picture(tmp_path: Path) -> None:
    run(write(tmp_path, study(row(10.0, period_kernel=NEAR_20), kernel=KERNEL)))
    (graph,) = graphs_of((tmp_path / "reproduction.html").read_text())
    words = [layer["words"] for layer in graph["layers"] if layer["marks"]]
    assert words[0] == "kernel of its time" and words[-1] == "published"
