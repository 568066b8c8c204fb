"""Messages of an MQTT broker, into a log; one is acknowledged when it is on disk.

What that guarantees, and what it does not, is written down in `deliveries.py`.
"""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING, Any, Final

from headrace.arrival_times import SteadyClock
from headrace.errors import MachineError, SettingError
from headrace.ingest.deliveries import Deliveries, digest_of
from headrace.ingest.log import IngestLog
from headrace.ingest.receiving import Receiver
from headrace.ingest.records import Record
from headrace.ingest.urls import SourceUrl, parse_url
from headrace.rdf.formats import Format, format_of_media_type
from headrace.rdf.times import iso_text, microseconds

if TYPE_CHECKING:
    from paho.mqtt.client import Client, ConnectFlags, DisconnectFlags, MQTTMessage
    from paho.mqtt.properties import Properties
    from paho.mqtt.reasoncodes import ReasonCode

MOST_UNDER_WAY: Final = 1_000
"""So many messages may be sent to us and not acknowledged; a group has no more of them."""

SESSION_EXPIRY: Final = 30 * 86_400
"""For so many seconds a broker keeps messages for us while we are away, if it has room."""

_PORTS: Final = {"mqtt": 1883, "mqtts": 8883}
_KEEP_ALIVE: Final = 30
_POLL: Final = 0.1
_LONGEST_TOPIC: Final = 65_535
_UNSUPPORTED_VERSION: Final = 0x84
_TAKEN_OVER: Final = 0x8E
# Client identifier, user, authorisation, ban, method: asking again does not help.
_FINAL_REFUSALS: Final = frozenset((0x85, 0x86, 0x87, 0x8A, 0x8C))


