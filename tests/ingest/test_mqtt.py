"""Messages of a real broker are in the log exactly once, whoever is killed when."""

from __future__ import annotations

import random
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from pathlib import Path
from typing import TypeAlias

import pytest
from paho.mqtt.client import Client, MQTTMessageInfo
from paho.mqtt.enums import CallbackAPIVersion, MQTTProtocolVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from headrace.arrival_times import SteadyClock
from headrace.errors import SettingError
from headrace.ingest.log import IngestLog
from headrace.ingest.mqtt import MqttReceiver
from headrace.ingest.records import Record
from tests.brokers.mosquitto import Mosquitto, free_port
from tests.ingest.logs import WAIT, lines_of, payloads, until
from tests.shared import ROOT


@contextmanager
def publisher(port: int) -> Iterator[Client]:
    client = Client(CallbackAPIVersion.VERSION2, protocol=MQTTProtocolVersion.MQTTv5)
    client.max_inflight_messages_set(1_000)
    client.connect("127.0.0.1", port)
    client.loop_start()
    try:
        yield client
    finally:
        client.disconnect()
        client.loop_stop()


def publish(client: Client, topic: str, *messages: bytes, qos: int = 1) -> None:
    """Publish, and wait until the broker has all of it."""
    sent: list[MQTTMessageInfo] = [client.publish(topic, each, qos) for each in messages]
    for each in sent:
        each.wait_for_publish(WAIT)


@contextmanager
def receiving(url: str, log: IngestLog, client_id: str = "test") -> Iterator[MqttReceiver]:
    receiver = MqttReceiver(url, log, client_id=client_id, clock=SteadyClock(lambda: 5, None))
    receiver.start()
    try:
        yield receiver
    finally:
        receiver.stop()


@pytest.fixture
def log(tmp_path: Path) -> Iterator[IngestLog]:
    with IngestLog(tmp_path / "log") as opened:
        yield opened


@pytest.mark.parametrize("qos", [0, 1])
def test_messages_are_records(mosquitto: Mosquitto, log: IngestLog, qos: int) -> None:
    url = mosquitto.url(f"room/+/t?qos={qos}")
    with receiving(url, log) as receiver, publisher(mosquitto.port) as client:
        assert receiver.wait(WAIT)
        publish(client, "room/1/t", b"<x:a> <x:b> <x:c> .", qos=qos)
        publish(client, "room/1/u", b"not subscribed", qos=qos)
        publish(client, "room/2/t", b"\xff", qos=qos)
        until(lambda: len(lines_of(log.directory)) == 2)
    assert receiver.problem is None
    first, second = lines_of(log.directory)
    assert first["data"] == "<x:a> <x:b> <x:c> ."
    assert second["base64"] == "/w=="
    assert {(each["received"], each["type"]) for each in (first, second)} == {
        (5, "application/n-quads")
    }
    assert ("id" in first) == (qos == 1)


def test_a_type_and_a_time_are_the_senders(mosquitto: Mosquitto, log: IngestLog) -> None:
    url = mosquitto.url("a/%23?type=text/turtle")
    with receiving(url, log) as receiver, publisher(mosquitto.port) as client:
        assert receiver.wait(WAIT)
        for kind, time in [(None, None), ("application/ld+json", "1500"), (None, "soon")]:
            said = Properties(PacketTypes.PUBLISH)  # type: ignore[no-untyped-call]  # paho's
            if kind:
                said.ContentType = kind
            if time:
                said.UserProperty = [("time", time)]
            client.publish("a/b/c", b"x", 1, properties=said).wait_for_publish(WAIT)
        until(lambda: len(lines_of(log.directory)) == 3)
    found = [(said["type"], said.get("time")) for said in lines_of(log.directory)]
    assert found == [
        ("text/turtle", None),
        ("application/ld+json", "1970-01-01T00:00:01.5Z"),
        ("text/turtle", "soon"),  # for the reader to refuse
    ]


def test_what_is_sent_while_nobody_receives_comes_later(
    mosquitto: Mosquitto, log: IngestLog
) -> None:
    url = mosquitto.url("a")
    with publisher(mosquitto.port) as client:
        with receiving(url, log) as receiver:
            assert receiver.wait(WAIT)
        publish(client, "a", *(b"%d" % number for number in range(100)))
        with receiving(url, log):
            until(lambda: len(lines_of(log.directory)) == 100)
    assert payloads(log.directory) == [b"%d" % number for number in range(100)]


