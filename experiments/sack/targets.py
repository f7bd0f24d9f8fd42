"""The SACK table. Its second capture has no SACK, so it is compared with runs without SACK."""

from collections.abc import Iterator

from experiments.study.published import Target, as_number, published, study

STUDY = study(__file__)
_COLUMNS = {
    "sack_off": ("SACK off", "sack_off"),
    "sack_on": ("SACK on", "sack_on"),
    "second_capture": ("SACK on (the capture has no SACK)", "sack_off"),
}
"""Columns of published.csv: the published label, and the condition that it is compared with."""


def targets(_quick: bool) -> Iterator[Target]:
    """Yield a target for each number. The server's line without SACK is not published."""
    for row in published(__file__):
        is_iperf = row["quantity"].startswith("iperf")
        for column, (label, condition) in _COLUMNS.items():
            if row[column]:
                yield Target(
                    "sack",
                    label,
                    row["quantity"],
                    row["unit"],
                    as_number(row[column]),
                    (("duration", "10s"),),
                    condition,
                    row["metric"],
                    captured=True,
                    series=label,
                    group="lines of iperf" if is_iperf else f"tcptrace, {label}",
                )
