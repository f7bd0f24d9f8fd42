"""Who is behind root: files and processes of a run belong to who typed sudo."""

from __future__ import annotations

import os
import pwd


def invoking_user() -> tuple[int, int] | None:
    """User and group of who typed sudo; None where nobody did, or where root itself did."""
    user = int(os.environ.get("SUDO_UID", 0)) if os.geteuid() == 0 else 0
    return (user, pwd.getpwuid(user).pw_gid) if user else None