def test_equal_messages_are_messages_of_their_own(mosquitto: Mosquitto, log: IngestLog) -> None:
    with receiving(mosquitto.url("a"), log) as receiver, publisher(mosquitto.port) as client:
        assert receiver.wait(WAIT)
        publish(client, "a", *([b"on"] * 50))
        until(lambda: len(lines_of(log.directory)) == 50)
    assert len({said["id"] for said in lines_of(log.directory)}) == 50


def test_nothing_is_acknowledged_while_the_log_is_full(
    mosquitto: Mosquitto, tmp_path: Path
) -> None:
    quota = len(Record(5, "application/n-quads", b"0", id="x" * 60).line())
    with (
        IngestLog(tmp_path / "log", segment=1, quota=quota) as log,
        publisher(mosquitto.port) as client,
        receiving(mosquitto.url("a"), log) as receiver,
    ):
        assert receiver.wait(WAIT)
        publish(client, "a", b"0")
        until(lambda: payloads(log.directory) == [b"0"])
        publish(client, "a", b"1")
        until(lambda: "quota" in (receiver.trouble or ""))
    with (
        IngestLog(tmp_path / "log", segment=1, quota=2 * quota) as log,
        receiving(mosquitto.url("a"), log),
    ):
        until(lambda: payloads(log.directory) == [b"0", b"1"])


def test_it_finds_a_broker_that_was_restarted(mosquitto: Mosquitto, log: IngestLog) -> None:
    with receiving(mosquitto.url("a"), log) as receiver:
        assert receiver.wait(WAIT)
        mosquitto.stop()
        until(lambda: receiver.trouble is not None)
        mosquitto.start()
        assert receiver.wait(WAIT)
        with publisher(mosquitto.port) as client:
            publish(client, "a", b"1")
            until(lambda: payloads(log.directory) == [b"1"])
    assert receiver.problem is None


def test_a_new_session_is_not_mistaken_for_the_last(mosquitto: Mosquitto, log: IngestLog) -> None:
    """A broker that kept nothing gives the same packet identifiers to the same payloads."""
    for _ in range(2):
        with receiving(mosquitto.url("a"), log) as receiver, publisher(mosquitto.port) as client:
            assert receiver.wait(WAIT)
            publish(client, "a", b"on", b"off")
            until(lambda: len(lines_of(log.directory)) % 2 == 0)
            until(lambda: len(lines_of(log.directory)) > 0)
        mosquitto.stop()
        mosquitto.start()
    assert payloads(log.directory) == [b"on", b"off"] * 2


@pytest.mark.parametrize("version", [3, 5])
def test_a_retained_message_is_taken_once(
    mosquitto: Mosquitto, log: IngestLog, version: int
) -> None:
    with relay(mosquitto.port, newest=version == 5) as port, publisher(mosquitto.port) as client:
        client.publish("a", b"retained", 1, retain=True).wait_for_publish(WAIT)
        url = f"mqtt://127.0.0.1:{port}/a"
        for number in range(3):
            with receiving(url, log) as receiver:
                assert receiver.wait(WAIT)
                publish(client, "a", b"%d" % number)
                until(lambda: payloads(log.directory)[-1:] == [b"%d" % number])  # noqa: B023
    assert payloads(log.directory) == [b"retained", b"0", b"1", b"2"]


@pytest.mark.parametrize("politely", [True, False])
def test_a_broker_of_mqtt_3_will_do(mosquitto: Mosquitto, log: IngestLog, politely: bool) -> None:
    with (
        relay(mosquitto.port, newest=False, politely=politely) as port,
        receiving(f"mqtt://127.0.0.1:{port}/a", log) as receiver,
        publisher(mosquitto.port) as client,
    ):
        assert receiver.wait(WAIT)
        publish(client, "a", b"1", b"2")
        until(lambda: payloads(log.directory) == [b"1", b"2"])


@contextmanager
def relay(port: int, *, newest: bool, politely: bool = True) -> Iterator[int]:
    """A port that leads to a broker, but if wanted not for clients that speak MQTT 5."""
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        threads = [threading.Thread(target=_accept, args=(server, port, newest, politely))]
        threads[0].start()
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)
        threads[0].join()


