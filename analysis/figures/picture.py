"""A picture of a page: what matplotlib drew, with its words."""

from __future__ import annotations

import base64
from dataclasses import dataclass


@dataclass(frozen=True)
class Picture:
    """A PNG under its file name, with the sentence that tells what to look for."""

    name: str
    title: str
    caption: str
    png: bytes

    @property
    def data_url(self) -> str:
        return "data:image/png;base64," + base64.b64encode(self.png).decode("ascii")
