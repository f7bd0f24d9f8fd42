"""Messages for people: failures as one message, and the progress of building the lab."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from topologies.foundation.errors import TcplabError

if TYPE_CHECKING:
    from testbed.lab.ready import Lab


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


def ready_lab(kernels: Iterable[str] | None = None) -> Lab:
    """The lab with these kernels, each built the first time; None for its own alone.

    Raises TcplabError also if the limits of this process (ulimit) are too small for a guest: with
    less memory the way there may fail first.
    """
    # Commands without a lab, such as analyze, would take half as long again with what it needs.
    from experiments.spec import DEFAULT_KERNEL
    from testbed.jobs.following import Limits
    from testbed.lab.ready import lab_for
    from testbed.recipes.building import shown
    from testbed.virtual.started_guest import require_limits

    require_limits(Limits())
    with shown(sys.stderr) as report:
        return lab_for([DEFAULT_KERNEL] if kernels is None else kernels, report)


def lab_on(kernel: str | None) -> Lab:
    """The lab on the kernel that `--kernel` names, as it was typed; None for its own."""
    from testbed.lab.kernel.kernel_choice import chosen

    return ready_lab([str(chosen(kernel))] if kernel else None)