def _accept(server: socket.socket, port: int, newest: bool, politely: bool) -> None:
    passing: list[threading.Thread] = []
    with suppress(OSError):
        while True:
            client, _ = server.accept()
            first = client.recv(4096)
            if first[8] == 5 and not newest:  # the level of the protocol, in CONNECT
                client.sendall(b"\x20\x02\x00\x01" if politely else b"")
                client.close()
                continue
            broker = socket.create_connection(("127.0.0.1", port))
            broker.sendall(first)
            for one, other in ((client, broker), (broker, client)):
                passing.append(threading.Thread(target=_pass, args=(one, other)))
                passing[-1].start()
    for thread in passing:
        thread.join()


def _pass(one: socket.socket, other: socket.socket) -> None:
    with suppress(OSError):
        while data := one.recv(65_536):
            other.sendall(data)
    with suppress(OSError):
        other.shutdown(socket.SHUT_WR)
    # Each side is closed by the thread that reads from it.
    one.close()


def test_a_wrong_password_ends_it(mosquitto: Mosquitto, log: IngestLog) -> None:
    mosquitto.stop()
    passwords = mosquitto.folder / "passwords"
    passwords.write_text("")
    passwords.chmod(0o600)
    mosquitto.settings = (f"password_file {passwords}",)
    mosquitto.listener = ("allow_anonymous false",)
    mosquitto.start()
    url = f"mqtt://me:secret@127.0.0.1:{mosquitto.port}/a"
    with receiving(url, log) as receiver:
        until(lambda: receiver.problem is not None)
    assert isinstance(receiver.problem, SettingError)
    assert "Not authorized" in str(receiver.problem)
    assert "secret" not in str(receiver.problem)


def to(server: socket.socket, log: IngestLog) -> AbstractContextManager[MqttReceiver]:
    return receiving(f"mqtt://127.0.0.1:{server.getsockname()[1]}/a", log)


def test_a_second_client_with_the_id_ends_the_first(log: IngestLog) -> None:
    """Mosquitto 2.0 just hangs up; what others say is said by hand."""
    with closing(socket.create_server(("127.0.0.1", 0))) as server, to(server, log) as receiver:
        client, _ = server.accept()
        with client:
            client.recv(4096)
            connected, taken_over = b"\x20\x03\x00\x00\x00", b"\xe0\x02\x8e\x00"
            client.sendall(connected + taken_over)
            until(lambda: receiver.problem is not None)
    assert "has the client id 'test'" in str(receiver.problem)


def test_what_is_no_broker_is_tried_again(log: IngestLog) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as server, to(server, log) as receiver:
        for _ in range(3):
            client, _ = server.accept()
            with client:
                client.recv(4096)
                client.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        until(lambda: receiver.trouble is not None)
    assert receiver.problem is None


