"""What makes a query continuous: its registration, its windows, and when it reports."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import replace

from lark import Token, Tree

from headrace.algebra.operators import Operator, Relation, Temporal, Window
from headrace.algebra.query import Ask, Query, Registered, Registration, Select
from headrace.algebra.reporting import (
    Emit,
    Every,
    FromNamed,
    NonEmpty,
    OnArrival,
    OnClose,
    Report,
    Semantics,
)
from headrace.algebra.walk import everywhere, reads_default_graph
from headrace.algebra.windows import (
    AllWindow,
    Counted,
    CountWindow,
    NowWindow,
    TimeWindow,
    WindowDeclaration,
    WindowFrame,
)
from headrace.dialects.profiles import MissingStep, Profile
from headrace.dialects.settings import applied, service_budget, service_rate
from headrace.dialects.translate.patterns import OpenGroup
from headrace.dialects.translate.queries import QueryTranslator
from headrace.dialects.translate.trees import (
    Node,
    as_token,
    as_tree,
    present,
    span,
    subtree,
)
from headrace.dialects.vocabulary import RELATIONS
from headrace.errors import SettingError, Source, UnsupportedError
from headrace.rdf.terms import Iri


class ContinuousTranslator(QueryTranslator):
    """Translates queries over streams; a dialect says where its windows are declared."""

    def __init__(self, source: Source, profile: Profile, settings: Mapping[str, str]) -> None:
        """Start with no windows and what the profile says."""
        super().__init__(source)
        self.profile = profile
        self.settings = settings
        self.default_budget = service_budget(settings)
        self.rate = service_rate(settings)
        self.windows: list[WindowDeclaration] = []
        self._window_nodes: dict[WindowDeclaration, Node] = {}
        self._registration: Registration | None = None
        self._registered_at: Node | None = None
        self._every: int | None = None
        self._emit: Emit | None = None
        self._counts_in_steps = False

    # -- registration ----------------------------------------------------------------------

    def registration(self, tree: Tree[Token]) -> None:
        """REGISTER: the name, the kind, and how often."""
        kind, name_tree, every = tree.children
        word = str(as_tree(kind).children[0]).upper()
        name = as_tree(name_tree).children[0]
        shown = str(name) if isinstance(name, Token) else self.iri(name).value
        stream = word != Registered.QUERY.upper()
        self._registration = Registration(shown, Registered.STREAM if stream else Registered.QUERY)
        self._registered_at = as_tree(name_tree)
        if word.lower() in set(Emit):
            self.emission(as_tree(kind))
        if every is not None:
            period = as_tree(every).children[0]
            self._every = self._positive(as_tree(period), "COMPUTED EVERY")

    def emission(self, tree: Tree[Token]) -> None:
        """What the query emits, which it may say only once or twice the same."""
        word = str(tree.children[0]).upper()
        emit = Emit(word.lower())
        if self._emit not in {None, emit}:
            raise self.wrong(
                f"the query is registered to emit {str(self._emit).upper()}, not {word}", tree
            )
        self._emit = emit

    def _form_emission(self, tree: Tree[Token]) -> None:
        """Take over the emitter of `SELECT ISTREAM` and `CONSTRUCT ISTREAM`."""
        clause = subtree(tree, "select_clause") or tree
        own = subtree(clause, "select_head") or subtree(clause, "construct_head")
        for emit in tree.find_data("emit"):
            if own is None or not any(emit is child for child in own.children):
                raise self.wrong("only the outermost query emits a stream", emit)
            self.emission(emit)

    # -- temporal operators ----------------------------------------------------------------

    def other_element(self, tree: Tree[Token], group: OpenGroup) -> None:
        """{ A } BEFORE { B } and its like, from left to right."""
        if tree.data != "temporal":
            super().other_element(tree, group)
            return
        first, *rest = map(as_tree, present(tree))
        found = self._block(first)
        for relation, block in zip(rest[::2], rest[1::2], strict=True):
            found = self._related(found, relation, self._block(block))
        group.join(found)

    def _block(self, tree: Tree[Token]) -> Operator:
        """One side of a temporal operator."""
        if tree.data == "group":
            return self.group(tree)
        alone = OpenGroup()
        self.other_element(tree, alone)
        return alone.operator

    def _related(self, left: Operator, tree: Tree[Token], right: Operator) -> Temporal:
        word = as_token(as_tree(tree.children[0]).children[0])
        relation, always = RELATIONS[word.upper()]
        optional = always or subtree(tree, "maybe") is not None
        said = subtree(tree, "within")
        within = None if said is None else self._positive(as_tree(said.children[0]), "WITHIN")
        if said is not None and relation not in {Relation.BEFORE, Relation.AFTER}:
            raise self.wrong(
                f"WITHIN says how far two blocks are apart, and with {word.upper()} they are not",
                said,
                "use it after BEFORE and AFTER; FILTER(DURATION() <= 5) bounds a whole block",
            )
        return Temporal(left, right, relation, within, optional, span(word))

    # -- windows ---------------------------------------------------------------------------

    @abstractmethod
    def source_clause(self, tree: Tree[Token]) -> None:
        """Take over a FROM clause that is the dialect's own."""

    def declare(self, declaration: WindowDeclaration, at: Node) -> WindowDeclaration:
        """Add a window to the query, unless it has the very same one."""
        if declaration not in self.windows:
            self.windows.append(declaration)
            self._window_nodes[declaration] = at
        return declaration

    def frame(self, tree: Tree[Token]) -> WindowFrame:
        """The frame between the brackets of a window."""
        inner = as_tree(tree.children[0])
        match inner.data:
            case "frame_time":
                width = self._positive(as_tree(inner.children[0]), "the width of a window")
                return TimeWindow(width, self._slide(subtree(inner, "step"), inner, width))
            case "frame_tumbling":
                width = self._positive(as_tree(inner.children[0]), "the width of a window")
                return TimeWindow(width, width)
            case "frame_back":
                return self._back(inner)
            case "frame_count":
                return self._count(inner)
            case "frame_now":
                return NowWindow()
            case _:
                return AllWindow()

    def _slide(self, step: Tree[Token] | None, frame: Tree[Token], width: int) -> int | None:
        if step is not None:
            length = step.children[0]
            if length is not None:
                return self._positive(as_tree(length), "the step of a window")
            return None
        match self.profile.missing_step:
            case MissingStep.TUMBLES:
                return width
            case MissingStep.MOVES:
                return None
            case MissingStep.WRONG:
                raise self.wrong(
                    "a time window needs STEP or TUMBLING",
                    frame,
                    "write how far it moves, as in [RANGE 10m STEP 1m]; the profile 'sparkwave'"
                    " matches at every arrival instead",
                )

    def _back(self, tree: Tree[Token]) -> WindowFrame:
        """`[NOW - 10 S SLIDE 1 S]`: a time window, written by where it begins."""
        first, *rest = present(tree)
        if isinstance(first, Token):
            if first.startswith("+"):
                raise self.wrong("a window cannot reach into the future", first, "write NOW - ...")
            length = -self.unit_duration(first, as_token(rest[0]))
            width = self._not_zero(self.exact(length, tree), tree, "the width of a window")
        else:
            width = self._positive(first, "the width of a window")
        return TimeWindow(width, self._slide(subtree(tree, "step"), tree, width))

    def _count(self, tree: Tree[Token]) -> WindowFrame:
        counted, node, *rest = present(tree)
        size = self._positive_count(node)
        step = self._count_step(as_tree(rest[-1]), size) if rest else 1
        self._counts_in_steps = self._counts_in_steps or bool(rest)
        word = str(as_tree(counted).children[0]).lower()
        return CountWindow(size, step, Counted(word))

    def _count_step(self, tree: Tree[Token], size: int) -> int:
        """Compute the step of a count window; that of a tumbling one is its size."""
        given = present(tree)
        return self._positive_count(given[0]) if given else size

    def _positive_count(self, node: Node) -> int:
        count = self.natural(as_token(node), "a count window")
        if count == 0:
            raise self.wrong("a count window of zero elements is always empty", node)
        return count

    def _positive(self, tree: Tree[Token], what: str) -> int:
        return self._not_zero(self.duration(tree), tree, what)

    def _not_zero(self, length: int, at: Node, what: str) -> int:
        if length == 0:
            raise self.wrong(f"{what} is zero", at, "give it a length, such as 10s")
        return length

    # -- the whole -------------------------------------------------------------------------

    def query(self, tree: Tree[Token]) -> Query:
        """A query, and what its SELECT or CONSTRUCT says of emission."""
        self._form_emission(tree)
        return super().query(tree)

    def finished(self, query: Query) -> Query:
        """Add windows, registration and semantics."""
        semantics = applied(self._semantics(), self.settings)
        if isinstance(semantics.report, OnArrival) and "non_empty" not in self.settings:
            # Most arrivals complete no match: to report each of them would bury the answers.
            semantics = replace(semantics, non_empty=NonEmpty.ANSWER)
        self._check_report(semantics)
        self._note_registration(query)
        self._note_windows(query.pattern)
        keeps = semantics.from_named is FromNamed.KEEPS and query.dataset.names_no_default
        if query.dataset.names_no_default and not keeps and reads_default_graph(query.pattern):
            self.note(
                "FROM NAMED without FROM: patterns outside GRAPH see no static data "
                f"(from_named={FromNamed.HIDES}); name a graph with FROM, or set "
                f"from_named={FromNamed.KEEPS}",
                is_reading=True,
            )
        return replace(
            query,
            dataset=replace(query.dataset, keeps_default=keeps),
            windows=tuple(self.windows),
            registration=self._registration,
            semantics=semantics,
        )

    def _semantics(self) -> Semantics:
        semantics = replace(self.profile.semantics, report=self._report())
        return semantics if self._emit is None else replace(semantics, emit=self._emit)

    def _report(self) -> Report:
        """COMPUTED EVERY; else on close if a window says when it closes; else on arrival."""
        if self._every is not None:
            return Every(self._every)
        default = self.profile.semantics.report
        if not self.windows:
            return default
        slides = any(_slides(window.frame) for window in self.windows)
        if isinstance(default, OnArrival):
            return OnClose() if slides or self._counts_in_steps else default
        return default if self._closes() else OnArrival()

    def _closes(self) -> bool:
        """Whether some window says when it closes."""
        frames = [window.frame for window in self.windows]
        return any(_slides(frame) or isinstance(frame, CountWindow) for frame in frames)

    def _check_report(self, semantics: Semantics) -> None:
        if self.windows and isinstance(semantics.report, OnClose) and not self._closes():
            raise SettingError(
                "report=on-close needs a window that closes: give one a STEP, or report on-arrival"
            )

    def _note_registration(self, query: Query) -> None:
        registration, at = self._registration, self._registered_at
        if registration is None or at is None:
            return
        if registration.kind is Registered.STREAM and isinstance(query.form, Ask):
            raise self.wrong(
                f"'{registration.name}' is registered as a stream, and ASK has no rows or triples "
                "that could be its elements",
                at,
                "register it as a QUERY, or CONSTRUCT the triples that the stream has",
                UnsupportedError,
            )
        if registration.kind is Registered.STREAM and isinstance(query.form, Select):
            self.note(
                f"'{registration.name}' is a stream of rows: other queries read it with the"
                " columns of its SELECT; CONSTRUCT would make it a stream of triples",
                at,
            )
        if not self.windows:
            self.note(f"'{registration.name}' reads no stream, so it has one answer", at)

    def _note_windows(self, pattern: Operator) -> None:
        """Say of a window that no pattern reads that it has no effect."""
        read = {each.name for each in everywhere(pattern) if isinstance(each, Window)}
        if any(not isinstance(name, Iri) for name in read):
            return
        for window in self.windows:
            if not window.in_default_graph and window.name not in read:
                self.note(
                    f"no pattern reads window <{window.name.value}>", self._window_nodes[window]
                )


def _slides(frame: WindowFrame) -> bool:
    return isinstance(frame, TimeWindow) and frame.slide is not None
