"""A build backend (PEP 517) in one file, and the wheels that it writes."""

from __future__ import annotations

import zipfile
from pathlib import Path


def write_wheel(folder: Path, name: str, version: str, **files: str) -> str:
    """Write the wheel NAME-VERSION with these files (stem to text) and return its file name."""
    about = f"{name}-{version}.dist-info"
    tag = "py3-none-any"
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    kind = f"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: {tag}\n"
    contents = {f"{about}/METADATA": metadata, f"{about}/WHEEL": kind, f"{about}/RECORD": ""}
    with zipfile.ZipFile(folder / f"{name}-{version}-{tag}.whl", "w") as wheel:
        for path, text in {**files, **contents}.items():
            wheel.writestr(path, text)
    return f"{name}-{version}-{tag}.whl"


def build_editable(
    folder: str, config_settings: object = None, metadata_directory: object = None
) -> str:
    """Write the wheel that puts the current folder on Python's path."""
    return write_wheel(Path(folder), "small", "1", **{"small.pth": str(Path.cwd())})
