"""Acceptance of a run: errors and notes about its input, its rejections and its rows."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from headrace.diagnosis import Code, Note
from headrace.errors import SettingError, counted
from headrace.kernel.arriving import AHEAD_OF_OTHERS
from headrace.kernel.stream_counters import Counters
from headrace.pipeline.manifest import Manifest

_FEW: Final = 100
"""The fewest messages of a stream by which a live run judges a percentage."""
_SHOWN: Final = 3
_EVERY: Final = 100.0


@dataclass(frozen=True, slots=True)
class RejectionLimit:
    """The largest number or percentage of a stream that may be rejected.

    Attributes:
        most: how many messages or elements, or how many percent of them.
        is_share: whether it is a percentage.
    """

    most: float
    is_share: bool = False

    @classmethod
    def parse(cls, text: str | int) -> RejectionLimit:
        """Read what `--max-rejected` takes.

        >>> RejectionLimit.parse("10"), RejectionLimit.parse("2.5%")
        (RejectionLimit(most=10.0, is_share=False), RejectionLimit(most=2.5, is_share=True))

        Raises:
            SettingError: it is neither a number nor a percentage.
        """
        said = str(text).strip()
        number = said.removesuffix("%").strip()
        is_share = number != said
        try:
            most = float(number) if is_share else float(int(number))
        except ValueError:
            most = math.nan
        if isinstance(text, bool) or not 0 <= most < math.inf or (is_share and most > _EVERY):
            raise SettingError(
                "expected a number or a percentage of rejected input, such as 10 or 5%, "
                f"found {said!r}"
            )
        return cls(most, is_share)

    def __str__(self) -> str:
        """Write it as it is given."""
        return f"{self.most:g}{'%' if self.is_share else ''}"

    def is_exceeded(self, counters: Counters) -> bool:
        """Compare the rejected messages and elements of a stream with the limit."""
        pairs = (
            (counters.rejected_messages, counters.messages),
            (counters.rejected, counters.elements),
        )
        if self.is_share:
            return any(rejected * _EVERY > self.most * number for rejected, number in pairs)
        return any(rejected > self.most for rejected, _ in pairs)


@dataclass(frozen=True, slots=True)
class Requirements:
    """The conditions under which a run succeeds.

    Attributes:
        most_rejected: how much of each stream may be rejected; as much as there is, if not given.
        rows: whether every query has to give a row, and something has to be read.
    """

    most_rejected: RejectionLimit | None = None
    rows: bool = False


class Acceptance:
    """The counters of a run, and the errors and notes about its input at the end."""

    def __init__(
        self,
        sources: Mapping[str, Sequence[str]],
        requirements: Requirements | None = None,
        before: Manifest | None = None,
    ) -> None:
        """Count from the end of an earlier run.

        Args:
            sources: what each stream is read from.
            requirements: what has to be achieved.
            before: how far the earlier run has come; what it has read does not count.
        """
        self._sources = sources
        self._requirements = requirements or Requirements()
        self._before = before
        self._counters: dict[str, Counters] = dict.fromkeys(sources, Counters())
        self._rows: dict[str, int] = {}
        self._reasons: dict[str, list[str]] = {}

    def begin(self, before: Manifest) -> None:
        """Count from the end of an earlier run."""
        self._before = before

    @property
    def reasons(self) -> list[str]:
        """The first reasons of rejections."""
        return [reason for every in self._reasons.values() for reason in every][:_SHOWN]

    # -- what happens --------------------------------------------------------------------------

    def take_reasons(self, rejected: Iterable[tuple[str, str]]) -> None:
        """Record the reasons of rejections, each with its stream."""
        for stream, reason in rejected:
            known = self._reasons.setdefault(stream, [])
            if len(known) < _SHOWN:
                known.append(reason)

    def take_manifest(self, manifest: Manifest) -> None:
        """Record the counters and rows of a committed batch."""
        earlier = self._before
        for iri in self._sources:
            state = manifest.streams.get(iri)
            known = None if earlier is None else earlier.streams.get(iri)
            if state is not None:
                base = Counters() if known is None else known.counters
                self._counters[iri] = state.counters.since(base)
        for name, query in manifest.queries.items():
            before = None if earlier is None else earlier.queries.get(name)
            counts_on = before is not None and before.digest == query.digest
            self._rows[name] = query.rows - (before.rows if before and counts_on else 0)

    def take_counts(self, counters: Mapping[str, Counters], rows: Mapping[str, int]) -> None:
        """Record the counters and rows of a run without a checkpoint."""
        self._counters |= {iri: counters[iri] for iri in self._sources if iri in counters}
        self._rows |= rows

    # -- what is wrong -------------------------------------------------------------------------

    def check_limits(self, *, ended: bool) -> Iterator[str]:
        """Yield an error for each stream whose rejections exceed the limit.

        Args:
            ended: whether the run has ended; before, a percentage of few messages is not judged.
        """
        limit = self._requirements.most_rejected
        if limit is None:
            return
        for iri, counters in self._counters.items():
            judged = ended or not limit.is_share or counters.messages >= _FEW
            if judged and limit.is_exceeded(counters):
                elements = counters.rejected > counters.rejected_messages
                number = counters.rejected if elements else counters.rejected_messages
                whole = counters.elements if elements else counters.messages
                yield (
                    f"stream <{iri}>: {number:,} of "
                    f"{counted(whole, 'element' if elements else 'message')} rejected, which "
                    f"exceeds the limit of {limit} (--max-rejected){self._list_reasons(iri)}"
                )

    def errors(self, notes: Iterable[Note] = ()) -> Iterator[str]:
        """Yield the errors of a run that has ended, apart from those in its notes."""
        yield from self.find_rejected_streams(notes)
        yield from self.find_outrun_streams()
        yield from self.check_requirements()

    def find_rejected_streams(self, notes: Iterable[Note] = ()) -> Iterator[str]:
        """Yield an error for each stream, if nothing of any stream was accepted.

        Args:
            notes: those of the run; a stream of which they say so is left out.
        """
        noted = {note.stream for note in notes if note.code is Code.ALL_REJECTED}
        if self.is_all_rejected:
            rejected = filter(self._has_only_rejections, self._counters)
            yield from (self._describe_rejection(iri) for iri in rejected if iri not in noted)

    def find_outrun_streams(self) -> Iterator[str]:
        """Yield an error for each stream of which all but the first message is too far ahead."""
        for iri, counters in self._counters.items():
            reasons = self._reasons.get(iri, [])
            is_one = counters.accepted == 1 and counters.rejected_messages > 1
            if is_one and all(AHEAD_OF_OTHERS in reason for reason in reasons):
                yield (
                    f"only the first message of stream <{iri}> was accepted, and "
                    f"{counters.rejected_messages:,} after it are more than max_ahead ahead of it"
                    f"{self._list_reasons(iri)}; if the time of the first is wrong, because its "
                    "line is cut, remove that line"
                )

    def check_requirements(self) -> Iterator[str]:
        """Yield an error for each requirement that the run has not met."""
        yield from self.check_limits(ended=True)
        if self._requirements.rows:
            if not any(each.messages for each in self._counters.values()):
                yield "nothing was read, and --fail-on-empty requires rows"
            for name, rows in self._rows.items():
                if not rows:
                    yield f"query '{name}' gave no rows, which --fail-on-empty requires"

    def notes(self) -> Iterator[str]:
        """Yield a note for each stream of which a resumed run has read nothing new."""
        if self._before is None or self._before.batch < 0:
            return
        for iri, counters in self._counters.items():
            if not counters.messages and self._sources[iri]:
                named = ", ".join(f"'{source}'" for source in self._sources[iri])
                yield f"nothing new to read: stream <{iri}> has no new message in {named}"

    @property
    def is_all_rejected(self) -> bool:
        """True if input was read, and none of it was accepted."""
        every = self._counters.values()
        return any(each.rejected_messages for each in every) and not any(
            each.accepted for each in every
        )

    def _has_only_rejections(self, iri: str) -> bool:
        counters = self._counters[iri]
        return bool(counters.rejected_messages) and not counters.accepted

    def _describe_rejection(self, iri: str) -> str:
        counters = self._counters[iri]
        return (
            f"nothing of stream <{iri}> was accepted: "
            f"{counted(counters.rejected_messages, 'message')} rejected{self._list_reasons(iri)}"
        )

    def _list_reasons(self, iri: str) -> str:
        reasons = self._reasons.get(iri)
        return "".join(f"\n  {reason}" for reason in reasons) if reasons else ""
