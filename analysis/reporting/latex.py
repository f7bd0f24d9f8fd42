"""Tables as LaTeX."""

from analysis.reporting.tables import Listing

_ESCAPES = {
    "\\": r"\textbackslash{}",
    **{letter: f"\\{letter}" for letter in "&%$#_{}"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "\N{EN DASH}": "--",
    "\N{MINUS SIGN}": "$-$",
    "\N{PLUS-MINUS SIGN}": r"$\pm$",
    "\N{MULTIPLICATION SIGN}": r"$\times$",
}


def escaped(text: str) -> str:
    """Return text with all that LaTeX interprets escaped."""
    return "".join(_ESCAPES.get(letter, letter) for letter in text)


def latex_table(listing: Listing) -> str:
    """Return a tabular with the rules of booktabs; the caption stays the author's."""
    places = "l" + "r" * (len(listing.head) - 1)
    rows = [_row(cells) for cells in listing.rows]
    lines = [
        "% A table by tcplab. In the preamble: \\usepackage{booktabs}",
        f"% {escaped(listing.title)}. {' '.join(map(escaped, listing.notes))}".rstrip(),
        f"\\begin{{tabular}}{{{places}}}",
        "\\toprule",
        _row(listing.head),
        "\\midrule",
        *rows,
        "\\bottomrule",
        "\\end{tabular}",
    ]
    return "\n".join(lines) + "\n"


def _row(cells: tuple[str, ...]) -> str:
    return " & ".join(map(escaped, cells)) + r" \\"
