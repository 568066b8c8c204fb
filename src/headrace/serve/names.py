"""What streams and queries may be called. No name ever becomes a path."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final

from headrace.rdf.iri import is_absolute
from headrace.serve.problems import Problem

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_LONGEST_IRI: Final = 2_000
_NOT_IN_IRIS: Final = re.compile(r"[\x00-\x20<>\"{}|^`\\\x7f-\x9f\ud800-\udfff]")
PATTERN: Final = "^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$"
"""The same for the OpenAPI document."""


def checked_name(name: object, what: str) -> str:
    """A name that is one.

    Raises:
        Problem: 400.
    """
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise Problem(
            400,
            f"the name of a {what} has 1 to 64 letters, digits, '_', '-' and '.', and begins with "
            f"a letter or a digit; found {str(name)[:80]!r}",
        )
    return name


def is_name(name: str) -> bool:
    """Whether a text is a name."""
    return _NAME.fullmatch(name) is not None


def checked_iri(iri: object, what: str) -> str:
    """An absolute IRI.

    Raises:
        Problem: 400.
    """
    text = iri.removeprefix("<").removesuffix(">") if isinstance(iri, str) else ""
    if not text or len(text) > _LONGEST_IRI or _NOT_IN_IRIS.search(text) or not is_absolute(text):
        raise Problem(400, f"expected an absolute IRI for {what}, found {str(iri)[:80]!r}")
    return text


def fresh_name(wanted: str, taken: Collection[str]) -> str:
    """A name that is not taken: the first of q1, q2 and so on."""
    number = 1
    while f"{wanted}{number}" in taken:
        number += 1
    return f"{wanted}{number}"