@pytest.mark.filterwarnings("ignore:Exception ignored in. <ssl.SSLSocket")  # paho leaves it open
@pytest.mark.skipif(shutil.which("openssl") is None, reason="no openssl to make a certificate with")
def test_tls_needs_a_certificate_that_is_trusted(
    mosquitto: Mosquitto, log: IngestLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    key, certificate = mosquitto.folder / "key.pem", mosquitto.folder / "certificate.pem"
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=test"]
    where = [
        "-addext",
        "subjectAltName=IP:127.0.0.1",
        "-keyout",
        str(key),
        "-out",
        str(certificate),
    ]
    subprocess.run(made + where, check=True, capture_output=True)
    plain = mosquitto.port
    secure = free_port()
    mosquitto.stop()
    mosquitto.listener = (
        f"listener {secure} 127.0.0.1",
        f"certfile {certificate}",
        f"keyfile {key}",
        "allow_anonymous true",
    )
    mosquitto.start()
    url = f"mqtts://127.0.0.1:{secure}/a"
    with receiving(url, log) as receiver:
        until(lambda: receiver.problem is not None)
    assert isinstance(receiver.problem, SettingError)
    assert "certificate" in str(receiver.problem)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    with receiving(url, log) as receiver, publisher(plain) as client:
        assert receiver.wait(WAIT)
        publish(client, "a", *(b"%d" % number for number in range(200)))
        until(lambda: len(lines_of(log.directory)) == 200)
    assert payloads(log.directory) == [b"%d" % number for number in range(200)]


@pytest.mark.parametrize(
    ("rest", "problem"),
    [
        ("", "expected a topic"),
        ("a/%00", "expected a topic"),
        ("a/b%23", "expected a topic"),
        ("%23/a", "expected a topic"),
        ("a+/b", "expected a topic"),
        ("a?qos=2", "qos=0 or qos=1"),
        ("a?type=text/plain", "expected the media type"),
        ("a?color=red", "expected the option qos or type"),
    ],
)
def test_a_wrong_url_is_refused(rest: str, problem: str, log: IngestLog) -> None:
    with pytest.raises(SettingError, match=problem):
        MqttReceiver(f"mqtt://127.0.0.1:1/{rest}", log, client_id="test")


class Killed:
    """A receiver in a process of its own, to be killed."""

    def __init__(self, url: str, folder: Path, *dying: str) -> None:
        command = [sys.executable, "-m", "tests.ingest.receive", url, str(folder), "killed", *dying]
        self.process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE)

    def ready(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().decode().strip()

    def kill(self) -> None:
        self.process.kill()
        self.end()

    def end(self) -> None:
        self.process.wait(WAIT)
        assert self.process.stdout is not None
        self.process.stdout.close()


Begin: TypeAlias = Callable[..., Killed]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "log"


@pytest.fixture
def begin(mosquitto: Mosquitto, folder: Path) -> Iterator[Begin]:
    """Starts receivers; none of them outlives the test."""
    begun: list[Killed] = []

    def one_more(*dying: str) -> Killed:
        begun.append(Killed(mosquitto.url("a/#"), folder, *dying))
        return begun[-1]

    yield one_more
    for each in begun:
        each.kill()


def check(folder: Path, sent: dict[str, list[bytes]]) -> None:
    """Whether what each publisher sent is there exactly once, in its order."""
    found = payloads(folder)
    for name, messages in sent.items():
        assert [data for data in found if data.startswith(name.encode())] == messages
    assert len(found) == sum(map(len, sent.values()))


class Publishing(threading.Thread):
    """Publishes all the time, in an order that it remembers."""

    def __init__(self, port: int, names: str, count: int) -> None:
        super().__init__()
        self.port, self.names, self.count = port, names, count
        self.sent: dict[str, list[bytes]] = {name: [] for name in names}

    def run(self) -> None:
        chance = random.Random(self.names)
        with publisher(self.port) as client:
            for _ in range(self.count):
                name = chance.choice(self.names)
                # Those of z are all the same, as readings often are.
                number = 0 if name == "z" else len(self.sent[name])
                self.sent[name].append(f"{name}{number}".encode())
                client.publish(f"a/{name}", self.sent[name][-1], 1)
                threading.Event().wait(chance.uniform(0, 0.01))
            for name in self.names:
                self.sent[name].append(f"{name} the last".encode())
                publish(client, f"a/{name}", self.sent[name][-1])


@pytest.mark.slow
def test_killed_at_random_it_takes_everything_once(
    mosquitto: Mosquitto, begin: Begin, folder: Path
) -> None:
    chance = random.Random(5)
    begun = begin()
    assert begun.ready() == "ready None"
    threads = [Publishing(mosquitto.port, names, 1_000) for names in ("x", "yz")]
    for thread in threads:
        thread.start()

    def publishing() -> bool:
        return any(thread.is_alive() for thread in threads)

    while publishing():
        before = size_of(folder)
        # Of a publisher that is about to end, everything may be there already.
        until(lambda: size_of(folder) > before or not publishing())  # noqa: B023
        threading.Event().wait(chance.uniform(0, 0.03))
        begun.kill()
        begun = begin()
    last = {f"{name} the last".encode() for name in "xyz"}
    until(lambda: last <= set(payloads(folder)))
    begun.kill()
    check(folder, {name: sent for thread in threads for name, sent in thread.sent.items()})


def size_of(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.glob("*.ndjson"))


@pytest.mark.slow
@pytest.mark.parametrize("moment", ["before", "after"])
def test_killed_beside_the_log_it_takes_everything_once(
    mosquitto: Mosquitto, begin: Begin, folder: Path, moment: str
) -> None:
    """The dangerous moments: on disk and not acknowledged, or received and not on disk."""
    sent: list[bytes] = []
    with publisher(mosquitto.port) as client:
        for life in range(6):
            dying = begin(moment, str(1 + life % 3))
            if not life:
                dying.ready()
            while dying.process.poll() is None:
                more = [b"x%d" % (life // 2)] * (1 + life)
                publish(client, "a/x", *more)
                sent += more
            dying.end()
        last = begin()
        until(lambda: len(payloads(folder)) >= len(sent))
        publish(client, "a/x", b"x the last")
        until(lambda: payloads(folder)[-1] == b"x the last")
    last.kill()
    check(folder, {"x": [*sent, b"x the last"]})
