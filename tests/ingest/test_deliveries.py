"""A message is taken once, however often a broker sends it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from headrace.ingest.deliveries import Deliveries, Delivery
from headrace.ingest.log import RECENT


def deliveries(*ids: str, session_present: bool = True) -> Deliveries:
    return Deliveries(ids, session_present=session_present, now=99)


def take(known: Deliveries, packet: int, digest: str, *, again: bool = False) -> str | None:
    return known.take(packet, digest, again=again, retained=False)


def test_ids_tell_all_messages_apart() -> None:
    known = deliveries(session_present=False)
    assert take(known, 1, "aa") == "99-1-1-aa"
    assert take(known, 1, "aa") == "99-2-1-aa"


def test_what_is_logged_is_not_taken_again() -> None:
    known = deliveries("7-1-1-aa", "7-2-2-bb")
    assert take(known, 2, "bb", again=True) is None
    assert take(known, 3, "cc", again=True) == "7-3-3-cc"
    assert take(known, 3, "cc", again=True) is None


def test_what_is_not_marked_is_new() -> None:
    assert take(deliveries("7-1-1-aa"), 1, "aa") == "7-2-1-aa"


def test_another_message_with_the_packet_identifier_is_new() -> None:
    known = deliveries("7-1-1-aa", "7-2-1-bb")
    assert take(known, 1, "aa", again=True) == "7-3-1-aa"


def test_a_new_session_knows_nothing_of_the_last() -> None:
    known = deliveries("7-1-1-aa", session_present=False)
    assert take(known, 1, "aa", again=True) == "99-1-1-aa"
    again = deliveries("7-1-1-aa", "7-2-2-bb", "99-1-1-aa")
    assert take(again, 2, "bb", again=True) == "99-2-2-bb"


def test_an_identifier_used_long_ago_says_nothing() -> None:
    known = deliveries("7-1-1-aa")
    for _ in range(RECENT):
        take(known, 2, "bb")
    assert take(known, 1, "aa", again=True) is not None


def test_old_messages_of_a_subscription_are_taken_once() -> None:
    known = deliveries("7-1-1-aa")
    assert known.take(5, "aa", again=False, retained=True) is None
    assert known.take(6, "bb", again=False, retained=True) == "7-2-6-bb"


def test_ids_of_others_are_passed_over() -> None:
    assert Delivery.read("x") is None
    assert take(deliveries("an idempotency key"), 1, "aa") == "99-1-1-aa"


@dataclass
class Broker:
    """What the standard says of a session: packets in order, repeated until acknowledged."""

    messages: list[str]
    under_way: list[tuple[int, str]] = field(default_factory=list)
    sent: int = 0

    def connect(self) -> Iterator[tuple[int, str, bool]]:
        for packet, message in list(self.under_way):
            yield packet, message, True
        while self.sent < len(self.messages):
            packet = self.sent % 65_535 + 1
            message = self.messages[self.sent]
            self.sent += 1
            self.under_way.append((packet, message))
            yield packet, message, False

    def acknowledge(self, count: int) -> None:
        del self.under_way[:count]


crashes = st.tuples(st.integers(0, 8), st.integers(0, 8), st.integers(0, 8))


@given(
    messages=st.lists(st.sampled_from(["aa", "bb"]), max_size=30),
    lives=st.lists(crashes, max_size=8),
)
def test_every_message_is_logged_once_and_in_order(
    messages: list[str], lives: list[tuple[int, int, int]]
) -> None:
    """Lives end after so many are received, so many of them logged, so many acknowledged."""
    broker = Broker(messages)
    log: list[str] = []
    present = False
    for received, logged, acknowledged in [*lives, (100, 100, 100)]:
        known = Deliveries(log, session_present=present, now=7)
        present = True
        kept = 0
        for count, (packet, message, again) in enumerate(broker.connect()):
            if count >= received:
                break
            taken = take(known, packet, message, again=again)
            if count < logged:
                kept += 1
                log.extend([] if taken is None else [taken])
        broker.acknowledge(min(kept, acknowledged))
    assert [name.rsplit("-", 1)[1] for name in log] == messages
