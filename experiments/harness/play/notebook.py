"""`tcplab.play(...)` in a notebook."""

from __future__ import annotations

from typing import TYPE_CHECKING

from experiments.harness.play.settings import PlaySettings
from topologies.foundation.errors import TcplabError

if TYPE_CHECKING:
    from experiments.harness.play.widget import PlayWidget


def play(**settings: str) -> PlayWidget:
    """Show the live page in a notebook's cell, with these settings: play(loss="1%").

    Raises UsageError for a wrong setting, TcplabError if anywidget is not installed.
    """
    wanted = PlaySettings.from_data(settings)
    try:
        from experiments.harness.play.widget import PlayWidget
    except ModuleNotFoundError as error:
        raise TcplabError(
            f"The page in a notebook needs {error.name}, which is not installed.",
            "pip install 'tcplab[notebook]', and start the notebook again.",
        ) from None
    from experiments.harness.play.player import Player

    return PlayWidget(wanted, Player())
