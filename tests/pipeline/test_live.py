"""What a live run reports without being pushed, by a clock that tests advance."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from headrace import Engine
from headrace.deploying import setup_of
from headrace.errors import SettingError
from headrace.pipeline.batches import Batches
from headrace.pipeline.deployment import open_deployment
from headrace.pipeline.local import LocalRunner
from headrace.pipeline.pieces import SourceLog
from headrace.pipeline.streams import Sources, declared
from headrace.results.evaluations import Evaluation

from .scenarios import ListSink

TUMBLING = "SELECT ?a FROM STREAM <s> [RANGE 10s STEP 10s] { ?a <x:p> ?c }"
SLIDING = "SELECT ?a FROM STREAM <s> [RANGE 10s STEP 5s] { ?a <x:p> ?c }"
BOTH = (
    "SELECT ?a ?b FROM STREAM <s> [RANGE 10s STEP 10s] FROM STREAM <t> [RANGE 10s STEP 10s]"
    " { ?a <x:p> ?c . ?b <x:q> ?c }"
)
ARRIVING = "SELECT ?a FROM STREAM <s> [RANGE 10s STEP] { ?a <x:p> ?c }"


@dataclass
class Live:
    """A live run in this process, step by step; times are seconds."""

    folder: Path
    query: str
    settings: dict[str, str] = field(default_factory=dict)
    streams: tuple[str, ...] = ("s",)
    now: float = 100.0
    found: list[Evaluation] = field(default_factory=list)
    batches: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.opening = self._opened()
        self.runner, self.log = next(self.opening)

    def _opened(self) -> Iterator[tuple[LocalRunner, SourceLog]]:
        with open_deployment(self.folder / "checkpoint") as deployment:
            clock = lambda: round(self.now * 1_000_000)  # noqa: E731
            engine = Engine(live=True, clock=clock, settings=self.settings, seed=deployment.seed)
            places = {iri: str(self.folder / f"{iri}.tnq") for iri in self.streams}
            for iri in self.streams:
                engine.stream(iri)
            query = engine.register(self.query, name="q")
            setup = setup_of(
                deployment,
                engine.plans(),
                {iri: [declared(place)] for iri, place in places.items()},
                engine.refreshing(),
                sinks={"list": ListSink(self.found, {"q": query.parsed.query.form})},
                clock=clock,
                live=True,
            )
            setup = replace(setup, clock=lambda: self.now)
            batches = Batches(deployment, setup, lambda each, _: self.batches.append(each.batch))
            log = SourceLog(deployment.layout.source_log, batches.last().pieces)
            sources = Sources({iri: [place] for iri, place in places.items()})
            yield LocalRunner(batches, sources, interval=0.0), log

    def restart(self) -> None:
        """Go on in another process, as after a kill: what sinks have taken is read from marks."""
        self.opening.close()  # type: ignore[attr-defined]  # it is a generator
        self.opening = self._opened()
        self.runner, self.log = next(self.opening)

    def write(self, *lines: str, stream: str = "s", predicate: str = "p") -> None:
        """Add lines such as `3 a`, the time in seconds and the subject."""
        with (self.folder / f"{stream}.tnq").open("a") as file:
            for line in lines:
                time, _, name = line.partition(" ")
                said = f"<x:{name}> <x:{predicate}> <x:o> ." if name else ""
                file.write(f"{round(float(time) * 1000)}\t{said}\n")

    def look(self, seconds: float = 0.0) -> None:
        """Let time pass, and do what the run does then."""
        self.now += seconds
        self.runner.sources.look(self.log, complete=False)
        while self.runner.step(self.log):
            pass
        self.runner.pass_time()

    @property
    def told(self) -> list[tuple[float, list[str]]]:
        """The instants so far, in seconds, with the first column of their rows."""
        return [
            (each.at / 1_000_000, [str(row[0]).removeprefix("<x:")[:-1] for row in each.rows])
            for each in self.found
        ]

    @property
    def late(self) -> int:
        return sum(each.late for each in self.runner.batches.last().streams.values())


def test_an_element_of_a_single_stream_is_evaluated_when_it_is_read(tmp_path: Path) -> None:
    live = Live(tmp_path, ARRIVING)
    live.write("3 a")
    live.look()
    assert live.told == [(3.0, ["a"])]
    live.write("3 b")
    live.look()
    assert live.told[1:] == [(3.0, ["a", "b"])]
    live.restart()
    live.write("3 c", "2 d", "3 e")
    live.look()
    assert live.told[2:] == [(3.0, ["a", "b", "c"]), (3.0, ["a", "b", "c", "d", "e"])]
    assert [each.seq for each in live.found] == [0, 1, 2, 3]


def test_a_delay_keeps_an_element_back_that_another_may_come_before(tmp_path: Path) -> None:
    live = Live(tmp_path, ARRIVING, {"delay": "2s"})
    live.write("3 a")
    live.look(60)
    assert live.told == []
    live.write("5 b")
    live.look()
    assert live.told == [(3.0, ["a"])]


def test_without_a_time_out_a_window_waits_for_ever(tmp_path: Path) -> None:
    live = Live(tmp_path, TUMBLING)
    live.write("3 a")
    live.look()
    live.look(3_600)
    assert live.told == []
    assert live.batches == [0]


def test_a_window_closes_when_its_stream_is_idle(tmp_path: Path) -> None:
    live = Live(tmp_path, TUMBLING, {"idle": "2s"})
    live.write("3 a")
    live.look()
    live.look(1.9)
    assert live.told == []
    live.look(0.2)
    assert live.told == [(10.0, ["a"])]
    live.look(3_600)
    assert live.batches == [0, 1], "nothing is done while nothing can be reported"
    live.write("7 b", "12 c")
    live.look()
    assert live.late == 1
    live.look(2.1)
    assert live.told == [(10.0, ["a"]), (20.0, ["c"])]


def test_later_closes_follow_as_fast_as_the_clock_goes(tmp_path: Path) -> None:
    """So that a short silence does not make late what wide windows could still hold."""
    live = Live(tmp_path, SLIDING, {"idle": "2s"})
    live.write("3 a")
    live.look()
    live.look(2.1)
    assert live.told == [(5.0, ["a"])]
    live.write("6 b")
    live.look()
    assert live.late == 0
    live.look(2.1)
    assert live.told == [(5.0, ["a"]), (10.0, ["a", "b"])]
    live.look(4.9)
    assert len(live.told) == 2
    live.look(0.2)
    assert live.told[2:] == [(15.0, ["b"])]


def test_heartbeats_end_a_silence(tmp_path: Path) -> None:
    live = Live(tmp_path, TUMBLING, {"idle": "2s"})
    live.write("3 a")
    live.look()
    live.look(1.5)
    live.write("4 ")
    live.look()
    live.look(1.5)
    assert live.told == []
    live.look(0.6)
    assert live.told == [(10.0, ["a"])]


def test_an_idle_stream_follows_those_that_are_not(tmp_path: Path) -> None:
    live = Live(tmp_path, BOTH, {"idle.t": "30s"}, ("s", "t"))
    live.write("1 a")
    live.write("2 b", stream="t", predicate="q")
    live.write("11 c")
    live.look()
    assert live.told == []
    live.look(30)
    assert live.told == [(10.0, ["a"])]
    live.write("21 d")
    live.look()
    assert [at for at, _ in live.told] == [10.0, 20.0]
    live.write("15 e", stream="t", predicate="q")
    live.look()
    assert live.late == 1


def test_a_stream_that_has_not_begun_can_be_idle(tmp_path: Path) -> None:
    live = Live(tmp_path, BOTH, {"idle.t": "5s"}, ("s", "t"))
    live.write("1 a", "11 c")
    live.look()
    live.look(4.9)
    assert live.told == []
    live.look(0.2)
    assert [at for at, _ in live.told] == [10.0]


def test_when_all_are_idle_all_close(tmp_path: Path) -> None:
    live = Live(tmp_path, BOTH, {"idle": "5s"}, ("s", "t"))
    live.write("1 a", "11 c")
    live.look()
    live.look(5.1)
    assert [at for at, _ in live.told] == [10.0, 20.0]


def test_what_waits_for_the_origin_is_reported_too(tmp_path: Path) -> None:
    live = Live(tmp_path, TUMBLING, {"idle": "1s", "t0": "first"})
    live.write("3 a", "4 b")
    live.look()
    live.look(1.1)
    assert live.told == [(3.0, ["a"]), (13.0, ["b"])]


@pytest.mark.parametrize("report", ["on-change", "on-arrival"])
def test_what_elements_cause_waits_for_silence_where_it_must(tmp_path: Path, report: str) -> None:
    settings = {"idle": "1s", "report": report, "delay": "3s"}
    live = Live(tmp_path, TUMBLING, settings)
    live.write("3 a", "4 b")
    live.look()
    assert live.told == []
    live.look(1.1)
    assert [at for at, _ in live.told] == [3.0, 4.0]


def test_what_an_idle_batch_decided_is_the_same_after_a_restart(tmp_path: Path) -> None:
    live = Live(tmp_path, SLIDING, {"idle": "2s"})
    live.write("3 a")
    live.look()
    live.look(2.1)
    before = live.runner.batches.last()
    live.restart()
    assert live.runner.batches.last().streams == before.streams
    live.write("4 b")
    live.look()
    assert live.late == 1
    live.look(2.1)
    live.look(8)
    assert live.told == [(5.0, ["a"]), (10.0, ["a", "b"])]


def test_pieces_that_wait_are_no_silence(tmp_path: Path) -> None:
    """A run that is behind does not take for silent what it has not read yet."""
    live = Live(tmp_path, BOTH, {"idle": "2s"}, ("s", "t"))
    live.write("1 a", "12 c")
    live.write("2 b", stream="t", predicate="q")
    live.runner.sources.look(live.log, complete=False)
    live.now += 60
    assert live.runner.step(live.log), "a piece of <s>, while that of <t> waits"
    assert live.told == []
    assert live.runner.step(live.log)
    assert live.late == 0


def test_a_stream_made_by_a_query_moves_on_with_its_source() -> None:
    """The reader of a derived stream is reported by the clock, and the run comes to rest."""
    engine_query = (
        "REGISTER STREAM <d> AS CONSTRUCT { ?a <x:p> ?c }"
        " FROM STREAM <s> [RANGE 5s STEP 5s] { ?a <x:p> ?c }"
    )
    clock = itertools.count(0, 3_000_000)
    engine = Engine(live=True, clock=lambda: next(clock), settings={"idle": "1s"})
    stream = engine.stream("s")
    engine.register(engine_query)
    reader = engine.register(TUMBLING.replace("<s>", "<d>"), name="reader")
    stream.push("<x:a> <x:p> <x:o> .", at=3_000)
    for _ in range(12):
        engine.step()
    assert [each.at for each in reader.results() if each.rows] == [10_000_000]


def test_an_idle_time_out_is_for_live_runs() -> None:
    with pytest.raises(SettingError, match="idle time-out, which needs the clock of a live run"):
        Engine(settings={"idle": "5s"}).register(TUMBLING)
    with pytest.raises(SettingError, match="'idle' needs a duration longer than zero"):
        Engine(live=True, settings={"idle": "0s"}).register(TUMBLING)


def test_pushed_elements_without_a_time_close_windows_by_the_clock() -> None:
    now = 1_000_000
    engine = Engine(live=True, clock=lambda: now)
    stream, query = engine.stream("s"), engine.register(TUMBLING)
    stream.push("<x:a> <x:p> <x:o> .")
    engine.step()
    assert list(query.results()) == []
    now = 10_000_001
    engine.step()
    assert [each.at for each in query.results()] == [10_000_000]


def test_a_clock_that_is_set_back_makes_no_element_too_far_ahead(tmp_path: Path) -> None:
    live = Live(tmp_path, TUMBLING)
    live.write("95 a")
    live.look()
    live.now -= 2 * 86_400
    live.write("101 b", "110.5 c")
    live.look()
    [state] = live.runner.batches.last().streams.values()
    assert (state.rejected, state.late) == (0, 0)
    assert live.told == [(100.0, ["a"]), (110.0, ["b"])]


@pytest.mark.parametrize("frame", ["RANGE 10s STEP 10s", "RANGE 30s STEP 5s", "TRIPLES 2"])
def test_a_gap_of_years_across_a_restart_is_one_range(frame: str, tmp_path: Path) -> None:
    counted = "TRIPLES" in frame
    every = {"report": "every:5s"} if counted else {}
    query = (
        f"SELECT ?a FROM NAMED WINDOW <w> ON <s> [{frame}] WHERE {{ WINDOW <w> {{ ?a <x:p> ?c }} }}"
    )
    live = Live(tmp_path, query, every, now=1_600_000_000.0)
    live.write("3 a", "12 b", "16 c")
    live.look()
    before = len(live.told)
    live.restart()
    live.write("1500000003 d", "1500000016 e")
    live.look()
    live.restart()
    live.write("1500000061 f")
    live.look()
    assert 0 < before < len(live.told) < 40
    [far] = [each for each in live.found if each.since is not None]
    assert len(far.rows) == (2 if counted else 0)
    step = 10 if "STEP 10s" in frame else 5
    first, last = live.found[0].at, live.found[-1].at
    assert sum(each.instants for each in live.found) == (last - first) // (step * 1_000_000) + 1
    assert last == 1_500_000_060_000_000
    assert len(live.found[-1].rows) == (2 if counted else 0)
