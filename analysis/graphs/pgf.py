"""Figures as PGF, for LaTeX, without LaTeX."""

from io import StringIO
from typing import Any

from matplotlib.backend_bases import RendererBase
from matplotlib.backends.backend_mixed import MixedModeRenderer
from matplotlib.backends.backend_pgf import RendererPgf
from matplotlib.figure import Figure


class _PgfRenderer(RendererPgf):
    """Matplotlib's renderer, which measures text itself: LaTeX need not be installed."""

    def get_text_width_height_descent(
        self, s: str, prop: Any, ismath: Any
    ) -> tuple[float, float, float]:
        found: tuple[float, float, float] = RendererBase.get_text_width_height_descent(
            self, s, prop, ismath
        )
        return found


_PGF = (
    "%% A figure by tcplab. In the preamble: \\usepackage{pgf}\\usepackage[strings]{underscore}\n"
    "%% In the text: \\input{FILE.pgf}\n"
    "\\begingroup\\makeatletter\\def\\mathdefault#1{#1}\\sffamily\\scriptsize\n"
    "\\begin{pgfpicture}\n"
    "\\pgfpathrectangle{\\pgfpointorigin}{\\pgfqpoint{%fin}{%fin}}\n"
    "\\pgfusepath{use as bounding box, clip}\n"
)


def pgf_text(figure: Figure) -> str:
    """Return the figure as LaTeX."""
    figure.draw_without_rendering()
    figure.set_layout_engine("none")  # keeps the places
    figure.set_dpi(72)
    width, height = figure.get_size_inches()
    with StringIO() as text:
        text.write(_PGF % (width, height))
        renderer: Any = _PgfRenderer(figure, text)  # type: ignore[no-untyped-call]
        mixed: Any = MixedModeRenderer(figure, width, height, figure.dpi, renderer)  # type: ignore[no-untyped-call]
        figure.draw(mixed)
        text.write("\\end{pgfpicture}\\makeatother\\endgroup\n")
        return text.getvalue()
