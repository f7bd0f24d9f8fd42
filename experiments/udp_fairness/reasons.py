"""Why our rates of UDP and TCP differ from the published ones."""

from __future__ import annotations

REASONS: tuple[tuple[str, str], ...] = ()
