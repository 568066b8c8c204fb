"""How a command ends: what it says of an error, and with which exit code."""

from __future__ import annotations

from typing import NoReturn

import typer

from headrace.errors import (
    HeadraceError,
    MachineError,
    OutputClosedError,
    QueryError,
    SettingError,
    UnwritableError,
    with_limit_option,
)

WRONG_QUERY = 2
FAILED_RUN = 1
INTERRUPTED = 130
_AGAIN = ", then run the same command again: it goes on where it has stopped"


def interrupted(error: BaseException | None) -> bool:
    """Whether an error is Ctrl-C, or what Ctrl-C broke on its way."""
    while error is not None:
        if isinstance(error, KeyboardInterrupt):
            return True
        error = error.__cause__ or error.__context__
    return False


class failing:  # noqa: N801 - reads as `with failing():`
    """Turn our errors into a message and an exit code: the query 2, the machine or the run 1."""

    def __enter__(self) -> None:
        """Do nothing yet."""

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        """Report an error of ours; let others pass."""
        if interrupted(error):
            typer.echo("interrupted", err=True)
            raise typer.Exit(INTERRUPTED)
        if isinstance(error, OutputClosedError):
            raise typer.Exit(FAILED_RUN)
        if isinstance(error, HeadraceError):
            fail(error)


def fail(error: HeadraceError) -> NoReturn:
    """Print an error and stop."""
    again = _AGAIN if isinstance(error, UnwritableError) else ""
    typer.echo(f"{label(error)}: {with_limit_option(str(error))}{again}", err=True)
    wrong = isinstance(error, QueryError | SettingError)
    raise typer.Exit(WRONG_QUERY if wrong else FAILED_RUN)


def label(error: HeadraceError) -> str:
    """Who must act, in a word."""
    match error:
        case MachineError():
            return "failed"
        case QueryError():
            return "wrong query"
        case _:
            return "error"
