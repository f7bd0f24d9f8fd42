"""The reference of Python: every name that `tcplab` promises, for mkdocstrings to fill in."""

from __future__ import annotations

from collections.abc import Iterator

GROUPS = {
    "running": ("Running, sweeping, reading", ("run", "report", "sweep", "read")),
    "results": ("What they give", ("RunReport", "RunResults", "SweepResult", "Reading")),
    "labs": ("Labs", ("lab",)),
}
"""Pages that begin the reference; what is in none of them is for experiments of one's own."""


def python_pages(places: dict[str, tuple[str, str]]) -> dict[str, str]:
    """A page for each group; `places` has the module and name of everything in `tcplab`."""
    rest = [name for name in places if not any(name in names for _, names in GROUPS.values())]
    networks = [name for name in rest if places[name][0].startswith("topologies")]
    others = [name for name in rest if name not in networks]
    groups = {
        **GROUPS,
        "experiments": ("For an experiment of your own", tuple(others)),
        "networks": ("Networks, units, errors", tuple(networks)),
    }
    return {
        f"reference/python/{file}.md": "\n".join(_page(title, names, places)) + "\n"
        for file, (title, names) in groups.items()
    }


def _page(title: str, names: tuple[str, ...], places: dict[str, tuple[str, str]]) -> Iterator[str]:
    yield from (f"# {title}", "", "Each is a name of `tcplab`: `import tcplab`.", "")
    for name in names:
        module, original = places[name]
        yield from (f"## tcplab.{name}", "", f"::: {module}.{original}")
        yield from ("    options:", "      show_root_heading: false", "      heading_level: 3", "")
