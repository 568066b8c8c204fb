"""The variable that most patterns share: what is new of all of them meets there, once.

To join what is new of each pattern with all others takes as many joins as there are pairs of them.
Where a term of one variable has about one match of each pattern, as an offer has one price and one
vendor, it takes fewer to ask which terms something new is said of, and to join all patterns once
for these.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

Names = frozenset[str]

_FEW: Final = 3
"""With fewer patterns than these at a hub, there is nothing to gain."""


@dataclass(frozen=True, slots=True)
class Hub:
    """A variable that several patterns share.

    Attributes:
        name: its column.
        spokes: the patterns that bind it, by number.
        ways: the patterns that lead from each other one to a spoke, the spoke last.
    """

    name: str
    spokes: tuple[int, ...]
    ways: Mapping[int, tuple[int, ...]]


def hub_of(patterns: Sequence[Names]) -> Hub | None:
    """The hub of patterns that bind some columns, if all of them lead to one.

    >>> hub_of([frozenset("op"), frozenset("ov"), frozenset("oc"), frozenset("p")])
    Hub(name='o', spokes=(0, 1, 2), ways={3: (0,)})
    >>> hub_of([frozenset("ab"), frozenset("bc"), frozenset("cd")]) is None
    True
    """
    shared = Counter(name for names in patterns for name in sorted(names))
    name = max(sorted(shared), key=lambda each: shared[each], default=None)
    if name is None or shared[name] < _FEW:
        return None
    spokes = tuple(number for number, names in enumerate(patterns) if name in names)
    ways: dict[int, tuple[int, ...]] = dict.fromkeys(spokes, ())
    while True:
        nearer = {
            number: (known, *way)
            for number in range(len(patterns))
            if number not in ways
            for known, way in ways.items()
            if patterns[number] & patterns[known]
        }
        if not nearer:
            break
        ways |= nearer
    if len(ways) < len(patterns):
        return None
    return Hub(name, spokes, {number: way for number, way in ways.items() if way})
