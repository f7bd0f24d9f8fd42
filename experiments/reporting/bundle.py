"""Bundles of runs and sweeps, the same bytes each time: data, figures, digests, and a script."""

from __future__ import annotations

import gzip
import hashlib
import io
import tarfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jinja2 import Template

import experiments
import testbed
from experiments.reporting.studies import KINDS, figure
from experiments.run.verify import parts_of, read_json, to_repeat
from experiments.study.catalogue import Experiment, find
from experiments.sweep.verify import SweepToRepeat
from testbed.host import CODE
from topologies import untrusted
from topologies.errors import TcplabError, UsageError

_LEFT_OUT = ("graphs", "stage.html")  # pages of single packets, which `tcplab report` writes again
_DEEPEST, _MOST_FILES = 5, 100_000
SUMS = "SHA256SUMS"
_HERE = Path(__file__).parent


@dataclass(frozen=True)
class Bundle:
    """A run or sweep to pack, checked: its manifest, and its study."""

    folder: Path
    manifest: dict[str, Any]
    study: Experiment
    is_sweep: bool

    @classmethod
    def of(cls, folder: Path) -> Bundle:
        """Check the run or sweep in `folder`. Raises UsageError for one that cannot be packed."""
        is_sweep = (folder / "sweep.json").is_file()
        manifest = read_json(folder, "manifest.json")
        if is_sweep:
            SweepToRepeat.of(folder)
        else:
            to_repeat(folder)
        status = read_json(folder, "sweep.json" if is_sweep else "manifest.json").get("status")
        if status != "complete":
            raise UsageError(f"'{folder}' is marked {status}.", "Pack a run that is complete.")
        return cls(folder, manifest, find(str(manifest.get("experiment"))), is_sweep)

    @property
    def name(self) -> str:
        return f"{self.study.name}-{self.manifest.get('id', 'bundle')}"

    def files(self) -> Iterator[tuple[str, bytes]]:
        """Yield names and contents of all files, SHA256SUMS last."""
        sums = {}
        for name, content in self._files():
            sums[name] = hashlib.sha256(content).hexdigest()
            yield name, content
        yield SUMS, "".join(f"{digest}  {name}\n" for name, digest in sums.items()).encode()

    def _files(self) -> Iterator[tuple[str, bytes]]:
        yield from self._data()
        drawn = dict(self._figures())
        yield from drawn.items()
        own = dict(self._study())
        yield from own.items()
        yield "LICENSE", _licence("LICENSE")
        yield "LICENCES.md", _licence("docs/licences.md")
        yield "repeat.sh", (_HERE / "repeat.sh").read_bytes()
        yield "README.md", self._readme(drawn, bool(own)).encode()

    def _data(self) -> Iterator[tuple[str, bytes]]:
        for path, _ in sorted(untrusted.entries(self.folder, _DEEPEST, _MOST_FILES)):
            name = path.relative_to(self.folder)
            hidden = name.parts[-1].startswith(".")
            if path.is_file() and not hidden and name.parts[0] not in _LEFT_OUT:
                yield f"data/{name.as_posix()}", untrusted.content(self.folder, name.as_posix())

    def _figures(self) -> Iterator[tuple[str, bytes]]:
        for kind in KINDS:
            try:
                made = figure(self.folder, kind)
            except UsageError:  # a kind without data
                continue
            yield from ((f"figures/{name}", content) for name, content in made.files(kind))

    def _study(self) -> Iterator[tuple[str, bytes]]:
        file = self.study.file
        if self.study.plugin or file.is_relative_to(CODE / experiments.__name__.rpartition(".")[2]):
            return
        if file.name != "__init__.py":
            yield f"studies/{file.name}", file.read_bytes()
            return
        for each in sorted(file.parent.rglob("*")):
            if each.is_file() and "__pycache__" not in each.parts:
                name = each.relative_to(file.parent.parent).as_posix()
                yield f"studies/{name}", each.read_bytes()

    def _readme(self, figures: Iterable[str], own: bool) -> str:
        digests = parts_of(self.manifest) | {
            name: str(self.manifest[f"{name}_digest"])
            for name in ("lab", "code", "spec")
            if f"{name}_digest" in self.manifest
        }
        result = ""
        if (self.folder / "claim.json").is_file():
            result = str(read_json(self.folder, "claim.json").get("sentence") or "")
        text = (_HERE / "bundle.md.j2").read_text(encoding="utf-8")
        template = Template(text, trim_blocks=True, keep_trailing_newline=True)
        readme: str = template.render(
            vars(self),
            name=self.name,
            version=testbed.VERSION,
            digests=digests,
            result=result,
            figures=sorted(name.removeprefix("figures/") for name in figures),
            own=own,
        )
        return readme


def _licence(name: str) -> bytes:
    """Return a text on licences of a checkout; a release names where it has them."""
    file = CODE / name
    if file.is_file():
        return file.read_bytes()
    return b"tcplab is under the MIT licence; its release has LICENSE and docs/licences.md.\n"


def pack(folder: Path, out: Path | None = None) -> Path:
    """Write the bundle of a run or sweep, and return its path. Raises TcplabError."""
    bundle = Bundle.of(folder)
    path = out or Path(f"{bundle.name}.tar.gz")
    if not path.name.endswith(".tar.gz"):
        raise UsageError(f"'{path.name}' is no name of a bundle.", "Use .tar.gz.")
    if path.exists():
        raise TcplabError(f"'{path}' exists.", "Name another file with --out, or move it away.")
    partial = path.with_name(f"{path.name}.partial")
    try:
        with (
            partial.open("wb") as file,
            gzip.GzipFile("", "wb", fileobj=file, mtime=0) as packed,
            tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive,
        ):
            for name, content in bundle.files():
                entry = tarfile.TarInfo(f"{bundle.name}/{name}")
                entry.size = len(content)
                entry.mode = 0o755 if name == "repeat.sh" else 0o644
                archive.addfile(entry, io.BytesIO(content))
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
    return path
