"""What went wrong with a request, as problem+json: who must act, and where in the text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from starlette.responses import JSONResponse

from headrace.background.errors import RefusedError, ServiceError
from headrace.dialects.translate.terms import Note
from headrace.errors import (
    DataError,
    HeadraceError,
    LimitError,
    MachineError,
    QueryError,
    QuerySyntaxError,
    ScopeError,
    SettingError,
    Source,
    Span,
    TooLargeError,
    UnwritableError,
    with_limit_option,
)
from headrace.ingest.log import LogFull
from headrace.metering import SECONDS

MEDIA_TYPE: Final = "application/problem+json"
_TITLES: Final = {
    400: "bad request",
    401: "not authorised",
    403: "forbidden",
    404: "not found",
    405: "not allowed here",
    406: "not acceptable",
    408: "too slow",
    409: "conflict",
    413: "too large",
    415: "a type that cannot be read",
    421: "not this server",
    422: "cannot be run",
    429: "too much",
    500: "a mistake of Headrace",
    501: "not implemented",
    503: "not ready",
    504: "took too long",
}


class Problem(Exception):  # noqa: N818 - it is what the client is told
    """An answer that says what is wrong."""

    def __init__(
        self,
        status: int,
        detail: str,
        *,
        title: str | None = None,
        errors: Iterable[Mapping[str, Any]] = (),
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """Say the status, what is wrong, and where."""
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.title = title or _TITLES.get(status, "error")
        self.errors = list(errors)
        self.headers = dict(headers or {})

    def as_json(self) -> dict[str, Any]:
        """What is sent."""
        said: dict[str, Any] = {
            "type": "about:blank",
            "title": self.title,
            "status": self.status,
            "detail": self.detail,
        }
        return said | ({"errors": self.errors} if self.errors else {})

    def response(self) -> JSONResponse:
        """The answer."""
        return JSONResponse(
            self.as_json(), self.status, headers=self.headers, media_type=MEDIA_TYPE
        )


def busy(detail: str, seconds: int = 1, status: int = 503) -> Problem:
    """What a client is told that must come again later."""
    return Problem(status, detail, headers={"Retry-After": str(seconds)})


# -- errors of Headrace --------------------------------------------------------------------------


def problem_of(error: HeadraceError) -> Problem:
    """What a client is told of an error."""
    match error:
        case QuerySyntaxError() | ScopeError() | TooLargeError():
            return Problem(400, error.problem, title="wrong query", errors=[position_of(error)])
        case QueryError():
            return Problem(422, error.problem, errors=[position_of(error)])
        case DataError():
            return Problem(400, error.problem, title="wrong data", errors=[place_of(error)])
        case LogFull():
            return busy("the log of the stream is full; its elements are being read", 1, 429)
        case LimitError():
            return Problem(504 if error.limit == SECONDS else 422, with_limit_option(str(error)))
        case RefusedError():
            return Problem(403, str(error))
        case ServiceError():
            return Problem(422, str(error))
        case SettingError():
            return Problem(400, str(error))
        case UnwritableError():
            return busy(f"{error}, and repeat the request", 5)
        case MachineError():
            return busy(str(error), 5)
        case _:
            return Problem(500, str(error))


def position_of(error: QueryError) -> dict[str, Any]:
    """Where in a query something is wrong."""
    return {
        "message": error.problem,
        **_placed(error.source, error.span),
        "hint": error.hint,
    }


def note_of(note: Note, source: Source) -> dict[str, Any]:
    """Where in a query there is something worth knowing."""
    return {"message": note.text, **_placed(source, note.span), "hint": None}


def place_of(error: DataError) -> dict[str, Any]:
    """Where in data something is wrong."""
    return {
        "message": error.problem,
        "line": error.line,
        "column": error.column,
        "end_line": None,
        "end_column": None,
        "start": None,
        "end": None,
        "excerpt": None,
        "hint": None,
    }


def _placed(source: Source | None, span: Span | None) -> dict[str, Any]:
    if source is None or span is None:
        names = ("line", "column", "end_line", "end_column", "start", "end", "excerpt")
        return dict.fromkeys(names)
    line, column = source.position(span.start)
    end_line, end_column = source.position(max(span.end, span.start))
    return {
        "line": line,
        "column": column,
        "end_line": end_line,
        "end_column": end_column,
        "start": source.as_written(span.start),
        "end": source.as_written(max(span.end, span.start)),
        "excerpt": Source(source.text, None, source.written, source.shifts).excerpt(span),
    }
