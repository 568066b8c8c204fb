"""The oracle against expectations made by hand, so that both sides cannot be wrong together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from headrace.rdf import terms as rdf
from tests.continuous.described import Continuous, Event, Window
from tests.continuous.oracle import Oracle, Outcome

S, T, W, V = "http://x/s", "http://x/t", "http://x/w", "http://x/v"
INTEGER = "http://www.w3.org/2001/XMLSchema#integer"
NAMES = f"SELECT ?x WHERE {{ WINDOW <{W}> {{ [{W}| ?x <http://x/p> ?y ] }} }}"
COUNT = NAMES.replace("?x WHERE", "(COUNT(*) AS ?n) WHERE")


def event(time: int, *names: str, graph: str | None = None) -> Event:
    made = None if graph is None else rdf.Iri(f"http://x/{graph}")
    p, one = rdf.Iri("http://x/p"), rdf.Literal("1", INTEGER)
    return Event(time, tuple(rdf.Quad(rdf.Iri(f"http://x/{n}"), p, one, made) for n in names))


def stream(text: str) -> list[Event]:
    """Elements such as `3a`, of one triple each; a time alone is a heartbeat."""
    found = list[Event]()
    for word in text.split():
        digits = word.rstrip("abcdefgh")
        found.append(event(int(digits), *word[len(digits) :]))
    return found


def shown(outcome: Outcome) -> list[tuple[int, str]]:
    return [(each.at, _names(each.rows)) for each in outcome.reported]


def _names(rows: Counter[tuple[rdf.Term | None, ...]]) -> str:
    return "".join(sorted(str(row[0]).strip("<>")[-1] for row in rows.elements()))


def counted(outcome: Outcome) -> list[int]:
    values = [row[0] for each in outcome.reported for row in each.rows.elements()]
    return [int(value.lexical) for value in values if isinstance(value, rdf.Literal)]


def sliding(width: int, slide: int | None, body: str = NAMES) -> Continuous:
    return Continuous((Window(W, S, "time", width, slide),), body)


def play(query: Continuous, text: str, other: str = "") -> Outcome:
    return Oracle(query, {S: stream(text), T: stream(other)}).run()


def late(outcome: Outcome) -> Sequence[int]:
    return [found.time for _, found in outcome.late]


def test_a_window_holds_its_close_and_not_its_opening() -> None:
    assert shown(play(sliding(10, 10), "10a 15b 20c")) == [(10, "a"), (20, "bc")]


def test_other_bounds() -> None:
    query = replace(sliding(10, 10), bounds="[)")
    assert shown(play(query, "10a 15b 20c")) == [(20, "ab"), (30, "c")]
    query = replace(sliding(10, 10), bounds="[]")
    assert shown(play(query, "10a 15b 20c")) == [(10, "a"), (20, "abc"), (30, "c")]


def test_gaps_are_reported_and_differences_are_multisets() -> None:
    assert shown(play(sliding(4, 2), "1a 2b 9c")) == [
        (2, "ab"),
        (4, "ab"),
        (6, ""),
        (8, ""),
        (10, "c"),
        (12, "c"),
    ]
    inserted = replace(sliding(4, 2), emit="istream")
    assert shown(play(inserted, "1a 2b 9c")) == [
        (2, "ab"),
        (4, ""),
        (6, ""),
        (8, ""),
        (10, "c"),
        (12, ""),
    ]
    deleted = replace(sliding(4, 2), emit="dstream", non_empty="answer")
    assert shown(play(deleted, "1a 2b 9c")) == [(6, "ab")]
    changed = replace(sliding(4, 2, COUNT), emit="dstream")
    assert counted(play(changed, "1a 2b 9c")) == [2, 0]


def test_content_that_is_not_there_is_not_compared_with() -> None:
    query = replace(sliding(2, 2), emit="istream", non_empty="content")
    assert shown(play(query, "1a 9a 11b")) == [(2, "a"), (10, ""), (12, "b")]
    assert shown(play(replace(query, non_empty="answer"), "1a 9a 11b")) == [
        (2, "a"),
        (10, "a"),
        (12, "b"),
    ]


def test_what_falls_between_windows_is_in_none_and_not_late() -> None:
    found = play(sliding(2, 10), "3a 9b 13c 20d 14e")
    assert shown(found) == [(10, "b"), (20, "d")]
    assert late(found) == []


def test_late_elements_are_in_the_windows_that_are_still_open() -> None:
    found = play(sliding(10, 5), "3a 6b 4c")
    assert shown(found) == [(5, "a"), (10, "abc"), (15, "b")]
    assert late(found) == [4]
    found = play(replace(sliding(10, 5), delays={S: 1}), "3a 6b 4c")
    assert shown(found) == [(5, "ac"), (10, "abc"), (15, "b")]
    assert late(found) == []
    # [) closes when the watermark has reached it.
    found = play(replace(sliding(10, 5), delays={S: 1}, bounds="[)"), "3a 6b 4c")
    assert shown(found) == [(5, "a"), (10, "abc"), (15, "b")]
    assert late(found) == [4]


def test_heartbeats_move_time_and_nothing_else() -> None:
    found = play(sliding(5, 5), "3a 40 2b")
    assert shown(found) == [(5, "a")]
    assert late(found) == [2]
    assert shown(Oracle(sliding(5, 5), {S: stream("3a 17")}).run(live=True)) == [
        (5, "a"),
        (10, ""),
        (15, ""),
    ]


def test_what_is_too_far_ahead_is_rejected_and_moves_nothing() -> None:
    found = play(replace(sliding(5, 5), max_ahead=20), "3a 24b 4c 23d")
    assert shown(found) == [(5, "ac"), (10, ""), (15, ""), (20, ""), (25, "d")]
    assert [each.time for _, each in found.rejected] == [24]


def test_origin_and_alignment() -> None:
    assert shown(play(replace(sliding(10, 10), t0=3), "10a 15b")) == [(13, "a"), (23, "b")]
    assert shown(play(replace(sliding(5, 5), t0="first"), "11a 16b 17c")) == [
        (11, "a"),
        (16, "b"),
        (21, "c"),
    ]
    # Openings at 0, 3, 6 and closes at 5, 8, 11.
    assert shown(play(replace(sliding(5, 3), align="open"), "6a")) == [(8, "a")]
    assert shown(play(sliding(5, 3), "6a")) == [(6, "a"), (9, "a")]


def test_the_origin_is_the_least_time_that_is_not_behind_the_watermark() -> None:
    query = replace(sliding(10, 10), t0="first", delays={S: 5})
    assert shown(play(query, "12a 10b 13c 30d 8e")) == [(10, "b"), (20, "ac"), (30, "d")]


def test_another_window_is_taken_at_its_latest_close() -> None:
    windows = (Window(W, S, "time", 10, 10), Window(V, T, "time", 3, 3))
    both = (
        f"{{ WINDOW <{W}> {{ [{W}| ?x ?p ?y ] }} }} UNION {{ WINDOW <{V}> {{ [{V}| ?x ?p ?y ] }} }}"
    )
    query = Continuous(windows, f"SELECT ?x WHERE {{ {both} }}")
    assert shown(play(query, "1a 19b", "5c 13d")) == [
        (6, "c"),
        (9, ""),
        (10, "a"),
        (12, "a"),
        (15, "ad"),
        (18, "a"),
        (20, "b"),
    ]


def test_every_takes_the_latest_close() -> None:
    query = replace(sliding(10, 5), report="every", period=4)
    assert shown(play(query, "3a 9b")) == [(8, "a"), (12, "ab"), (16, "b")]
    assert shown(play(replace(query, period=5), "3a 9b")) == [(5, "a"), (10, "ab"), (15, "b")]
    strict = replace(query, period=5, pick="strict")
    assert shown(play(strict, "3a 9b")) == [(10, "a"), (15, "ab"), (20, "b")]
    moving = replace(sliding(4, None), report="every", period=5)
    assert shown(play(moving, "3a 9b")) == [(5, "a"), (10, "b")]


def test_on_change_is_at_each_time_and_from_the_earliest_opening() -> None:
    query = replace(sliding(10, 5), report="on-change")
    # The windows that hold 6 close at 10 and 15; the first opens at 0.
    assert shown(play(query, "3a 6b 6c 11d")) == [(3, "a"), (6, "abc"), (11, "bcd")]
    gaps = replace(sliding(2, 10), report="on-change")
    assert shown(play(gaps, "3a 9b 13c 20d")) == [(9, "b"), (20, "d")]


def test_on_change_a_late_element_waits_for_the_instants_after_the_watermark() -> None:
    found = play(replace(sliding(10, None), report="on-change"), "3a 6b 4c 8d")
    assert shown(found) == [(3, "a"), (6, "abc"), (8, "abcd")]
    assert late(found) == [4]


def test_on_arrival_is_at_each_element_in_order() -> None:
    query = replace(sliding(3, None), report="on-arrival", delays={S: 2})
    found = play(query, "3a 5b 4c 4d 6e")
    assert shown(found) == [(3, "a"), (4, "ac"), (4, "acd"), (5, "abcd"), (6, "bcde")]
    assert [each.seq for each in found.reported] == [0, 0, 1, 0, 0]


def test_now_is_empty_when_another_stream_caused_the_instant() -> None:
    windows = (Window(W, S, "now"), Window(V, T, "all"))
    body = f"SELECT ?x WHERE {{ WINDOW <{W}> {{ [{W}| ?x ?p ?y ] }} }}"
    query = Continuous(windows, body, report="on-arrival")
    assert shown(play(query, "3a 3b 5c", "3d 6e")) == [
        (3, "a"),
        (3, "ab"),
        (3, ""),
        (5, "c"),
        (6, ""),
    ]
    everything = body.replace(W, V)
    assert shown(play(replace(query, body=everything), "4a", "3d 6e")) == [
        (3, "d"),
        (4, "d"),
        (6, "de"),
    ]


def test_count_windows_never_split_an_element() -> None:
    elements = [event(1, "a", "b", graph="g"), event(2, "c", graph="g"), event(2, "d", graph="h")]
    body = f"SELECT ?x WHERE {{ WINDOW <{W}> {{ GRAPH ?g {{ [{W}| ?x ?p ?y ] }} }} }}"
    triples = Continuous((Window(W, S, "triples", 3, 2),), body)
    assert shown(Oracle(triples, {S: elements}).run()) == [(1, "ab"), (2, "abcd")]
    single = Continuous((Window(W, S, "elements", 2, 1),), body)
    found = Oracle(single, {S: elements}).run()
    assert shown(found) == [(1, "ab"), (2, "abc"), (2, "cd")]
    assert [each.seq for each in found.reported] == [0, 0, 1]


def test_a_count_window_does_not_take_late_elements() -> None:
    query = Continuous((Window(W, S, "elements", 2, 1),), NAMES)
    found = play(query, "3a 6b 4c 8d")
    assert shown(found) == [(3, "a"), (6, "ab"), (8, "bd")]
    assert late(found) == [4]
    found = play(replace(query, delays={S: 3}), "3a 6b 4c 8d")
    assert shown(found) == [(3, "a"), (4, "ac"), (6, "bc"), (8, "bd")]


def test_timed_contents_match_each_time() -> None:
    timed = replace(sliding(10, 10), contents="timed")
    assert shown(play(timed, "1a 2a 2a 3b")) == [(10, "aab")]
    assert shown(play(sliding(10, 10), "1a 2a 2a 3b")) == [(10, "ab")]
    pair = NAMES.replace("?y ]", f"?y ] [{W}| ?x <http://x/p> ?z ]")
    assert shown(play(replace(timed, body=pair), "1a 2a 3b")) == [(10, "aaaab")]
    counts = replace(timed, body=COUNT)
    assert counted(play(counts, "1a 2a 2a 3b")) == [3]


def test_asking_emits_on_change() -> None:
    asked = f"ASK WHERE {{ WINDOW <{W}> {{ [{W}| ?x <http://x/p> ?y ] }} }}"
    query = replace(sliding(2, 2, asked), emit="istream")
    found = play(query, "1a 3b 9c")
    assert [(each.at, [str(row[0])[1] for row in each.rows]) for each in found.reported] == [
        (2, ["t"]),
        (4, []),
        (6, ["f"]),
        (8, []),
        (10, ["t"]),
    ]


def test_a_count_window_beside_a_time_window() -> None:
    windows = (Window(W, S, "time", 10, 10), Window(V, T, "elements", 1, 1))
    both = "{{ WINDOW <{0}> {{ [{0}| ?x ?p ?y ] }} }}".format
    query = Continuous(windows, f"SELECT ?x WHERE {{ {both(W)} UNION {both(V)} }}")
    # Equal closes are one evaluation, and the closes between the first and the last are all there.
    assert shown(play(query, "3a", "5b 10c 10d 35e")) == [
        (5, "b"),
        (10, "ac"),
        (10, "ad"),
        (20, "d"),
        (30, "d"),
        (35, "e"),
    ]
    # A [) window is over before the elements of its close come.
    assert shown(play(replace(query, bounds="[)"), "3a", "5b 10c")) == [
        (5, "b"),
        (10, "ab"),
        (10, "ac"),
    ]


def test_every_looks_at_a_count_window_at_its_latest_close() -> None:
    query = Continuous((Window(W, S, "elements", 2, 2),), NAMES, report="every", period=5)
    assert shown(play(query, "2a 7b 8c 15d 16e")) == [(10, "ab"), (15, "cd")]
    strict = replace(query, pick="strict")
    assert shown(play(strict, "2a 7b 8c 15d 16e")) == [(10, "ab"), (15, "ab"), (20, "cd")]


def test_every_ends_when_nothing_new_comes_into_a_window_that_forgets_nothing() -> None:
    query = Continuous((Window(W, S, "all"),), NAMES, report="every", period=5)
    found = play(query, "2a 14b 12c 9d")
    assert shown(found) == [(5, "a"), (10, "a"), (15, "abcd")]
    assert late(found) == [9]


def test_arrivals_as_they_come() -> None:
    query = replace(sliding(5, None), report="on-arrival", order="arrival")
    found = play(query, "2a 7b 4c 9d 1e")
    assert shown(found) == [(2, "a"), (7, "b"), (7, "bc"), (9, "bd"), (9, "bd")]
    assert [each.seq for each in found.reported] == [0, 0, 1, 0, 1]
    assert late(found) == [1]


def test_a_graph_is_made_of_what_is_new() -> None:
    body = NAMES.replace("SELECT ?x", "SELECT ?x ?y")
    query = replace(sliding(2, 2, body), emit="istream", made=(0, rdf.Iri("http://x/made"), 1))
    found = play(query, "1a 3a 3b")
    assert [len(each.rows) for each in found.reported] == [1, 1]
    [row] = found.reported[1].rows
    assert row[:2] == (rdf.Iri("http://x/b"), rdf.Iri("http://x/made"))


def test_an_element_that_comes_late_is_seen_by_those_that_come_after_it() -> None:
    arriving = replace(sliding(5, None), report="on-arrival")
    streams = {S: stream("3a 5b 4c 5d")}
    found = [(3, "a"), (5, "ab"), (5, "abcd")]
    assert shown(Oracle(arriving, streams).run(live=True)) == found
    assert shown(Oracle(arriving, streams).run()) == found


def test_a_live_run_stops_at_the_watermark() -> None:
    def live(query: Continuous, *texts: str) -> list[tuple[int, str]]:
        streams = {iri: stream(text) for iri, text in zip((S, T), texts, strict=False)}
        return shown(Oracle(query, streams).run(live=True))

    assert live(sliding(5, 5), "3a 10b") == [(5, "a")]
    assert live(sliding(5, 5), "3a 11b") == [(5, "a"), (10, "")]
    arriving = replace(sliding(5, None), report="on-arrival")
    assert live(arriving, "3a 5b") == [(3, "a"), (5, "ab")]
    assert live(replace(arriving, delays={S: 2}), "3a 5b 5c") == [(3, "a")]
    # t0 is not known before the watermark has passed it.
    assert live(replace(sliding(5, 5), t0="first", delays={S: 5}), "3a 8b") == []
    assert live(replace(sliding(5, 5), t0="first", delays={S: 5}), "3a 9b") == [(3, "a")]
