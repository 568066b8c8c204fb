"""What goes wrong with a remote endpoint."""

from __future__ import annotations

import re

from headrace.errors import HeadraceError

_USER = re.compile(r"(?<=//)[^/?#]*@")
_AFTER_PATH = re.compile(r"[?#].*", re.DOTALL)
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_SHOWN = 200


class ServiceError(HeadraceError):
    """A SERVICE has no answer: which endpoint, why, and what to do about it.

    Whether that ends an evaluation is the caller's to say, because SERVICE SILENT has an answer
    for it.

    Attributes:
        endpoint: its IRI, without what may be secret in it.
        problem: what happened, in one line.
        status: the status of HTTP, if there was one.
        hint: what to do about it.
        attempts: how often it was asked.
        wait: how many seconds the server asked to be left alone.
    """

    def __init__(
        self,
        endpoint: str,
        problem: str,
        *,
        status: int | None = None,
        hint: str | None = None,
        attempts: int = 0,
        wait: float = 0.0,
    ) -> None:
        """Keep the parts as data and show them as one text."""
        self.endpoint = public(endpoint)
        self.problem = problem
        self.status = status
        self.hint = hint
        self.attempts = attempts
        self.wait = wait
        tried = f" (asked {attempts} times)" if attempts > 1 else ""
        text = f"SERVICE <{self.endpoint}>: {problem}{tried}"
        super().__init__(f"{text}\n{hint}" if hint else text)


class LargeAnswerError(ServiceError):
    """The answer is larger than is allowed."""


class RefusedError(ServiceError):
    """The endpoint was not asked at all, because that is not allowed."""


def public(iri: str) -> str:
    """An IRI without its user, its query and its fragment, which may hold secrets.

    >>> public("http://me:secret@example.org/sparql?key=secret")
    'http://example.org/sparql'
    """
    shown = _CONTROLS.sub("?", _AFTER_PATH.sub("", _USER.sub("", iri)))
    return shown if len(shown) <= _SHOWN else shown[:_SHOWN] + "…"
