"""Lines from a server are in the log once, in order and whole."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.arrival_times import SteadyClock
from headrace.errors import DataError, SettingError
from headrace.ingest.log import IngestLog
from headrace.ingest.records import Record
from headrace.ingest.tcp import LONGEST_GROUP, LONGEST_LINE, LineBuffer, TcpReceiver
from headrace.rdf.formats import Format
from headrace.rdf.streams import read_stream
from tests.brokers.mosquitto import free_port
from tests.ingest.logs import WAIT, lines_of, payloads, until

TIMED = "application/vnd.headrace.timed-n-quads"


@pytest.fixture
def server() -> Iterator[socket.socket]:
    with closing(socket.create_server(("127.0.0.1", 0))) as listening:
        listening.settimeout(WAIT)
        yield listening


@pytest.fixture
def log(tmp_path: Path) -> Iterator[IngestLog]:
    with IngestLog(tmp_path / "log") as opened:
        yield opened


def url_of(server: socket.socket) -> str:
    return f"tcp://127.0.0.1:{server.getsockname()[1]}"


def received(log: IngestLog) -> bytes:
    return b"".join(payloads(log.directory))


def test_lines_arrive_whole_and_in_order(server: socket.socket, log: IngestLog) -> None:
    text = b"".join(b"%d\t<x:a> <x:b> <x:c%d> .\n" % (n // 3, n) for n in range(20_000))
    receiver = TcpReceiver(url_of(server), log, clock=SteadyClock(lambda: 5, None))
    receiver.start()
    connection, _ = server.accept()
    with connection:
        for start in range(0, len(text), 10_007):
            connection.sendall(text[start : start + 10_007])
        until(lambda: received(log) == text)
    receiver.stop()
    assert all(data.endswith(b"\n") for data in payloads(log.directory))
    assert {(said["received"], said["type"]) for said in lines_of(log.directory)} == {(5, TIMED)}
    assert receiver.problem is None


def test_a_pause_is_enough_to_be_kept(server: socket.socket, log: IngestLog) -> None:
    receiver = TcpReceiver(url_of(server), log)
    receiver.start()
    connection, _ = server.accept()
    with connection:
        connection.sendall(b"1\t<x:a> <x:b> <x:c> .\n1\t<x:a")
        until(lambda: received(log) == b"1\t<x:a> <x:b> <x:c> .\n")
        connection.sendall(b"> <x:b> <x:d> .\n")
        until(lambda: received(log).endswith(b"\n1\t<x:a> <x:b> <x:d> .\n"))
    receiver.stop()


def test_it_connects_again(server: socket.socket, log: IngestLog) -> None:
    receiver = TcpReceiver(url_of(server), log)
    receiver.start()
    for number in range(3):
        connection, _ = server.accept()
        with connection:
            connection.sendall(b"%d\n" % number)
    until(lambda: received(log) == b"0\n1\n2\n")
    receiver.stop()
    assert receiver.problem is None


def test_it_waits_for_a_server_that_is_not_there(log: IngestLog) -> None:
    port = free_port()
    receiver = TcpReceiver(f"tcp://127.0.0.1:{port}", log)
    receiver.start()
    until(lambda: receiver.trouble == "Connection refused")
    assert not receiver.wait(0)
    with closing(socket.create_server(("127.0.0.1", port))) as server:
        server.settimeout(WAIT)
        connection, _ = server.accept()
        with connection:
            assert receiver.wait(WAIT)
            assert receiver.trouble is None
    receiver.stop()
    assert receiver.problem is None


def test_a_line_without_an_end_is_refused(server: socket.socket, log: IngestLog) -> None:
    refused: list[DataError] = []
    receiver = TcpReceiver(url_of(server), log, on_refused=refused.append)
    receiver.start()
    connection, _ = server.accept()
    with connection:
        connection.sendall(b"1\n1794")  # of a longer time: taken as one, it would be a wrong one
    until(lambda: receiver.refused == 1)
    receiver.stop()
    assert received(log) == b"1\n"
    assert refused[0].problem == "the connection ended within a line"
    assert refused[0].name == url_of(server)
    kept = b"".join((log.directory / name).read_bytes() for name in log.segments)
    problems: list[DataError] = []
    read = read_stream(kept, Format.NDJSON, on_error=problems.append)
    assert (read.elements.height, read.unread) == (1, 1)
    assert [each.problem for each in problems] == ["the connection ended within a line"]


def test_a_line_that_is_too_long_is_refused(server: socket.socket, log: IngestLog) -> None:
    refused: list[DataError] = []
    receiver = TcpReceiver(url_of(server), log, on_refused=refused.append)
    receiver.start()
    connection, _ = server.accept()
    with connection:
        connection.sendall(b"1\n" + b"x" * (2 * LONGEST_LINE) + b"\n2\n")
        until(lambda: received(log) == b"1\n2\n")
    receiver.stop()
    assert [error.problem for error in refused] == ["expected lines of at most 16,000,000 bytes"]


def test_lines_without_times_are_elements_of_their_own(
    server: socket.socket, log: IngestLog
) -> None:
    receiver = TcpReceiver(url_of(server) + "?type=application/n-quads", log)
    receiver.start()
    lines = [b"<x:a> <x:b> <x:%d> .\n" % number for number in range(3)]
    connection, _ = server.accept()
    with connection:
        connection.sendall(b"".join([lines[0], b"\n", lines[1], b" # nothing\n", lines[2]]))
        until(lambda: payloads(log.directory) == lines)
    receiver.stop()
    assert {said["type"] for said in lines_of(log.directory)} == {"application/n-quads"}


def test_lines_without_times_need_no_type(server: socket.socket, log: IngestLog) -> None:
    """The time of their arrival counts then, though others before or after them say theirs."""
    receiver = TcpReceiver(url_of(server), log, clock=SteadyClock(lambda: 5, None))
    receiver.start()
    bare = [b"<x:a> <x:b> <x:c> .\n", b"_:n <x:b> <x:d> .\n"]
    timed = b"7\t<x:a> <x:b> <x:e> .\n7\t<x:a> <x:b> <x:f> .\n"
    connection, _ = server.accept()
    with connection:
        connection.sendall(b"".join([*bare, b"# nothing\n"]))
        until(lambda: payloads(log.directory) == bare)
        until(lambda: receiver.goes_by_arrival)  # known once they are synced
        connection.sendall(timed + bare[0])
        until(lambda: payloads(log.directory) == [*bare, timed, bare[0]])
    receiver.stop()
    quads = "application/n-quads"
    assert [said["type"] for said in lines_of(log.directory)] == [quads, quads, TIMED, quads]
    assert not receiver.goes_by_arrival


@pytest.mark.parametrize("cut", [b'b> "0" .\n', b"c> .\n", b'7" .\n', b"\xa9x .\n", b".\n"])
def test_a_cut_first_line_says_no_time(server: socket.socket, log: IngestLog, cut: bytes) -> None:
    """One has connected in the midst of it; the clock closes windows of what follows."""
    receiver = TcpReceiver(url_of(server), log, clock=SteadyClock(lambda: 5, None))
    receiver.start()
    bare = b"<x:a> <x:b> <x:c> .\n"
    connection, _ = server.accept()
    with connection:
        connection.sendall(cut + bare)
        until(lambda: payloads(log.directory) == [cut, bare])
        until(lambda: receiver.goes_by_arrival)
    receiver.stop()


def test_it_can_be_stopped_while_the_log_is_full(server: socket.socket, tmp_path: Path) -> None:
    line = b"1\t<x:a> <x:b> <x:c> .\n"
    size = len(Record(1, TIMED, line).line())
    with IngestLog(tmp_path / "log", segment=1, quota=size + 1) as log:
        receiver = TcpReceiver(url_of(server), log, clock=SteadyClock(lambda: 1, None))
        receiver.start()
        connection, _ = server.accept()
        with connection:
            connection.sendall(line)
            until(lambda: received(log) == line)
            connection.sendall(line)
            until(lambda: "quota" in (receiver.trouble or ""))
            receiver.stop()
        assert receiver.problem is None
        assert received(log) == line


def test_a_restart_goes_on_after_the_last_time_of_the_log(
    server: socket.socket, log: IngestLog
) -> None:
    """The clock was ahead before it, and was set back."""

    def has_lines(number: int) -> bool:
        return len(lines_of(log.directory)) == number

    log.append([Record(9_000_000, TIMED, b"1\t<x:a> <x:b> <x:c> .\n")])
    now = 5_000_000
    receiver = TcpReceiver(url_of(server), log, clock=SteadyClock(lambda: now, lambda: now))
    receiver.start()
    connection, _ = server.accept()
    for now, number in ((5_000_000, 2), (7_000_000, 3), (20_000_000, 4)):  # noqa: B007 - a clock
        connection.sendall(b"<x:a> <x:b> <x:c> .\n")
        until(partial(has_lines, number))
    connection.close()
    receiver.stop()
    times = [each["received"] for each in lines_of(log.directory)]
    assert times[:4] == [9_000_000, 9_000_000, 10_000_000, 20_000_000]


def test_a_full_log_makes_the_sender_wait(server: socket.socket, tmp_path: Path) -> None:
    line = b"1\t<x:a> <x:b> <x:c> .\n"
    size = len(Record(1, TIMED, line).line())
    with IngestLog(tmp_path / "log", segment=1, quota=2 * size) as log:
        receiver = TcpReceiver(url_of(server), log, clock=SteadyClock(lambda: 1, None))
        receiver.start()
        connection, _ = server.accept()
        with connection:
            for number in range(1, 4):
                connection.sendall(line.replace(b"1", b"%d" % number))
                until(lambda: log.size == 2 * size if number > 1 else log.size == size)  # noqa: B023
            until(lambda: "quota" in (receiver.trouble or ""))
            log.prune("00000001.ndjson")
            until(lambda: received(log).startswith(b"2") and b"\n3" in received(log))
        receiver.stop()
    assert receiver.problem is None


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("tcp://127.0.0.1", "port"),
        ("tcp://127.0.0.1:5/topic", "only a host and a port"),
        ("tcp://me@127.0.0.1:5", "only a host and a port"),
        ("tcp://127.0.0.1:5?type=text/turtle", "written in lines"),
        ("tcp://127.0.0.1:5?type=text/n-quads", "expected the media type"),
    ],
)
def test_a_wrong_url_is_refused(url: str, problem: str, log: IngestLog) -> None:
    with pytest.raises(SettingError, match=problem):
        TcpReceiver(url, log)


def pieces(text: bytes, cuts: list[int]) -> Iterator[bytes]:
    places = sorted(min(cut, len(text)) for cut in cuts)
    for start, end in zip([0, *places], [*places, len(text)], strict=True):
        yield text[start:end]


timed_lines = st.lists(st.sampled_from([b"1\ta", b"2\ta", b"2\tb", b"3", b""]), max_size=20)


@given(lines=timed_lines, cuts=st.lists(st.integers(0, 100), max_size=10))
def test_what_is_taken_is_what_was_fed_and_keeps_a_time_together(
    lines: list[bytes], cuts: list[int]
) -> None:
    text = b"".join(line + b"\n" for line in lines)
    buffer = LineBuffer(1_000, timed=True)
    taken: list[bytes] = []
    for piece in pieces(text, cuts):
        assert not buffer.feed(piece)
        taken.append(buffer.take(everything=False))
    taken.append(buffer.take(everything=True))
    assert b"".join(taken) == text
    groups = [group.split(b"\n")[:-1] for group in taken if group]
    for before, after in pairwise(groups):
        assert before[-1].split(b"\t")[0] != after[0].split(b"\t")[0]


@given(
    sizes=st.lists(st.integers(0, 15), max_size=12), cuts=st.lists(st.integers(0, 120), max_size=12)
)
def test_lines_longer_than_the_limit_and_only_those_are_refused(
    sizes: list[int], cuts: list[int]
) -> None:
    lines = [b"x" * size + b"\n" for size in sizes]
    buffer = LineBuffer(8, timed=False)
    refused = sum(
        buffer.feed(part)
        for piece in pieces(b"".join(lines), cuts)
        for part in pieces(piece, list(range(8, len(piece), 8)))
    )
    assert buffer.take(everything=True) == b"".join(line for line in lines if len(line) <= 9)
    assert refused == sum(len(line) > 9 for line in lines)
    assert not buffer.unfinished


def test_groups_are_not_larger_than_a_reader_takes(server: socket.socket, log: IngestLog) -> None:
    line = b"1\t<x:a> <x:b> '%s' .\n" % (b"x" * 300_000)
    text = line * 70 + b"2\n"
    receiver = TcpReceiver(url_of(server), log)
    receiver.start()
    connection, _ = server.accept()
    with connection:
        connection.sendall(text)
        until(lambda: len(received(log)) == len(text))
    receiver.stop()
    assert received(log) == text
    assert max(map(len, payloads(log.directory))) <= LONGEST_GROUP


def test_heartbeats_follow_what_has_no_time_and_nothing_else(
    server: socket.socket, log: IngestLog
) -> None:
    now = 5_000_000
    asked = list[tuple[int, int]]()

    def is_due(last: int, present: int) -> bool:
        asked.append((last, present))
        return present - last >= 1_000_000

    url = f"{url_of(server)}?type=application/n-quads"
    receiver = TcpReceiver(url, log, clock=SteadyClock(lambda: now, None))
    receiver.schedule_heartbeats(is_due)
    receiver.start()
    connection, _ = server.accept()
    with connection:
        until(lambda: payloads(log.directory) == [b""])
        connection.sendall(b"<x:a> <x:b> <x:c> .\n")
        until(lambda: len(payloads(log.directory)) == 2)
        number = len(asked)
        until(lambda: len(asked) > number)
        assert len(payloads(log.directory)) == 2, "no time has passed"
        now = 6_000_000
        until(lambda: len(payloads(log.directory)) == 3)
    receiver.stop()
    assert [(said["received"], said.get("time")) for said in lines_of(log.directory)] == [
        (5_000_000, "5000"),
        (5_000_000, None),
        (6_000_000, "6000"),
    ]


@pytest.mark.parametrize(
    ("options", "line", "beats"),
    [
        ("", b"1\t<x:a> <x:b> <x:c> .\n", False),
        ("?type=application/x-ndjson", b'{"time": 1, "data": "<x:a> <x:b> <x:c> ."}\n', False),
        ("?type=application/x-ndjson", b'{"@id": "x:a", "x:b": 1}\n', True),
    ],
)
def test_what_says_its_time_is_not_followed_by_heartbeats(
    server: socket.socket, log: IngestLog, options: str, line: bytes, beats: bool
) -> None:
    receiver = TcpReceiver(url_of(server) + options, log)
    receiver.schedule_heartbeats(lambda last, now: now > last)
    receiver.start()
    connection, _ = server.accept()
    with connection:
        assert not receiver.goes_by_arrival, "nothing has come yet"
        connection.sendall(line)
        until(lambda: line in payloads(log.directory))
        until(lambda: receiver.goes_by_arrival is beats)
    receiver.stop()
    assert (payloads(log.directory)[-1] == b"") is beats


def test_after_a_restart_heartbeats_go_on(server: socket.socket, log: IngestLog) -> None:
    log.append([Record(1, "application/x-ndjson", b'{"@id": "x:a", "x:b": 1}\n')])
    receiver = TcpReceiver(f"{url_of(server)}?type=application/x-ndjson", log)
    assert receiver.goes_by_arrival
