"""Which topic of Kafka a URL names, for results and for streams. Nothing here connects."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from headrace.errors import SettingError

PORT: Final = 9092
_URL: Final = re.compile(r"kafka://(?P<brokers>[^/?#]+)/(?P<topic>[^/?#]+)")
_BROKER: Final = re.compile(r"(?P<host>\[[0-9A-Fa-f:.]+\]|[\w.-]+)(?::(?P<port>[0-9]{1,5}))?", re.A)
_TOPIC: Final = re.compile(r"(?!\.{1,2}$)[A-Za-z0-9._-]{1,249}")


@dataclass(frozen=True, slots=True)
class KafkaTopic:
    """A topic, and some brokers of the cluster that has it, as Kafka's clients want them."""

    brokers: str
    name: str

    def __str__(self) -> str:
        """As it is written on the command line."""
        return f"kafka://{self.brokers}/{self.name}"


def parse_kafka_url(url: str) -> KafkaTopic:
    """The topic that a URL names.

    >>> parse_kafka_url("kafka://one,two:9093/results")
    KafkaTopic(brokers='one:9092,two:9093', name='results')

    Raises:
        SettingError: it names none.
    """
    parts = _URL.fullmatch(url)
    # A password may stand before the @, so that this URL must not be shown.
    if "@" in url.removeprefix("kafka://").split("/")[0]:
        raise SettingError("expected no user in a URL of Kafka")
    if parts is None:
        raise SettingError(f"expected kafka://BROKER[:PORT][,BROKER...]/TOPIC, found '{url}'")
    if not _TOPIC.fullmatch(parts["topic"]):
        raise SettingError(
            "expected the name of a topic, of at most 249 letters, digits, '.', '_' and '-', "
            f"found '{parts['topic']}' in '{url}'"
        )
    brokers = [_broker(broker, url) for broker in parts["brokers"].split(",")]
    return KafkaTopic(",".join(brokers), parts["topic"])


def _broker(text: str, url: str) -> str:
    broker = _BROKER.fullmatch(text)
    if broker is None:
        raise SettingError(f"expected a host and at most a port, found '{text}' in '{url}'")
    return f"{broker['host']}:{broker['port'] or PORT}"
