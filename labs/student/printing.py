"""`tcplab lab print`: the handout as PDF by WeasyPrint, which is installed only where it is wanted.

It takes the page that `lab start` writes, so that paper and screen have one source.
"""

from __future__ import annotations

from pathlib import Path

from labs.definition.assignment import Assignment
from labs.student.starting import handout_files
from topologies.foundation.errors import TcplabError

_EXTRA = "Install it beside tcplab: pip install 'tcplab[handouts]', or pip install weasyprint"
_PANGO = "Install Pango, on Debian: apt install libpango-1.0-0 libpangoft2-1.0-0"


def print_handout(assignment: Assignment, out: Path | None = None) -> Path:
    """Write handout.pdf into the assignment's folder, or `out`; returns its path.

    Raises TcplabError if WeasyPrint is missing, or if the file cannot be written.
    """
    page = handout_files(assignment.lab, assignment.variant)["handout.html"]
    file = out or assignment.folder / "handout.pdf"
    content = pdf(page)
    try:
        file.write_bytes(content)
    except OSError as error:
        raise TcplabError(
            f"{file} cannot be written: {error.strerror}.", "Choose a place with --out."
        ) from None
    return file


def pdf(page: str) -> bytes:
    """A page of HTML on sheets of A4. Raises TcplabError if WeasyPrint or Pango is missing."""
    try:
        from weasyprint import HTML
    except ModuleNotFoundError:
        raise TcplabError("PDFs need WeasyPrint, which is not installed.", _EXTRA) from None
    except OSError as error:  # it is there, and a C library that it loads is not
        raise TcplabError(f"WeasyPrint cannot start: {error}", _PANGO) from None
    content: bytes = HTML(string=page).write_pdf()
    return content
