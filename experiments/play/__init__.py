"""The live page: a user changes values of a link, and real TCP answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from experiments.play.notebook import PlayWidget


def play(**settings: str) -> PlayWidget:
    """Show the live page in a notebook's cell, with these settings: play(loss="1%").

    Raises UsageError for a wrong setting, TcplabError if anywidget is not installed.
    """
    # Here: only notebooks have anywidget, and NumPy takes a fifth of a second.
    from experiments.play.player import Player
    from experiments.play.settings import PlaySettings
    from topologies.errors import TcplabError

    wanted = PlaySettings.from_data(settings)
    try:
        from experiments.play.notebook import PlayWidget
    except ModuleNotFoundError as error:
        raise TcplabError(
            f"The page in a notebook needs {error.name}, which is not installed.",
            "pip install 'tcplab[notebook]', and start the notebook again.",
        ) from None
    return PlayWidget(wanted, Player())
