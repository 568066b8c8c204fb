"""Counters of the messages and elements of a stream, by what became of each.

A *message* is the smallest part of the input that is read by itself: an element, a heartbeat or an
unreadable line of timed N-Quads; a line of NDJSON (adjacent lines of one result are one); else a
document, which is a file or what a broker or a client sends as one. A message may have several
elements. What cannot be read counts as one rejected element for each problem.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from headrace.errors import counted
from headrace.kernel.grid import Times
from headrace.kernel.holding import Flags


@dataclass(frozen=True, slots=True)
class Counters:
    """The messages and elements of a stream, counted by what became of them.

    Each message is exactly one of accepted, heartbeat and rejected. Each element is exactly one of
    on time, late for at least one window, and rejected.

    Attributes:
        elements: the elements.
        late: those that missed a window.
        rejected: those that were not taken.
        messages: the messages.
        heartbeats: those that only say how far time has come.
        rejected_messages: those of which no element was taken.
    """

    elements: int = 0
    late: int = 0
    rejected: int = 0
    messages: int = 0
    heartbeats: int = 0
    rejected_messages: int = 0

    @property
    def on_time(self) -> int:
        """The elements that missed no window."""
        return self.elements - self.late - self.rejected

    @property
    def used(self) -> int:
        """The elements that every window of theirs has used."""
        return self.on_time

    @property
    def accepted(self) -> int:
        """The messages of which at least one element was taken."""
        return self.messages - self.heartbeats - self.rejected_messages

    def __add__(self, other: Counters) -> Counters:
        """Add two counts."""
        return Counters(
            self.elements + other.elements,
            self.late + other.late,
            self.rejected + other.rejected,
            self.messages + other.messages,
            self.heartbeats + other.heartbeats,
            self.rejected_messages + other.rejected_messages,
        )

    def since(self, before: Counters) -> Counters:
        """Subtract the counts of an earlier moment."""
        return Counters(
            self.elements - before.elements,
            self.late - before.late,
            self.rejected - before.rejected,
            self.messages - before.messages,
            self.heartbeats - before.heartbeats,
            self.rejected_messages - before.rejected_messages,
        )

    def with_late(self, number: int) -> Counters:
        """Count more late elements."""
        return replace(self, late=self.late + number)

    def text(self) -> str:
        """Write both sums for people.

        >>> print(Counters(3, 1, 1, 4, 1, 1).text())
        3 elements, 1 late, 1 rejected, 1 on time; 4 messages, 2 accepted, 1 heartbeat, 1 rejected
        """
        return (
            f"{counted(self.elements, 'element')}, {self.late:,} late, {self.rejected:,} rejected,"
            f" {self.on_time:,} on time; {counted(self.messages, 'message')},"
            f" {self.accepted:,} accepted, {counted(self.heartbeats, 'heartbeat')},"
            f" {self.rejected_messages:,} rejected"
        )


def counters_of(
    sizes: Times,
    *,
    messages: Times | None = None,
    taken: Flags | None = None,
    unread: int = 0,
    problems: int = 0,
) -> Counters:
    """Count the elements and messages of a reading, accepted and rejected.

    >>> counters_of(np.array([2, 0, 1]), taken=np.array([True, True, False])).text()
    '2 elements, 0 late, 1 rejected, 1 on time; 3 messages, 1 accepted, 1 heartbeat, 1 rejected'

    Args:
        sizes: how many statements each element has; a heartbeat has none.
        messages: the number of the message of each; without it, each is a message of its own.
        taken: which were taken; without it, all.
        unread: how many messages could not be read at all.
        problems: how many problems were found in reading.
    """
    elements = int(np.count_nonzero(sizes))
    whole = sizes.size if messages is None else np.unique(messages).size
    beats, lost, refused = sizes.size - elements, 0, 0
    if taken is not None and not taken.all():
        refused = int(np.count_nonzero(sizes[~taken]))
        beats = int(np.count_nonzero(taken)) - int(np.count_nonzero(sizes[taken]))
        owners = np.arange(sizes.size) if messages is None else messages
        lost = np.setdiff1d(owners[~taken], owners[taken]).size
    return Counters(
        elements + problems, 0, refused + problems, whole + unread, beats, lost + unread
    )
