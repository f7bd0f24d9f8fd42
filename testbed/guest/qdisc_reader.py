"""tc(8) that shows qdiscs whenever it is asked: to start it takes longer than its answer."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence

from testbed.guest.programs import not_installed
from topologies.errors import CommandError, is_absent

_END = "]\n"  # of a list that tc prints as JSON


class QdiscReader:
    """A tc of the calling thread's network namespace, with options. Raises TcplabError."""

    def __init__(self, options: Sequence[str]) -> None:
        self._command = ["tc", *options, "-j", "-batch", "-"]
        pipe = subprocess.PIPE
        try:
            self._tc = subprocess.Popen(
                self._command, stdin=pipe, stdout=pipe, stderr=subprocess.STDOUT, text=True
            )
        except OSError as error:
            if not is_absent(error):
                raise
            raise not_installed("tc") from None

    def show(self) -> str:
        """Return what `tc qdisc show` prints. Raises CommandError."""
        asked, answers = self._tc.stdin, self._tc.stdout
        assert asked and answers
        asked.write("qdisc show\n")
        asked.flush()
        text = ""
        while not text.endswith(_END):
            if not (line := answers.readline()):
                raise CommandError(" ".join(self._command), self._tc.wait(), text)
            text += line
        return text

    def close(self) -> None:
        self._tc.communicate()
