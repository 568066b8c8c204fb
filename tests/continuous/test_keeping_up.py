"""A live run over windows that are worth it: what is new is looked at as it comes."""

from __future__ import annotations

import pytest

from headrace import Engine, Evaluation
from headrace.kernel import strategy
from headrace.kernel.incremental import Incremental
from headrace.rdf.vocabulary import XSD_INTEGER

S = "http://x/s"
QUERY = f"""
SELECT ?x ?y ?v FROM NAMED WINDOW <http://x/w> ON <{S}> [RANGE 400ms STEP 100ms]
WHERE {{ WINDOW <http://x/w> {{ ?x <http://x/p> ?y . ?y <http://x/q> ?v FILTER(?v > 2) }} }}
"""


def found(how: str, step: int, monkeypatch: pytest.MonkeyPatch) -> tuple[list[Evaluation], int]:
    """The evaluations of a stream that is pushed in small steps, and the uses of matches."""
    used = 0
    at = Incremental.at

    def counted(self: Incremental, *arguments: object) -> object:
        nonlocal used
        used += 1
        return at(self, *arguments)  # type: ignore[arg-type]  # passed on as they come

    monkeypatch.setattr(strategy, "_WORTH_IT", 10)
    monkeypatch.setattr(Incremental, "at", counted)
    engine = Engine(live=True, settings={"strategy": how}, clock=None)
    stream = engine.stream(S)
    heard: list[Evaluation] = []
    engine.register(QUERY).on_result(heard.append)
    for start in range(0, 2_000, step):
        stream.feed_timed("".join(map(lines, range(start, start + step))))
        engine.step()
    return heard, used


def lines(time: int) -> str:
    x, y, v = time % 7, time % 5, time % 6
    return (
        f"{time}\t<http://x/{x}> <http://x/p> <http://x/n{y}> .\n"
        f'{time}\t<http://x/n{y}> <http://x/q> "{v}"^^<{XSD_INTEGER}> .\n'
    )


@pytest.mark.parametrize("step", [3, 30])
def test_live_runs_use_matches(step: int, monkeypatch: pytest.MonkeyPatch) -> None:
    auto, used = found("auto", step, monkeypatch)
    whole, unused = found("snapshot", step, monkeypatch)
    assert auto == whole
    assert unused == 0
    assert used >= len(auto) - 2
    assert any(each.rows for each in auto)


def test_a_replay_looks_at_windows_as_a_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    _, used = found("auto", 1_000, monkeypatch)
    assert used == 0


@pytest.mark.unexpected
def test_who_gives_up_for_a_mistake_says_so(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError

    whole, _ = found("snapshot", 30, monkeypatch)
    monkeypatch.setattr(Incremental, "take", broken)
    auto, _ = found("auto", 30, monkeypatch)
    assert auto == whole
    assert "'q1' is evaluated by whole windows after a mistake" in caplog.text
