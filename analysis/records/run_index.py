"""All runs and sweeps of a store at a glance: what was asked, what was found, and how sure."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from analysis.records.json_reader import UnreadableJson, read_object

PAGES = ("report.html", "sweep.html", "reproduction.html", "kernels.html")
UNREADABLE = "unreadable"


@dataclass(frozen=True)
class IndexedRun:
    """A line of the index; `figure` is the estimate that answers the `question` of the claim.

    `name` is the folder below the store, `page` the path of its page there or empty.
    """

    name: str
    kind: str
    status: str
    started: str
    seeds: int
    parameters: str
    question: str
    figure: str
    verdict: str
    network: str
    page: str

    @property
    def words(self) -> str:
        """Text in which the page searches."""
        words = (self.name, self.kind, self.status, self.parameters, self.verdict, self.network)
        return " ".join([*words, self.started]).lower()


def index(store: Path) -> list[IndexedRun]:
    """Every run of the store, the newest first."""
    files = [file for file in store.glob("*/*/manifest.json") if not file.parent.is_symlink()]
    lines = [_line(store, file.parent) for file in files]
    return sorted(lines, key=lambda line: (line.started, line.name), reverse=True)


def _line(store: Path, folder: Path) -> IndexedRun:
    manifest, claim = _content(folder / "manifest.json"), _content(folder / "claim.json")
    kind = str(manifest.get("kind", "run"))
    network = manifest.get("network")
    name = folder.relative_to(store).as_posix()
    return IndexedRun(
        name,
        kind,
        str(manifest.get("status", UNREADABLE)),
        str(manifest.get("started", "")),
        len(manifest.get("seeds") or ()),
        _asked(folder, kind),
        str(claim.get("question") or ""),
        _figure(claim),
        str(claim.get("word") or ""),
        str(network.get("verdict", "")) if isinstance(network, dict) else "",
        next((f"{name}/{page}" for page in PAGES if (folder / page).exists()), ""),
    )


def _asked(folder: Path, kind: str) -> str:
    """The parameters of a run; of a sweep its factors and what they were varied over."""
    if kind == "sweep":
        factors = _content(folder / "sweep.json").get("factors") or ()
        named = [factor for factor in factors if isinstance(factor, dict)]
        return ", ".join(
            f"{factor.get('name')} {'|'.join(map(str, factor.get('values') or ()))}"
            for factor in named
        )
    parameters = _content(folder / "spec.json").get("parameters")
    known = parameters if isinstance(parameters, dict) else {}
    return ", ".join(f"{name} {value}" for name, value in known.items() if value)


def _figure(claim: dict[str, Any]) -> str:
    """The estimate with its interval, as the claim has it."""
    estimate, low, high = (claim.get(name) for name in ("estimate", "low", "high"))
    if not isinstance(estimate, int | float):
        return ""
    times = " times" if claim.get("scale") == "ratio" else ""
    known = isinstance(low, int | float) and isinstance(high, int | float)
    return f"{estimate:.3g}{times}" + (f" ({low:.3g} to {high:.3g})" if known else "")


def _content(file: Path) -> dict[str, Any]:
    """Return an empty record for a broken file: one bad run must not hide the others."""
    try:
        return read_object(file)
    except UnreadableJson:
        return {}
