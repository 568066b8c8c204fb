"""A topic of Kafka as a sink: a batch is a transaction, so that consumers see it exactly once.

A message is a line of the NDJSON results; its key is `query/at/seq`, so that what one evaluation
emitted stays together and in order. Between evaluations the order is kept within a partition: a
topic with one partition holds all lines in the order of the results file.

A transaction also says which batch it was, as the offset that the consumer group
`headrace-<deployment>` has committed for partition 0 of the topic. It is no position in the topic,
and monitors of consumer lag should leave the group out. After a crash it tells whether the last
batch had been committed. Consumers must read with `isolation.level=read_committed`.
"""

from __future__ import annotations

import logging
import re
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

import polars as pl

from headrace.algebra.query import Form
from headrace.errors import HeadraceError, InternalError, MachineError, SettingError
from headrace.kernel.columns import INSTANT
from headrace.kernel.reports import Report
from headrace.sinks.base import Mark
from headrace.sinks.frames import emitted, in_milliseconds
from headrace.sinks.kafka_url import parse_kafka_url
from headrace.sinks.ndjson import ndjson_columns

if TYPE_CHECKING:
    from confluent_kafka import Consumer, KafkaError, KafkaException, Producer

_LOG: Final = logging.getLogger(__name__)
_LOG.addHandler(logging.NullHandler())  # what goes wrong is said by errors

PATIENCE: Final = 30.0
PAUSE: Final = 0.1
LARGEST: Final = 64 << 20
"""A longer message is not even sent; whether a shorter one is too long, the topic decides."""
NOTHING: Final = -1

_LABEL: Final = re.compile(r"(?P<batch>[0-9]+)(?P<final>\.final)?")


def label_number(label: str) -> int:
    """The place of a batch in the order of batches, in which the end of the input comes last.

    >>> [label_number(label) for label in ("0", "12", "13", "13.final")]
    [0, 24, 26, 27]
    """
    parts = _LABEL.fullmatch(label)
    if parts is None:
        raise InternalError(f"expected a label such as 12 or 12.final, found '{label}'")
    return 2 * int(parts["batch"]) + bool(parts["final"])


