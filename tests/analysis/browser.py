"""A headless Chromium that tests drive over two pipes by the DevTools protocol.

Nothing beside it is needed. Protocol: https://chromedevtools.github.io/devtools-protocol/, messages
are JSON, each ended by a zero byte.
"""

from __future__ import annotations

import base64
import fcntl
import json
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from testbed.host.processes import is_ready

CHROMIUM = (
    shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
)
NO_CHROMIUM = "no Chromium here: sudo apt-get install chromium"
LIMIT = 300  # seconds after which an answer is taken to never come


class Page:
    """One open page.

    `complaints` are errors and warnings of its console, and what it did not catch.
    """

    def __init__(self, write: int, read: int) -> None:
        self._write, self._read, self._count, self._rest, self._session = write, read, 0, b"", ""
        self.complaints: list[str] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)[
            "sessionId"
        ]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def open(self, file: Path, width: int = 1200, height: int = 900, address: str = "") -> None:
        """Opens the file, and waits until its graphs are drawn, if it has any.

        `address` is what follows the file's name, a query or a fragment.
        """
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )
        self.call("Page.navigate", url=file.as_uri() + address)
        self.run(
            "new Promise(done => document.readyState === 'complete' ? done() :"
            " addEventListener('load', done))"
        )
        self.run("window.tcplabGraphs?.ready")

    def run(self, script: str) -> Any:
        """The value of an expression, awaited if it is a promise."""
        answer = self.call(
            "Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True
        )
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def mouse(self, kind: str, x: float, y: float, **more: Any) -> None:
        """A real event, such as mouseWheel with deltaY, and the drawing that it asks for."""
        self.call(
            "Input.dispatchMouseEvent", type=kind, x=x, y=y, **{"deltaX": 0, "deltaY": 0} | more
        )
        self.settle()

    def key(self, key: str, code: str = "", modifiers: int = 0) -> None:
        """A real key; `code` is its place on the keyboard, and 8 of the modifiers is Shift."""
        text = key if len(key) == 1 else ""
        for kind in ("keyDown", "keyUp"):
            self.call(
                "Input.dispatchKeyEvent",
                type=kind,
                key=key,
                text=text,
                code=code,
                modifiers=modifiers,
            )
        self.settle()

    def settle(self) -> None:
        """Waits for two frames of the screen, the second of which shows what the first one drew."""
        self.run("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def screenshot(self) -> bytes:
        return base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"])

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._count += 1
        message = {"id": self._count, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._message()
            if answer.get("id") == self._count:
                assert "error" not in answer, (method, answer["error"])
                result: dict[str, Any] = answer["result"]
                return result
            self._note(answer)

    def _message(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            piece = os.read(self._read, 1 << 20) if is_ready(self._read, LIMIT) else b""
            assert piece, "the browser does not answer"
            self._rest += piece
        text, _, self._rest = self._rest.partition(b"\0")
        message: dict[str, Any] = json.loads(text)
        return message

    def _note(self, event: dict[str, Any]) -> None:
        method, what = event.get("method", ""), event.get("params", {})
        asked = method == "Network.requestWillBeSent" and not what["request"]["url"].startswith(
            ("file:", "data:")
        )
        printed = method == "Runtime.consoleAPICalled" and what["type"] in ("error", "warning")
        if asked or printed or method in ("Log.entryAdded", "Runtime.exceptionThrown"):
            self.complaints.append(json.dumps(what)[:500])


@contextmanager
def browser(folder: Path) -> Iterator[Page]:
    """A browser whose profile is in `folder`; it is ended with all its processes."""
    (theirs, write), (read, answers) = os.pipe(), os.pipe()
    high = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 100) for end in (theirs, answers)]

    def places() -> None:
        for at, end in zip((3, 4), high, strict=True):  # where Chromium expects them
            os.dup2(end, at)

    command = [
        str(CHROMIUM),
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-background-networking",
        "--no-first-run",
        "--remote-debugging-pipe",
        f"--user-data-dir={folder / 'profile'}",
        "about:blank",
    ]
    started = subprocess.Popen(
        command,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        close_fds=False,
        preexec_fn=places,
        start_new_session=True,
        env=os.environ | {"HOME": str(folder)},
    )
    for end in (theirs, answers, *high):
        os.close(end)
    try:
        yield Page(write, read)
    finally:
        os.killpg(started.pid, signal.SIGKILL)
        started.wait()
        os.close(write)
        os.close(read)
