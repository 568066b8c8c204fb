"""`headrace run` over what is received: real brokers and sockets, killed and stopped runs."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

import pytest
from paho.mqtt.client import Client
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from headrace.errors import MachineError
from headrace.spark.java import find_java
from tests.brokers.mosquitto import Mosquitto, free_port
from tests.ingest import logs
from tests.ingest.test_mqtt import publisher
from tests.live import (
    QUERIES,
    TIMED,
    LiveRun,
    elements,
    instants_of,
    lines_of,
    live_run,
    results,
    uninterrupted,
)

pytestmark = pytest.mark.slow

HEARTBEAT = "0\n"


def publish(client: Client, texts: Sequence[str]) -> None:
    """Publish elements, and wait until the broker has them."""
    properties = Properties(PacketTypes.PUBLISH)  # type: ignore[no-untyped-call]  # paho's
    properties.ContentType = TIMED
    sent = [client.publish("cars", text, qos=1, properties=properties) for text in texts]
    for each in sent:
        each.wait_for_publish(logs.WAIT)


def subscribed(run: LiveRun, checkpoint: Path, client: Client) -> None:
    """Wait until messages arrive: what is published before is for nobody."""

    def arrives() -> bool:
        publish(client, [HEARTBEAT])
        return any(map(lines_of, checkpoint.glob("logs/*/*.ndjson")))

    run.until(arrives)


@pytest.fixture(
    params=["inline", pytest.param("spark", marks=[pytest.mark.spark, pytest.mark.long])]
)
def runner(request: pytest.FixtureRequest) -> str:
    if request.param == "spark":
        try:
            find_java()
        except MachineError as error:
            pytest.skip(str(error))
    return str(request.param)


def test_a_killed_run_has_lost_no_message_and_repeats_none(
    mosquitto: Mosquitto, tmp_path: Path, runner: str
) -> None:
    sent = elements(0, 1000)
    out, checkpoint, log = tmp_path / "out.ndjson", tmp_path / "run", tmp_path / "log"
    arguments = (
        *(*QUERIES, "--stream", f"s={mosquitto.url('cars')}", "--runner", runner),
        *("--checkpoint", str(checkpoint), "--out", str(out)),
    )
    with publisher(mosquitto.port) as client:
        with live_run(log, *arguments) as first:
            subscribed(first, checkpoint, client)
            publish(client, sent[:200])
            first.until(lambda: instants_of(out) >= 2)
            rest = threading.Thread(target=publish, args=(client, sent[200:500]))
            rest.start()
            first.kill()
            rest.join()
        publish(client, sent[500:700])
        with live_run(log, *arguments) as second:
            second.until(lambda: instants_of(out) >= 10)
            publish(client, sent[700:])
            second.until(lambda: instants_of(out) >= 19)
            assert second.stop() == 0, second.said()
    expected = uninterrupted(tmp_path, [HEARTBEAT, *sent])
    assert results(lines_of(out)) == results(lines_of(expected), until=95_000)


def test_a_receiver_that_gives_up_ends_the_run(tmp_path: Path, mosquitto: Mosquitto) -> None:
    mosquitto.stop()
    mosquitto.listener = ("allow_anonymous false",)
    mosquitto.start()
    source = f"s=mqtt://me:secret@127.0.0.1:{mosquitto.port}/cars"
    with live_run(tmp_path / "log", *QUERIES, "--stream", source, "--runner", "inline") as run:
        assert run.ended() == 2, run.said()
    assert f"mqtt://127.0.0.1:{mosquitto.port}/cars refuses the connection" in run.said()
    assert "secret" not in run.said()


def test_a_broker_that_is_away_is_told_of_and_waited_for(
    tmp_path: Path, mosquitto: Mosquitto
) -> None:
    mosquitto.stop()
    out, checkpoint = tmp_path / "out.ndjson", tmp_path / "run"
    arguments = (
        *(*QUERIES, "--stream", f"s={mosquitto.url('cars')}", "--runner", "inline"),
        *("--checkpoint", str(checkpoint), "--out", str(out)),
    )
    with live_run(tmp_path / "log", *arguments) as run:
        run.until(lambda: f"cannot receive from {mosquitto.url('cars')} now" in run.said())
        mosquitto.start()
        with publisher(mosquitto.port) as client:
            subscribed(run, checkpoint, client)
            publish(client, elements(0, 100))
            run.until(lambda: instants_of(out) >= 1)
        assert run.stop() == 0, run.said()


def test_two_streams_may_be_of_one_broker_and_of_one_topic(
    tmp_path: Path, mosquitto: Mosquitto
) -> None:
    texts = [QUERIES[0], QUERIES[0].replace("pairs", "others").replace("<s>", "<t>")]
    texts += [QUERIES[0].replace("pairs", "more").replace("<s>", "<u>")]
    topic = mosquitto.url("cars")
    out, checkpoint = tmp_path / "out.ndjson", tmp_path / "run"
    arguments = (
        *(*texts, "--stream", f"s={topic}", "--stream", f"t={topic}"),
        *("--stream", f"u={mosquitto.url('#')}", "--runner", "inline"),
        *("--checkpoint", str(checkpoint), "--out", str(out)),
    )

    def both() -> bool:
        return len([*filter(lines_of, checkpoint.glob("logs/*/*.ndjson"))]) == 2

    with (
        live_run(tmp_path / "log", *arguments) as run,
        publisher(mosquitto.port) as client,
    ):
        subscribed(run, checkpoint, client)
        run.until(both)
        publish(client, elements(0, 60))
        run.until(lambda: len({each["query"] for each in results(lines_of(out))}) == 3)
        assert run.stop() == 0, run.said()
    assert "client id" not in run.said()


@pytest.fixture
def server() -> Iterator[socket.socket]:
    with closing(socket.create_server(("127.0.0.1", 0))) as listening:
        listening.settimeout(logs.WAIT)
        yield listening


def test_lines_of_a_server_are_answered_while_it_sends(
    server: socket.socket, tmp_path: Path
) -> None:
    sent = elements(0, 300)
    out = tmp_path / "out.ndjson"
    source = f"s=tcp://127.0.0.1:{server.getsockname()[1]}"
    arguments = (*QUERIES, "--stream", source, "--runner", "inline", "--out", str(out))
    with live_run(tmp_path / "log", *arguments) as run:
        connection, _ = server.accept()
        with connection:
            connection.sendall("".join(sent[:150]).encode())
            run.until(lambda: instants_of(out) >= 2)
            connection.sendall("".join(sent[150:]).encode())
            run.until(lambda: instants_of(out) >= 5)
            assert run.stop() == 0, run.said()
    expected = uninterrupted(tmp_path, sent)
    assert results(lines_of(out)) == results(lines_of(expected), until=25_000)


def test_a_server_that_is_not_there_is_told_of(tmp_path: Path) -> None:
    source = f"s=tcp://127.0.0.1:{free_port()}"
    with live_run(tmp_path / "log", *QUERIES, "--stream", source, "--runner", "inline") as run:
        run.until(lambda: "Connection refused" in run.said())
        assert run.stop() == 0, run.said()
