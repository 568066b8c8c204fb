"""Names in notes, and suggestions for misspelt ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from headrace.errors import listing, nearest

_MOST_SHOWN: Final = 3


def similar_name(name: str, known: Iterable[str]) -> str | None:
    """Find the known IRI that an unknown one is a slip for; both in angle brackets.

    >>> similar_name("<http://e.org/Temp>", ["<http://e.org/temp>", "<http://e.org/x>"])
    '<http://e.org/temp>'
    >>> similar_name("<http://e.org/b>", ["<http://e.org/a>"]) is None
    True
    """
    names = [each for each in known if each != name]
    bare = _bare(name)
    for each in names:
        if _bare(each) == bare:
            return each
    space, local = _split(name)
    locals_ = {_split(each)[1]: each for each in names if _split(each)[0] == space}
    near = nearest(local, [each for each in locals_ if each]) if local else None
    if near is not None:
        return locals_[near]
    return next((each for each in names if local and _split(each)[1] == local), None)


def _bare(name: str) -> str:
    """Normalize a name: case, scheme, and a slash at the end."""
    bare = name.strip("<>").casefold().rstrip("/#")
    return bare.removeprefix("https://").removeprefix("http://")


def _split(name: str) -> tuple[str, str]:
    """Split an IRI into its namespace and its local name."""
    bare = name.strip("<>")
    place = max(bare.rfind(mark) for mark in "/#:")
    return bare[: place + 1], bare[place + 1 :]


def shown_names(names: Sequence[str]) -> str:
    """List some names, and count the rest.

    >>> shown_names(["a", "b", "c", "d", "e"])
    'a, b, c and 2 others'
    """
    if len(names) <= _MOST_SHOWN:
        return listing(names, "and")
    rest = len(names) - _MOST_SHOWN
    return f"{', '.join(names[:_MOST_SHOWN])} and {rest} other{'s' if rest > 1 else ''}"


def iri(name: str) -> str:
    """Write an IRI in angle brackets."""
    return f"<{name}>"