class KafkaSink:
    """A topic, written by one deployment: another writer of it with the same name is shut out."""

    def __init__(
        self,
        url: str,
        forms: Mapping[str, Form],
        *,
        deployment: str,
        timeout: float = PATIENCE,
    ) -> None:
        """Connect, undo what a crash has left open, and find out which batch was the last.

        Args:
            url: the topic, as `parse_kafka_url` reads it.
            forms: the form of each query, by its name.
            deployment: what the run is known by; a new run from the start needs a new one.
            timeout: how many seconds to wait for an answer.

        Raises:
            SettingError: the URL is wrong, or there is no such topic.
            MachineError: the brokers do not answer, or the client is not installed.
        """
        self._topic = parse_kafka_url(url)
        self._forms = forms
        self._timeout = timeout
        self._problems: list[str] = []
        self._name = f"headrace-{deployment}"
        self._halfway = False
        self._producer = self._made_producer()
        try:
            with self._explained("open"):
                self._begin()
                self._done, self._group = self._last_batch()
        except HeadraceError:
            self.close()
            raise

    def _made_producer(self) -> Producer:
        try:
            from confluent_kafka import Producer  # noqa: PLC0415  # only who uses Kafka needs it
        except ImportError as error:
            raise MachineError(
                "the client of Kafka is not installed; try: pip install 'headrace[kafka]'"
            ) from error
        return Producer(
            {
                **self._settings(),
                # Sinks of one deployment write to different topics, and each has transactions.
                "transactional.id": f"{self._name}-{self._topic.name}",
                "compression.type": "lz4",
                "message.max.bytes": LARGEST,
                "message.timeout.ms": round(self._timeout * 1000),
            }
        )

    def _settings(self) -> dict[str, Any]:
        return {
            "bootstrap.servers": self._topic.brokers,
            "logger": _LOG,
            "error_cb": self._note,
        }

    def _note(self, problem: KafkaError) -> None:
        self._problems.append(problem.str())

    def _begin(self) -> None:
        """Shut other writers out, undo what they left open, and check that there is the topic."""
        self._producer.list_topics(self._topic.name, self._timeout)  # brokers may make it now
        self._producer.init_transactions(self._timeout)
        described = self._producer.list_topics(self._topic.name, self._timeout)
        if described.topics[self._topic.name].error is not None:
            raise SettingError(
                f"there is no topic '{self._topic.name}' on {self._topic.brokers}, and it is not "
                "made there by itself; make it with Kafka's tools"
            )

    def _last_batch(self) -> tuple[int, Any]:
        """The number of the last batch that was committed, and what names the consumer group."""
        from confluent_kafka import Consumer  # noqa: PLC0415  # as above

        settings = {
            **self._settings(),
            "group.id": self._name,
            "enable.auto.commit": False,
            "isolation.level": "read_committed",  # what is being undone does not count
        }
        consumer = Consumer(settings)
        try:
            return self._committed(consumer), consumer.consumer_group_metadata()
        finally:
            consumer.close()

    def _committed(self, consumer: Consumer) -> int:
        """What the group has committed, asked for until the brokers have made up their minds."""
        from confluent_kafka import KafkaError, KafkaException, TopicPartition  # noqa: PLC0415  # as above

        unsettled = {
            KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
            KafkaError.COORDINATOR_NOT_AVAILABLE,
            KafkaError.NOT_COORDINATOR,
            KafkaError.UNSTABLE_OFFSET_COMMIT,
        }
        left = self._timeout
        while True:
            try:
                [place] = consumer.committed([TopicPartition(self._topic.name, 0)], self._timeout)
            except KafkaException as error:
                if error.args[0].code() not in unsettled or left <= 0:
                    raise
                time.sleep(PAUSE)
                left -= PAUSE
            else:
                return max(place.offset, NOTHING)  # other numbers below zero stand for none

    def mark(self) -> Mark:
        """The number of the last batch that was committed."""
        return None if self._done == NOTHING else self._done

    def recover(self, mark: Mark) -> None:
        """Check that nothing is missing: what came after the mark is not written again.

        Raises:
            MachineError: the brokers do not know of batches that were committed.
        """
        if mark is not None and (not isinstance(mark, int) or mark > self._done):
            raise MachineError(
                f"{self._topic} has forgotten how far it was written: the consumer group "
                f"{self._name} has committed {self.mark()}, and {mark} was expected; Kafka forgets "
                "it after offsets.retention.minutes, which are 7 days unless they are set; "
                "start again in a new directory"
            )

    def write(self, label: str, reports: Sequence[Report]) -> None:
        """Write a batch in one transaction, unless it was written before."""
        number = label_number(label)
        if number <= self._done or not any(map(len, reports)):
            return
        with self._explained(f"write batch {label} to"):
            self._producer.begin_transaction()
            self._halfway = True
            for report in reports:
                self._produce(report)
            self._deliver()
            self._send_number(number)
            self._producer.commit_transaction(self._timeout)
        self._done, self._halfway = number, False

    def _produce(self, report: Report) -> None:
        form = self._forms[report.query]
        lines = chain.from_iterable(ndjson_columns(report, form))
        for key, line in zip(_keys(report, form), lines, strict=True):
            while True:
                try:
                    self._producer.produce(self._topic.name, line, key)
                    break
                except BufferError:  # it cannot send as fast as we can write
                    self._deliver()

    def _deliver(self) -> None:
        """Wait until every message has arrived or failed, as long as some do.

        That one has failed is said when the transaction is to be committed.
        """
        waiting = len(self._producer)
        while waiting:
            left = self._producer.flush(self._timeout)
            if left >= waiting:
                raise self._no_answer()
            waiting = left

    def _send_number(self, number: int) -> None:
        """Make the number of a batch part of the transaction."""
        from confluent_kafka import KafkaException, TopicPartition  # noqa: PLC0415  # as above

        producer = self._producer
        place = TopicPartition(self._topic.name, 0, number)
        outcome: list[KafkaException | None] = []

        def send() -> None:
            try:
                producer.send_offsets_to_transaction([place], self._group, self._timeout)
                outcome.append(None)
            except KafkaException as error:
                outcome.append(error)

        # While a broker is down it waits without end, whatever its time-out (librdkafka 5456).
        thread = threading.Thread(target=send, name="send offsets", daemon=True)
        thread.start()
        thread.join(self._timeout)
        if not outcome:
            raise self._no_answer()
        if outcome[0] is not None:
            raise outcome[0]

    def _no_answer(self) -> KafkaException:
        from confluent_kafka import KafkaError, KafkaException  # noqa: PLC0415  # as above

        problem = KafkaError(KafkaError._TIMED_OUT, f"no answer within {self._timeout:g} s")
        return KafkaException(problem)

    @contextmanager
    def _explained(self, action: str) -> Iterator[None]:
        """Say in our words what Kafka cannot do, and why if its client knows."""
        from confluent_kafka import KafkaError, KafkaException  # noqa: PLC0415  # as above

        self._problems.clear()
        try:
            yield
        except (KafkaException, SystemError) as error:
            problem = self._worst(_problem(error))
            if problem.code() == KafkaError._FENCED:
                raise MachineError(
                    f"cannot {action} {self._topic}: another run of the same deployment has begun "
                    "to write there; stop one of them"
                ) from error
            reasons = dict.fromkeys([problem.str(), *self._problems[:1]])
            raise MachineError(
                f"cannot {action} {self._topic}: {'; '.join(reasons)}\n"
                "put that right and start the run again: it goes on where it stopped"
            ) from error

    def _worst(self, problem: KafkaError) -> KafkaError:
        """A problem, or what the client has noticed meanwhile if that is the end of it."""
        from confluent_kafka import KafkaException  # noqa: PLC0415  # as above

        try:
            self._producer.poll(0)
        except (KafkaException, SystemError) as error:
            return _problem(error)
        return problem

    def close(self) -> None:
        """Disconnect; a batch that failed halfway is undone, now or when the next run begins."""
        from confluent_kafka import KafkaException  # noqa: PLC0415  # as above

        if self._halfway:
            with suppress(KafkaException):
                self._producer.abort_transaction(self._timeout)
        # To close it would wait for brokers that do not answer, without end; to drop it does not.
        del self._producer


def _problem(error: Exception) -> KafkaError:
    """What an error of the client says.

    Where the client raises one while it calls us back, Python makes a SystemError of it.
    """
    from confluent_kafka import KafkaException  # noqa: PLC0415  # as above

    cause = error.__cause__ if isinstance(error, SystemError) else error
    if not isinstance(cause, KafkaException):
        raise error
    problem: KafkaError = cause.args[0]
    return problem


def _keys(report: Report, form: Form) -> pl.Series:
    """The key of each line of a report."""
    at = in_milliseconds(pl.Series(report.times), lambda time: repr(time / 1000))
    heads = pl.DataFrame({"at": at, "seq": pl.Series(report.seqs).cast(pl.String)})
    keys = heads.select(key=pl.concat_str(pl.lit(report.query), "at", "seq", separator="/"))["key"]
    return keys.gather(emitted(report, form)[INSTANT])
