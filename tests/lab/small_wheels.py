"""Wheels without content."""

import zipfile
from pathlib import Path


def write_wheel(folder: Path, name: str, version: str) -> None:
    """Write the wheel NAME-VERSION."""
    about = f"{name}-{version}.dist-info"
    tag = "py3-none-any"
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    kind = f"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: {tag}\n"
    contents = {"METADATA": metadata, "WHEEL": kind, "RECORD": ""}
    with zipfile.ZipFile(folder / f"{name}-{version}-{tag}.whl", "w") as wheel:
        for file, text in contents.items():
            wheel.writestr(f"{about}/{file}", text)
