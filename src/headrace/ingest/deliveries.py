"""Which messages of an MQTT broker are in the log already.

A broker sends a message of quality of service 1 again, marked as a duplicate, if it was not told
that the first time sufficed: because the process was killed between the log and the
acknowledgement, or because the acknowledgement was lost. It does so within a session, with the
same packet identifier, which it gives to no other message before it is told.

So a message that is marked as a duplicate is in the log if the last message there of its session
and packet identifier has the same topic and payload, and is not if there is none such. What the
log says of it is its id: the session, the number of the message in it, the packet identifier and
a digest of topic and payload.

Guaranteed, while the broker keeps the session: every message that it accepted for the session is
in the log, once, in the order in which the broker sent it first. One case cannot be decided from
what a client sees: a message that was never logged, with the topic, the payload and the packet
identifier of one that was, and was acknowledged, a moment before. It is taken for a duplicate.
That needs a broker that gives a packet identifier again at once; one that counts them up, as
Mosquitto and most others do, does not come back to an identifier before 65,535 messages, and
only the last 20,000 are compared.

Not guaranteed: anything for quality of service 0; what a publisher sends to the broker twice;
what the broker drops because its queue for the session is full, or loses with the session. If a
new session was begun and the process was killed before its first message was logged, the messages
of that session are compared with those of the one before.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import blake2b
from typing import Final, Self

import regex as re

from headrace.ingest.log import RECENT

_ID: Final = re.compile(r"([0-9]+)-([0-9]+)-([0-9]+)-([0-9a-f]+)")


@dataclass(frozen=True, slots=True)
class Delivery:
    """A message in the log; written down, it is the id of the record."""

    session: int
    number: int
    packet: int
    digest: str

    def __str__(self) -> str:
        """Write it down."""
        return f"{self.session}-{self.number}-{self.packet}-{self.digest}"

    @classmethod
    def read(cls, text: str) -> Self | None:
        """What is written down, if it is of this form.

        >>> Delivery.read("17-1-5-ab")
        Delivery(session=17, number=1, packet=5, digest='ab')
        """
        found = _ID.fullmatch(text)
        return found and cls(int(found[1]), int(found[2]), int(found[3]), found[4])


class Deliveries:
    """The messages of a session that are in the log or on their way to it."""

    def __init__(self, ids: Iterable[str], *, session_present: bool, now: int) -> None:
        """Begin a connection.

        Args:
            ids: the ids of the last records of the log, oldest first.
            session_present: whether the broker has kept the session of the last connection.
            now: names the session if it is a new one.
        """
        logged = [found for text in ids if (found := Delivery.read(text))]
        goes_on = session_present and bool(logged)
        self._session = logged[-1].session if goes_on else now
        self._number = logged[-1].number if goes_on else 0
        same = [each for each in logged if each.session == self._session]
        self._last = {each.packet: each for each in same}
        self._digests = {each.digest for each in same}

    def take(self, packet: int, digest: str, *, again: bool, retained: bool) -> str | None:
        """Take a message of quality of service 1.

        Args:
            packet: its packet identifier.
            digest: what its topic and payload are.
            again: whether the broker says that it has sent it before.
            retained: whether it is an old message that the broker sends because of a new
                subscription; brokers of MQTT 3 do so at every connection.

        Returns:
            The id of its record, or None if it is in the log.
        """
        if (again and self._is_last(packet, digest)) or (retained and digest in self._digests):
            return None
        self._number += 1
        self._last[packet] = Delivery(self._session, self._number, packet, digest)
        return str(self._last[packet])

    def _is_last(self, packet: int, digest: str) -> bool:
        last = self._last.get(packet)
        return last is not None and last.digest == digest and self._number - last.number < RECENT


def digest_of(topic: str, payload: bytes) -> str:
    """What tells two messages with one packet identifier apart.

    >>> digest_of("ab", b"c") == digest_of("a", b"bc")
    False
    """
    named = topic.encode()
    return blake2b(len(named).to_bytes(4) + named + payload, digest_size=12).hexdigest()
