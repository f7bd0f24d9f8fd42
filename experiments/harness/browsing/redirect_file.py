"""A way to an address with a token that keeps it from other users: a private file that redirects.

The command line of a browser is in /proc, for every user of the computer to read. So the browser
opens a file that only its user can read, as Jupyter does, and finds the address there.
"""

from __future__ import annotations

import threading
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory

from testbed.host.scratch import scratch

_SNAPS = Path("/snap")
_TEXT = """<!DOCTYPE html>
<html lang="en">
<meta charset="utf-8">
<meta name="referrer" content="no-referrer">
<meta http-equiv="refresh" content="0; url={address}">
<title>tcplab</title>
<p><a href="{address}">Open the page</a></p>
</html>
"""


@contextmanager
def opened_in_browser(address: str, failed: Callable[[], None]) -> Iterator[None]:
    """Open `address` in the user's browser, by a file that is removed afterwards.

    Calls `failed`, from a thread, if no browser could be started.
    """
    with _private_folder() as name:
        file = Path(name) / "open.html"
        file.touch(mode=0o600)
        file.write_text(_TEXT.format(address=escape(address)), encoding="utf-8")

        def start() -> None:
            if not webbrowser.open(file.as_uri()):
                failed()

        # Some browsers of $BROWSER return when they are closed, and need the server until then.
        threading.Thread(target=start, daemon=True).start()
        yield


def _private_folder() -> AbstractContextManager[Path | str]:
    """A folder with mode 0700 that the browser can read.

    A browser that is a snap has a /tmp of its own and sees no hidden folders. It can read the
    visible folders of the home (https://github.com/jupyter/notebook/issues/4500).
    """
    if _SNAPS.is_dir():
        try:
            return TemporaryDirectory(prefix="tcplab-play-", dir=Path.home())
        except (OSError, RuntimeError):  # the home is missing, or cannot be written to
            pass
    return scratch()
