"""The user behind sudo, to whom files and processes of a run belong."""

from __future__ import annotations

import os
import pwd


def invoking_user() -> tuple[int, int] | None:
    """User and group number of the caller of sudo; None without sudo, or if that was root."""
    user = int(os.environ.get("SUDO_UID", 0)) if os.geteuid() == 0 else 0
    return (user, pwd.getpwuid(user).pw_gid) if user else None
