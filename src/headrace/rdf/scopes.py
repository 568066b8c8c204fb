"""Which blank nodes are the same node, and what they are called then.

A label means something within a scope only. A node gets the label ``scope.label``, an anonymous
one ``scope.genid-0``, ``scope.genid-1`` ... in order of appearance, so that the same text read
again (by a task that is retried, say) gives the same terms.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from headrace.errors import InternalError

_SCOPE_NAME = re.compile(r"(?:[A-Za-z0-9_](?:[A-Za-z0-9_.-]*[A-Za-z0-9_-])?)?")
_RESERVED = re.compile(r"(^|\.)genid-")


@dataclass(frozen=True, slots=True)
class Scope:
    """The scopes of a text: one for its anonymous nodes, one for the labels it uses.

    They differ where labels are kept equal across a stream: an anonymous node never is another
    one in a different element.

    >>> Scope("7").labelled("b"), Scope("7").anonymous(0)
    ('7.b', '7.genid-0')
    >>> Scope("7", labels="").labelled("b")
    'b'
    """

    name: str = ""
    labels: str | None = None

    def __post_init__(self) -> None:
        """Refuse names which would make a label that N-Triples does not allow."""
        for name in (self.name, self.labels or ""):
            if not _SCOPE_NAME.fullmatch(name):
                raise InternalError(f"{name!r} cannot be the name of a scope of blank nodes")

    def labelled(self, label: str) -> str:
        """The label of a node that the text itself labels."""
        return within(self.name if self.labels is None else self.labels, label)

    def anonymous(self, ordinal: int) -> str:
        """The label of a node that the text leaves without one."""
        return within(self.name, f"genid-{ordinal}")


UNSCOPED: Final = Scope()


@dataclass(frozen=True, slots=True)
class Scopes:
    """The scopes of a stream: one for each element, or one for the labels of all of them.

    >>> Scopes("s").of("7"), Scopes("s", per_stream=True).of("7")
    (Scope(name='s.7', labels=None), Scope(name='s-7', labels='s'))

    Attributes:
        prefix: keeps its nodes apart from those of other streams; may be empty.
        per_stream: whether a label means the same node in all elements.
    """

    prefix: str = ""
    per_stream: bool = False

    def of(self, element: str) -> Scope:
        """The scope of an element, by a name that no other element of the stream has."""
        if not self.per_stream:
            return Scope(within(self.prefix, element))
        # Not with a dot: a label of the stream may look like that.
        name = f"{self.prefix}-{element}" if self.prefix else element
        return Scope(name, labels=self.prefix)


def within(scope: str, name: str) -> str:
    """The name that something has in a scope.

    >>> within("s", "7"), within("", "7")
    ('s.7', '7')
    """
    return f"{scope}.{name}" if scope else name


def unlike_anonymous(label: str) -> str:
    """A label which no anonymous node has, from one that the text uses.

    >>> unlike_anonymous("b0"), unlike_anonymous("genid-0")
    ('b0', 'genid--0')
    """
    return _RESERVED.sub(r"\1genid--", label)
