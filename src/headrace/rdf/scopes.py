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

_SCOPE_NAME = re.compile(r"(?:[A-Za-z0-9_][A-Za-z0-9_-]*)?")
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
        return _joined(self.name if self.labels is None else self.labels, label)

    def anonymous(self, ordinal: int) -> str:
        """The label of a node that the text leaves without one."""
        return _joined(self.name, f"genid-{ordinal}")


UNSCOPED: Final = Scope()


def _joined(scope: str, label: str) -> str:
    return f"{scope}.{label}" if scope else label


def unlike_anonymous(label: str) -> str:
    """A label which no anonymous node has, from one that the text uses.

    >>> unlike_anonymous("b0"), unlike_anonymous("genid-0")
    ('b0', 'genid--0')
    """
    return _RESERVED.sub(r"\1genid--", label)
