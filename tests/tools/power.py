"""Simulated studies: how many show a difference that is there, and one that is not.

`python -m tests.tools.power` prints the table of docs/concepts/statistics.md.
"""

import numpy as np

from analysis.statistics.paired_tests import paired

STUDIES, WITHOUT = 500, 4000
"""Studies with a difference, and without one, of which chance calls up to 5 % different."""
SEEDS = (6, 7, 10, 20, 30)
SPREADS = (0.002, 0.01, 0.03, 0.1)  # standard deviations of the logarithms of a level's values
DIFFERENCE = 1.05


def shown(seeds: int, spread: float, ratio: float = DIFFERENCE) -> float:
    """Return the share of studies that call two levels different, whose true ratio is `ratio`."""
    chance = np.random.default_rng(round(1000 * spread) + 1000 * seeds)
    studies = WITHOUT if ratio == 1 else STUDIES
    logs = chance.normal(0, spread, (studies, 2, seeds))
    pairs = (paired(15 * np.exp(one), 15 * ratio * np.exp(other)) for one, other in logs)
    return sum(bool(pair and pair.shows_difference) for pair in pairs) / studies


def table() -> str:
    """Return the shares in Markdown."""
    lines = [
        "| seeds | no difference | " + " | ".join(f"{100 * each:g} %" for each in SPREADS) + " |",
        "| ---: " * (2 + len(SPREADS)) + "|",
    ]
    for seeds in SEEDS:
        shares = [shown(seeds, 0.03, 1.0), *(shown(seeds, spread) for spread in SPREADS)]
        lines.append(f"| {seeds} | " + " | ".join(f"{100 * each:.1f}" for each in shares) + " |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(table())
