"""Messages for people: failures as one message, and the progress of building the lab."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from topologies.foundation.errors import TcplabError

if TYPE_CHECKING:
    pass


@contextmanager
def one_clear_message() -> Iterator[None]:
    """Our own errors as one message and their exit code; a bug keeps its traceback."""
    try:
        yield
    except TcplabError as error:
        click.echo(f"Error: {error}", err=True)
        raise SystemExit(error.exit_code) from None
    except OSError as error:  # the disk or its permissions, under our hands
        remedy = (
            "What was measured is kept; the next run puts it in its place. Free space, or use"
            " --out."
        )
        click.echo(
            f"Error: {error.strerror}: {error.filename or 'writing the run'}. {remedy}", err=True
        )
        raise SystemExit(1) from None
    except MemoryError:
        remedy = "End other programs, or raise the limit (ulimit -v) in the shell."
        click.echo(f"Error: there is not enough memory. {remedy}", err=True)
        raise SystemExit(1) from None
    except KeyboardInterrupt:
        click.echo("Stopped. What was measured so far is kept.", err=True)
        raise SystemExit(130) from None
