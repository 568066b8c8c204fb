"""Random families of queries: one text, and others that differ from it in constants."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Final

from hypothesis import strategies as st

from tests.continuous.generators import EVERYTHING, Case, cases

_CONSTANT: Final = re.compile(r'(?<![\w?:./<"^])(?::[ab]|[12]|"x")(?![\w"])')
_RESOURCES: Final = st.sampled_from([":a", ":b", ":c"])
_LITERALS: Final = st.sampled_from(["1", "2", '"x"'])


@dataclass(frozen=True)
class Family:
    """Queries of one text but for constants, with the streams that they read."""

    case: Case
    bodies: tuple[str, ...]

    @property
    def texts(self) -> dict[str, str]:
        """The queries by name."""
        members = [replace(self.case, query=replace(self.case.query, body=b)) for b in self.bodies]
        return {f"m{number}": each.text for number, each in enumerate(members)}

    def __repr__(self) -> str:
        """Show what can be played."""
        return "\n".join([repr(self.case), *self.texts.values()])


@st.composite
def families(draw: st.DrawFn, *, most: int = 5) -> Family:
    """A random query and others like it, most of which can be one; constants may be the same."""
    found = draw(st.one_of(cases().filter(_can_be_shared), cases()))
    body, modifier = _timely(draw, found.query.body), _modifier(draw, found.query.body)
    number = draw(st.integers(2, most))
    return Family(found, tuple(_varied(draw, body) + modifier for _ in range(number)))


def _can_be_shared(case: Case) -> bool:
    query = case.query
    counts = any(window.counts for window in query.windows)
    return not counts and query.report != "on-change" and "EXISTS" not in query.body


def _timely(draw: st.DrawFn, body: str) -> str:
    """A body that may ask for chance and for the time."""
    more = "SELECT (RAND() AS ?r) (NOW() AS ?t) ?x ?y WHERE"
    return body.replace(_SELECT, more, 1) if draw(st.sampled_from([False, False, True])) else body


def _modifier(draw: st.DrawFn, body: str) -> str:
    """An order, or a part of the answer, where a body ends with its pattern."""
    plain = body.endswith("}") and EVERYTHING not in body and " ASK " not in body
    return draw(st.sampled_from(["", "", *_MODIFIERS])) if plain else ""


_SELECT: Final = "SELECT ?x ?y WHERE"
_MODIFIERS: Final = (" ORDER BY ?x ?y", " ORDER BY DESC(?y) LIMIT 2", " LIMIT 1", " OFFSET 1")


def _varied(draw: st.DrawFn, body: str) -> str:
    def other(found: re.Match[str]) -> str:
        return draw(_RESOURCES if found[0].startswith(":") else _LITERALS)

    return _CONSTANT.sub(other, body)