class MqttReceiver(Receiver):
    """Subscribes to a topic and takes its messages.

    The time of a message is the user property `time` of MQTT 5, in milliseconds or in ISO 8601,
    if it has one. Its type is its content type in MQTT 5, or else that of the URL.
    """

    def __init__(
        self, url: str, log: IngestLog, *, client_id: str, clock: SteadyClock | None = None
    ) -> None:
        """Receive nothing yet.

        Args:
            url: `mqtt://[USER:PASSWORD@]HOST[:PORT]/TOPIC`, or `mqtts:` for TLS; the topic may
                have + and #; `?qos=` is 0 or 1 (default), `&type=` the media type of messages
                that do not say theirs, N-Quads if it is not given.
            log: where they go; it is of this receiver alone.
            client_id: by which the broker knows the session; the same after each restart, and
                nobody else's.
            clock: says when something arrives; that of this machine if None.

        Raises:
            SettingError: the URL is wrong.
            MachineError: the library for MQTT is not installed.
        """
        super().__init__(log, clock)
        self._url = parse_url(url, _PORTS, ["qos", "type"])
        self._client_id = client_id
        self._qos = _qos(self._url)
        self._media_type = self._url.options.get("type", Format.N_QUADS.media_type)
        format_of_media_type(self._media_type)
        _check_topic(self._url.path)
        _check_library()
        self._newest = True  # speaks MQTT 5, and else 3.1.1
        self._accepted = False
        self._farewell: str | None = None  # what the broker said when it hung up
        self._deliveries = Deliveries((), session_present=False, now=0)
        self._records: list[Record] = []
        self._unacknowledged: list[int] = []

    @property
    def source(self) -> str:
        """The broker and the topic."""
        return str(self._url)

    def _receive(self) -> None:
        self._farewell = None
        self._records.clear()
        self._unacknowledged.clear()
        client = self._connecting()
        try:
            while not self._stopping.is_set():
                self._take_group(client)
                self._keep_group(client)
                self._write_heartbeat()
        except OSError:
            self._keep_group(client)  # some of it may be of quality 0, which does not come again
            if not self._accepted:
                # A broker that does not know MQTT 5 may say so, or just hang up.
                self._newest = not self._newest
            raise
        finally:
            client.disconnect()

    def _connecting(self) -> Client:
        from paho.mqtt.client import Client  # noqa: PLC0415
        from paho.mqtt.enums import CallbackAPIVersion, MQTTProtocolVersion  # noqa: PLC0415

        version = MQTTProtocolVersion.MQTTv5 if self._newest else MQTTProtocolVersion.MQTTv311
        client = Client(
            CallbackAPIVersion.VERSION2,
            self._client_id,
            clean_session=None if self._newest else False,
            protocol=version,
            reconnect_on_failure=False,
            manual_ack=True,
        )
        client.on_connect = self._on_connect
        client.on_subscribe = self._on_subscribe
        client.on_message = self._on_message
        client.on_disconnect = self._on_disconnect
        if self._url.user is not None:
            client.username_pw_set(self._url.user, self._url.password)
        if self._url.scheme == "mqtts":
            client.tls_set_context(ssl.create_default_context())
        try:
            self._connect(client)
        except ssl.SSLCertVerificationError as error:
            problem = f"the certificate of {self._url} is not valid: {error.verify_message}"
        else:
            return client
        # Not within the handler: the error holds a socket that the library has left open.
        raise SettingError(problem)

    def _connect(self, client: Client) -> None:
        from paho.mqtt.packettypes import PacketTypes  # noqa: PLC0415
        from paho.mqtt.properties import Properties  # noqa: PLC0415

        host, port = self._url.host, self._url.port
        if not self._newest:
            client.connect(host, port, _KEEP_ALIVE)
            return
        lasting = Properties(PacketTypes.CONNECT)  # type: ignore[no-untyped-call]  # paho's
        lasting.SessionExpiryInterval = SESSION_EXPIRY
        lasting.ReceiveMaximum = MOST_UNDER_WAY
        client.connect(host, port, _KEEP_ALIVE, clean_start=False, properties=lasting)

    def _take_group(self, client: Client) -> None:
        """Wait for a message, and take what has arrived with it."""
        wait, before = _POLL, -1
        while before < len(self._records) < MOST_UNDER_WAY:
            before = len(self._records)
            self._step(client, wait)
            wait = 0.0

    def _step(self, client: Client, wait: float) -> None:
        """Let the library send and receive what it can."""
        from paho.mqtt import MQTTException  # noqa: PLC0415
        from paho.mqtt.client import error_string  # noqa: PLC0415
        from paho.mqtt.enums import MQTTErrorCode  # noqa: PLC0415

        try:
            code = client.loop(wait)
        except MQTTException as error:
            raise ConnectionError(f"{self._url} does not speak MQTT: {error}") from None
        if code != MQTTErrorCode.MQTT_ERR_SUCCESS:
            raise ConnectionError(self._farewell or error_string(code))

    def _keep_group(self, client: Client) -> None:
        if not self._records or self._record(self._records):
            for packet in self._unacknowledged:
                client.ack(packet, 1)
            self._unacknowledged.clear()
        self._records.clear()

    def _on_connect(
        self,
        client: Client,
        userdata: Any,  # noqa: ARG002
        flags: ConnectFlags,
        reason: ReasonCode,
        properties: Properties | None,  # noqa: ARG002
    ) -> None:
        if reason.value == _UNSUPPORTED_VERSION:
            raise ConnectionError(f"{self._url} does not know this version of MQTT")
        if reason.value in _FINAL_REFUSALS:
            raise SettingError(f"{self._url} refuses the connection: {reason}")
        if reason.is_failure:
            raise ConnectionError(f"{self._url} refuses the connection: {reason}")
        self._accepted = True
        self._deliveries = Deliveries(
            self._log.recent_ids, session_present=flags.session_present, now=self._now()
        )
        # Also if there is a session: it may be one that was begun and never subscribed.
        self._subscribe(client)

    def _subscribe(self, client: Client) -> None:
        from paho.mqtt.subscribeoptions import SubscribeOptions  # noqa: PLC0415

        if self._newest:
            new_only = SubscribeOptions.RETAIN_SEND_IF_NEW_SUB
            options = SubscribeOptions(qos=self._qos, retainHandling=new_only)
            client.subscribe(self._url.path, options=options)
        else:
            client.subscribe(self._url.path, self._qos)

    def _on_subscribe(
        self,
        client: Client,  # noqa: ARG002
        userdata: Any,  # noqa: ARG002
        packet: int,  # noqa: ARG002
        reasons: list[ReasonCode],
        properties: Properties | None,  # noqa: ARG002
    ) -> None:
        if any(reason.is_failure for reason in reasons):
            raise SettingError(f"{self._url} refuses the subscription: {reasons[0]}")
        self._connected()

    def _on_disconnect(
        self,
        client: Client,  # noqa: ARG002
        userdata: Any,  # noqa: ARG002
        flags: DisconnectFlags,
        reason: ReasonCode,
        properties: Properties | None,  # noqa: ARG002
    ) -> None:
        if not flags.is_disconnect_packet_from_server:
            return
        if reason.value == _TAKEN_OVER:
            raise SettingError(
                f"another client of {self._url} has the client id '{self._client_id}'; "
                "two runs must not receive as one"
            )
        self._farewell = f"{self._url} has closed the connection: {reason}"

    def _on_message(self, client: Client, userdata: Any, message: MQTTMessage) -> None:  # noqa: ARG002
        taken: str | None = None
        payload = bytes(message.payload)
        if message.qos:
            self._unacknowledged.append(message.mid)
            taken = self._deliveries.take(
                message.mid,
                digest_of(message.topic, payload),
                again=message.dup,
                retained=message.retain,
            )
            if taken is None:
                return
        media_type = getattr(message.properties, "ContentType", self._media_type)
        time = _time(message.properties)
        self._records.append(Record(self._now(), media_type, payload, time, taken))


def _time(properties: Properties | None) -> str | None:
    """The time that the sender gave, in ISO 8601 if it is one; the reader refuses others."""
    given = dict(getattr(properties, "UserProperty", ())).get("time")
    if given is None:
        return None
    try:
        return iso_text(microseconds(given)) + "Z"
    except ValueError:
        return str(given)


def _qos(url: SourceUrl) -> int:
    match url.options.get("qos", "1"):
        case "0":
            return 0
        case "1":
            return 1
        case other:
            # For 2 the library tells the broker that it has a message before we have it on disk.
            raise SettingError(f"expected qos=0 or qos=1, found '{other}' in {url}")


def _check_topic(topic: str) -> None:
    levels = topic.split("/")
    wrong = (
        not topic
        or "\0" in topic
        or len(topic.encode()) > _LONGEST_TOPIC
        or any("#" in level for level in levels[:-1])
        or any(("#" in level or "+" in level) and len(level) > 1 for level in levels)
    )
    if wrong:
        raise SettingError(
            f"expected a topic such as sensors/+/value or sensors/#, found '{topic[:100]}'"
        )


def _check_library() -> None:
    try:
        import paho.mqtt.client  # noqa: F401, PLC0415
    except ImportError:
        raise MachineError(
            "mqtt: sources need the library paho-mqtt; run: pip install 'headrace[mqtt]'"
        ) from None
