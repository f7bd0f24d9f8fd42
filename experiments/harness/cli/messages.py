"""Errors of commands as one message."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import click

from topologies.foundation.errors import TcplabError

_KEEP = {"grade", "kernel", "lab", "reproduce", "run", "sweep"}
"""Commands whose finished repetitions stay when they are stopped."""


@contextmanager
def one_clear_message(command: Callable[[], str | None] = lambda: "run") -> Iterator[None]:
    """Print an error of tcplab or of a file and exit; a bug keeps its traceback."""
    try:
        yield
    except TcplabError as error:
        click.echo(f"Error: {error}", err=True)
        raise SystemExit(error.exit_code) from None
    except BrokenPipeError:  # click ends without a word
        raise
    except OSError as error:  # where the file is written knows no remedy
        place = f": {error.filename}" if error.filename else ""
        click.echo(f"Error: {error.strerror or error}{place}.", err=True)
        raise SystemExit(1) from None
    except MemoryError:
        remedy = "End other programs, or raise the limit (ulimit -v) in the shell."
        click.echo(f"Error: there is not enough memory. {remedy}", err=True)
        raise SystemExit(1) from None
    except KeyboardInterrupt:
        kept = " Finished repetitions and points are kept." if command() in _KEEP else ""
        click.echo(f"Stopped.{kept}", err=True)
        raise SystemExit(130) from None


class ClearGroup(click.Group):
    """A group whose commands end with one clear message."""

    def invoke(self, ctx: click.Context) -> Any:
        with one_clear_message(lambda: ctx.invoked_subcommand):
            return super().invoke(ctx)
