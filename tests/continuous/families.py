"""Random families of queries: one text, and others that differ from it in constants."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Final

from hypothesis import strategies as st

from tests.continuous.generators import Case, cases

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
    """A random query and others like it; some have the same constants."""
    case = draw(cases())
    number = draw(st.integers(2, most))
    return Family(case, tuple(_varied(draw, case.query.body) for _ in range(number)))


def _varied(draw: st.DrawFn, body: str) -> str:
    def other(found: re.Match[str]) -> str:
        return draw(_RESOURCES if found[0].startswith(":") else _LITERALS)

    return _CONSTANT.sub(other, body)
