"""Counters: every message and every element is exactly one thing, and counted once."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from headrace import Engine
from headrace.kernel.stream_counters import Counters, counters_of

ONE = "FROM STREAM <x:s> [RANGE 5s STEP 5s]"


@given(
    st.lists(st.tuples(st.integers(0, 3), st.booleans(), st.booleans()), max_size=30),
    st.integers(0, 5),
    st.integers(0, 5),
)
def test_both_sums_hold(read: list[tuple[int, bool, bool]], unread: int, more: int) -> None:
    """A heartbeat is a message of its own; elements may share one."""
    sizes = np.array([size for size, _, _ in read], np.int64)
    taken = np.array([is_taken for _, is_taken, _ in read], np.bool_)
    begins = [new or size == 0 for size, _, new in read]
    begins = [each or (at > 0 and not sizes[at - 1]) for at, each in enumerate(begins)]
    owners = np.cumsum(np.array(begins, np.int64))
    found = counters_of(sizes, messages=owners, taken=taken, unread=unread, problems=unread + more)
    by_message: dict[int, list[tuple[int, bool]]] = {}
    for owner, size, is_taken in zip(owners.tolist(), sizes.tolist(), taken.tolist(), strict=True):
        by_message.setdefault(owner, []).append((size, is_taken))
    accepted = sum(any(size and ok for size, ok in each) for each in by_message.values())
    beats = sum(each == [(0, True)] for each in by_message.values())
    assert found.accepted == accepted
    assert found.heartbeats == beats
    assert found.rejected_messages == len(by_message) - accepted - beats + unread
    assert found.messages == found.accepted + found.heartbeats + found.rejected_messages
    assert found.elements == np.count_nonzero(sizes) + unread + more
    assert found.on_time == int(np.count_nonzero(sizes[taken]))


def test_counts_add_up_and_subtract() -> None:
    some, more = Counters(5, 1, 2, 6, 1, 2), Counters(1, 1, 0, 1, 0, 0)
    assert (some + more).since(some) == more
    assert some.with_late(1).late == 2
    assert (some.on_time, some.used, some.accepted) == (2, 2, 3)


def test_an_element_is_late_once_whenever_queries_find_it_out() -> None:
    """The second query does not know where its grid begins before its other stream has begun."""
    engine = Engine()
    first, second = engine.stream("x:s"), engine.stream("x:t")
    engine.register(f"SELECT ?a {ONE} {{ ?a ?b ?c }}")
    engine.register(
        f"SELECT ?a {ONE} FROM STREAM <x:t> [RANGE 5s STEP 5s] {{ ?a ?b ?c }}",
        settings={"t0": "first"},
    )
    first.feed_timed("1000\t<x:a> <x:b> <x:c> .\n20000\t<x:a> <x:b> <x:c> .\n")
    engine.step()
    first.feed_timed("2000\t<x:late> <x:b> <x:c> .\n")
    engine.step()
    second.feed_timed("1000\t<x:a> <x:b> <x:c> .\n30000\t<x:a> <x:b> <x:c> .\n")
    engine.step()
    engine.finish()
    assert engine.counters["x:s"].late == 1
    assert len(engine.late) == 1
    assert engine.counters["x:s"].on_time == 2
