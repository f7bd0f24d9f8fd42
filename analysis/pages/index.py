"""All runs on one page, to search and to tick for comparison."""

from pathlib import Path

from analysis.records.run_index import index
from analysis.rendering import page_files


def write_index(store: Path) -> Path:
    """Write index.html into the store. Raises TcplabError with a remedy if it cannot be written."""
    text = page_files.render("index.html", {"store": store, "runs": index(store)})
    page_files.write(store, [("index.html", text.encode())], "report RUN_DIR")
    return store / "index.html"
