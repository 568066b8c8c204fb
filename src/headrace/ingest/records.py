"""What one line of an ingest log says."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from dataclasses import dataclass

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

        >>> Record(7, "text/turtle", b"<x:a> a 'b'\n.").line()
        b'{"received":7,"type":"text/turtle","data":"<x:a> a \'b\'\\n."}\n'
        >>> Record(7, "text/turtle", b"\xff", id="1").line()
        b'{"received":7,"type":"text/turtle","base64":"/w==","id":"1"}\n'
        """
        if self.problem is not None:
            lost = {"received": self.received, "data": "", "problem": self.problem}
            return json.dumps(lost, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
        said: dict[str, int | str] = {"received": self.received, "type": self.media_type}
        try:
            said["data"] = self.data.decode()
        except UnicodeDecodeError:
            said["base64"] = b64encode(self.data).decode()
        if self.time is not None:
            said["time"] = self.time
        if self.id is not None:
            said["id"] = self.id
        return json.dumps(said, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def heartbeat(now: int) -> Record:
    r"""Make a record without data that moves time to a moment in microseconds.

    >>> heartbeat(1_500_000).line()
    b'{"received":1500000,"type":"application/n-quads","data":"","time":"1500"}\n'
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


def id_of_line(line: bytes) -> str | None:
    """The id that a line of a log gives its record, if it is one."""
    try:
        said = json.loads(line)
    except ValueError:  # a line that never was acknowledged and lost its middle in a power cut
        return None
    found = said.get("id") if isinstance(said, dict) else None
    return found if isinstance(found, str) else None
