"""Whether queries fit together, and with the streams that are declared."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from headrace.errors import SettingError, listing, nearest
from headrace.planning.network import in_step_order
from headrace.planning.plan import Plan
from headrace.rdf.terms import Iri


class Fitting:
    """What others must fit: which streams queries make, and how streams are to be taken in."""

    def __init__(self) -> None:
        """Begin with no queries."""
        self._makers: dict[str, str] = {}
        self._readers: dict[Iri, Plan] = {}
        self._schemas: dict[str, dict[str, None]] = {}

    def makes(self, iri: str) -> bool:
        """Whether a stream is what a query makes."""
        return iri in self._makers

    def check_name(self, plan: Plan, streams: Collection[str]) -> None:
        """Refuse a query that would be a stream which there is already.

        Raises:
            SettingError: saying who makes it.
        """
        if plan.stream is None:
            return
        iri = plan.stream.value
        maker = self._makers.get(iri)
        if iri in streams or maker is not None:
            by = "as a stream of its own" if maker is None else f"by '{maker}'"
            raise SettingError(
                f"'{plan.name}' makes stream <{iri}>, which is declared {by} already"
            )

    def check_schema(self, plan: Plan) -> None:
        """Refuse a query that reads its data under another schema than the others.

        Raises:
            SettingError: naming one of them.
        """
        for schema, others in self._schemas.items():
            if schema != plan.schema and others:
                other = next(iter(others))
                raise SettingError(
                    f"'{plan.name}' and '{other}' read their data under different schemas, and "
                    "all queries of a run have one; run them apart, or give both the same schema"
                )

    def check_circle(self, plan: Plan, others: Iterator[Plan]) -> None:
        """Refuse a query that reads itself; only one that others can read may do so.

        Raises:
            QueryError: naming the circle.
        """
        if plan.stream is not None:
            in_step_order([*others, plan])

    def check_streams(self, plan: Plan, streams: Collection[str]) -> None:
        """Refuse a query that wants a stream taken in otherwise, or one that nobody has declared.

        Raises:
            SettingError: saying which, and what is declared.
        """
        for stream in plan.streams:
            check_readers([self._readers.setdefault(stream, plan), plan])
        made = {*self._makers} if plan.stream is None else {*self._makers, plan.stream.value}
        for name, _ in plan.semantics.stream_delays:
            if name not in streams and name not in made:
                declared = names([*streams, *made])
                raise SettingError(f"'delay.{name}': no such stream; declared are {declared}")
        for stream in plan.streams:
            if stream.value not in streams and stream.value not in made:
                raise SettingError(_undeclared(plan, stream, [*streams, *made]))

    def check_unread(self, iri: str, plans: Iterable[Plan]) -> None:
        """Refuse to let a stream go that a query reads.

        Raises:
            SettingError: saying which.
        """
        reader = next((each.name for each in plans if Iri(iri) in each.streams), None)
        if reader is not None:
            raise SettingError(f"'{reader}' reads <{iri}>; remove that one first")

    def add(self, plan: Plan) -> None:
        """Take a query in that fits."""
        self._schemas.setdefault(plan.schema, {})[plan.name] = None
        if plan.stream is not None:
            self._makers[plan.stream.value] = plan.name

    def check_removable(self, plan: Plan, others: Iterable[Plan]) -> None:
        """Check that no query reads the stream that a query makes.

        Raises:
            SettingError: one does.
        """
        if plan.stream is None:
            return
        reader = next((each.name for each in others if plan.stream in each.streams), None)
        if reader is not None:
            raise SettingError(f"'{reader}' reads what '{plan.name}' makes; remove that one first")

    def remove(self, plan: Plan) -> None:
        """Remove a query that is removable."""
        if plan.stream is not None:
            del self._makers[plan.stream.value]
        self._schemas.get(plan.schema, {}).pop(plan.name, None)
        for stream in plan.streams:
            if self._readers.get(stream) is plan:
                del self._readers[stream]  # the next one that is looked at takes its place


def _undeclared(plan: Plan, stream: Iri, known: list[str]) -> str:
    near = nearest(stream.value, known)
    problem = f"'{plan.name}' reads <{stream.value}>, which is no declared stream"
    if near:
        return f"{problem}; did you mean <{near}>?"
    declared = f"; declared are {names(known)}" if known else ""
    remedy = f"say what it is with --stream {stream.value}=SOURCE or Engine.stream"
    return f"{problem}{declared}; {remedy}"


def names(iris: Iterable[str]) -> str:
    """The names of streams, for an error."""
    shown = [f"<{iri}>" for iri in iris]
    return listing(shown, "and") if shown else "none"


def check_readers(plans: Sequence[Plan]) -> None:
    """Refuse queries that read one stream with different settings.

    Raises:
        SettingError: naming the two, and the setting.
    """
    wanted: dict[Iri, Plan] = {}
    for plan in plans:
        for stream in plan.streams:
            other = wanted.setdefault(stream, plan)
            for setting in ("blank_nodes", "assert_quoted", "max_ahead"):
                if getattr(other.semantics, setting) != getattr(plan.semantics, setting):
                    raise SettingError(
                        f"'{other.name}' and '{plan.name}' read <{stream.value}> and differ in "
                        f"'{setting}', which holds for a whole stream"
                    )
