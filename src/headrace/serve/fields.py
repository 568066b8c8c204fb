"""The headers of a request, looked through once."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from starlette.types import Scope

_LATIN: Final = "latin-1"


class Fields:
    """Headers by their names, which ASGI gives in lower case; of several of a name, the first.

    >>> found = Fields([(b"host", b"a"), (b"host", b"b")])
    >>> found.get(b"host"), found.every(b"host"), found.get(b"origin"), b"host" in found
    ('a', ['a', 'b'], None, True)
    """

    __slots__ = ("_first", "_raw")

    def __init__(self, raw: Iterable[tuple[bytes, bytes]]) -> None:
        """Take them as ASGI has them."""
        self._raw = list(raw)
        self._first = dict(reversed(self._raw))

    def __contains__(self, name: bytes) -> bool:
        """Whether there is one of a name."""
        return name in self._first

    def get(self, name: bytes) -> str | None:
        """The first one of a name."""
        found = self._first.get(name)
        return None if found is None else found.decode(_LATIN)

    def every(self, name: bytes) -> list[str]:
        """All of a name."""
        if name not in self._first:
            return []
        return [value.decode(_LATIN) for each, value in self._raw if each == name]


def fields_of(scope: Scope) -> Fields:
    """The headers of a request; they are looked through by whoever asks first."""
    found: Fields | None = scope.get(_KEPT)
    if found is None:
        found = scope[_KEPT] = Fields(scope["headers"])
    return found


_KEPT: Final = "headrace.fields"
