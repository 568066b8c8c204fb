"""Records of an ingest log: one JSON object a line, with a checksum as its last member."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import xxhash

from headrace.rdf.formats import Format
from headrace.rdf.times import milliseconds


@dataclass(frozen=True, slots=True)
class Record:
    """A payload as it was received.

    Attributes:
        received: when it arrived, in microseconds since the epoch.
        media_type: what the payload is written in, as the sender or the user says.
        data: the payload.
        time: when it happened, as the sender says, in ISO 8601.
        id: what tells it from all others of its log.
        problem: why the payload could not be kept; a reader rejects it with this reason.
    """

    received: int
    media_type: str
    data: bytes
    time: str | None = None
    id: str | None = None
    problem: str | None = None

    def line(self) -> bytes:
        r"""Write one line of JSON, with its line end.

        >>> Record(7, "text/turtle", b"<x:a> a 'b'\n.").line()[:-28]
        b'{"received":7,"type":"text/turtle","data":"<x:a> a \'b\'\\n."'
        >>> Record(7, "text/turtle", b"\xff", id="1").line()[:-28]
        b'{"received":7,"type":"text/turtle","base64":"/w==","id":"1"'
        """
        if self.problem is not None:
            lost = {"received": self.received, "data": "", "problem": self.problem}
            return sealed_line(lost)
        said: dict[str, int | str] = {"received": self.received, "type": self.media_type}
        try:
            said["data"] = self.data.decode()
        except UnicodeDecodeError:
            said["base64"] = b64encode(self.data).decode()
        if self.time is not None:
            said["time"] = self.time
        if self.id is not None:
            said["id"] = self.id
        return sealed_line(said)


def sealed_line(record: Mapping[str, object]) -> bytes:
    r"""Write a record as a line of JSON that ends with its checksum.

    >>> sealed_line({"a": 1})
    b'{"a":1,"xxh3":"72320ca0186ede72"}\n'
    """
    text = json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode()[:-1]
    return b'%s,"xxh3":"%s"}\n' % (text, xxhash.xxh3_64_hexdigest(text).encode())


def is_damaged(line: bytes) -> bool:
    r"""Whether a line is not what was written; one without a checksum is of an older version.

    >>> line = sealed_line({"a": 1})
    >>> is_damaged(line), is_damaged(line.replace(b"1", b"2", 1)), is_damaged(b'{"a":1}\n')
    (False, True, False)
    >>> is_damaged(b"\0\0\n"), is_damaged(line.replace(b"xxh3", b"xxh2"))
    (True, True)
    """
    text = line.rstrip(b"\r\n")
    tail = text[-len(_MEMBER) :]
    if tail.startswith(_BEFORE) and tail.endswith(_AFTER):
        checksum = tail[len(_BEFORE) : -len(_AFTER)]
        return xxhash.xxh3_64_hexdigest(text[: -len(_MEMBER)]).encode() != checksum
    fixed = zip(tail, _MEMBER, strict=False)
    different = len(_BEFORE + _AFTER) - sum(one == other for one, other in fixed)
    return different <= _FEW or not (text[:1] == b"{" and text[-1:] == b"}")


def is_record(line: bytes) -> bool:
    """Whether a line has a checksum that is right.

    >>> is_record(sealed_line({"a": 1})), is_record(b'{"a":1}'), is_record(b"")
    (True, False, False)
    """
    return line.rstrip(b"\r\n")[-len(_MEMBER) :].startswith(_BEFORE) and not is_damaged(line)


_FEW: Final = 2
"""With so few other bytes, the end of a line is a damaged checksum."""
_BEFORE: Final = b',"xxh3":"'
_AFTER: Final = b'"}'
_MEMBER: Final = _BEFORE + bytes(16) + _AFTER
"""How a line ends, with zeros in place of the checksum."""


def heartbeat(now: int) -> Record:
    r"""Make a record without data that moves time to a moment in microseconds.

    >>> heartbeat(1_500_000).line()[:-28]
    b'{"received":1500000,"type":"application/n-quads","data":"","time":"1500"'
    """
    return Record(now, Format.N_QUADS.media_type, b"", milliseconds(now))


def record_of_line(line: bytes) -> Record | None:
    """Read the record in a line of a log; None if there is none.

    >>> record_of_line(heartbeat(7).line()) == heartbeat(7)
    True
    """
    try:
        said = json.loads(line)
        data = said["data"].encode() if "data" in said else b64decode(said["base64"])
        return Record(said["received"], said["type"], data, said.get("time"), said.get("id"))
    except (ValueError, TypeError, KeyError, AttributeError):
        return None


def received_of_line(line: bytes) -> int | None:
    """Read the time of arrival in a line of a log; None if it has none.

    >>> received_of_line(heartbeat(7).line()), received_of_line(b"")
    (7, None)
    """
    try:
        said = json.loads(line)
    except ValueError:
        return None
    found = said.get("received") if isinstance(said, dict) else None
    return found if isinstance(found, int) and found else None  # a repaired record has zero


def id_of_line(line: bytes) -> str | None:
    """The id that a line of a log gives its record, if it is one."""
    try:
        said = json.loads(line)
    except ValueError:  # a line that never was acknowledged and lost its middle in a power cut
        return None
    found = said.get("id") if isinstance(said, dict) else None
    return found if isinstance(found, str) else None
