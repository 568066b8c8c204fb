"""Group graph patterns of a query, translated as SPARQL 1.1 section 18.2.2 defines."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Set
from dataclasses import dataclass, field
from typing import TypeAlias

from lark import Token, Tree

from headrace.algebra.expressions import (
    Expression,
    Operation,
    PatternTerm,
    TriplePattern,
    Variable,
)
from headrace.algebra.operators import (
    Bgp,
    Budget,
    Extend,
    Filter,
    Graph,
    Join,
    LeftJoin,
    Minus,
    Operator,
    Service,
    Union,
    Values,
)
from headrace.algebra.paths import (
    Alternative,
    Inverse,
    NegatedSet,
    OneOrMore,
    Path,
    PathPattern,
    Sequence,
    ZeroOrMore,
    ZeroOrOne,
)
from headrace.algebra.scope import possible
from headrace.dialects.contracts import POLICIES, USABLE
from headrace.dialects.translate.expressions import ExpressionTranslator
from headrace.dialects.translate.trees import (
    Node,
    as_token,
    as_tree,
    present,
    span,
    subtree,
    subtrees,
    variable_tokens,
)
from headrace.errors import QuerySyntaxError, Source
from headrace.rdf.terms import Iri, QuotedTriple, Term
from headrace.rdf.vocabulary import RDF_FIRST, RDF_NIL, RDF_REST

Pattern: TypeAlias = TriplePattern | PathPattern


@dataclass(slots=True)
class OpenGroup:
    """A group while it is read: what it matches so far, its filters, and the variables in scope."""

    operator: Operator = field(default_factory=Bgp)
    filters: list[Expression] = field(default_factory=list)
    filter_nodes: list[Node] = field(default_factory=list)
    scope: set[Variable] = field(default_factory=set)
    pending: list[Pattern] = field(default_factory=list)

    def flush(self) -> None:
        """Join the triple patterns read since the last other element, as one pattern."""
        if self.pending:
            bgp, self.pending = Bgp(tuple(self.pending)), []
            self.join(bgp)

    def join(self, operator: Operator) -> None:
        """Join one more element."""
        unit = self.operator == Bgp()
        self.operator = operator if unit else Join(self.operator, operator)
        self.scope |= possible(operator)


class PatternTranslator(ExpressionTranslator):
    """Translates groups, triples and paths; subqueries are left to the layer above."""

    def __init__(self, source: Source) -> None:
        """Start before the first basic graph pattern."""
        super().__init__(source)
        self._bgps = 0
        self.default_budget: Budget | None = None
        self.rate: float | None = None
        """What a SERVICE is held to that says nothing of its own."""

    @abstractmethod
    def subselect(self, tree: Tree[Token]) -> Operator:
        """Translate a subquery."""

    # -- groups ----------------------------------------------------------------------------

    def group(self, tree: Tree[Token]) -> Operator:
        """A group with its filters applied to the whole of it."""
        operator, filters = self._group_parts(tree)
        return Filter(conjunction(filters), operator) if filters else operator

    def _group_parts(
        self, tree: Tree[Token], outside: Set[Variable] = frozenset()
    ) -> tuple[Operator, list[Expression]]:
        """A group and its filters apart: OPTIONAL makes the filters its condition.

        Such a condition sees the variables outside too.
        """
        children = present(tree)
        if len(children) == 1 and isinstance(children[0], Tree) and children[0].data == "subselect":
            return self.subselect(children[0]), []
        enclosing = self.bgp
        group = OpenGroup()
        self._next_bgp()
        for child in children:
            self.element(as_tree(child), group)
        group.flush()
        for node in group.filter_nodes:
            self._note_unbound(node, group.scope | outside, "FILTER")
        self.bgp = enclosing
        return group.operator, group.filters

    def _next_bgp(self) -> None:
        self._bgps += 1
        self.bgp = self._bgps

    def element(self, tree: Tree[Token], group: OpenGroup) -> None:
        """Add one element of a group to it."""
        if tree.data == "triples_block":
            group.pending.extend(self._triples_block(tree))
            return
        if tree.data == "filter":
            # A filter sees the whole group and does not end a basic graph pattern.
            group.filters.append(self.expression(tree.children[0]))
            group.filter_nodes.append(tree.children[0])
            return
        group.flush()
        self._next_bgp()
        self.other_element(tree, group)
        self._next_bgp()

    def other_element(self, tree: Tree[Token], group: OpenGroup) -> None:
        """Add an element that ends a basic graph pattern."""
        match tree.data:
            case "union":
                branches = tuple(self.group(branch) for branch in subtrees(tree, "group"))
                group.join(branches[0] if len(branches) == 1 else Union(branches))
            case "optional":
                right, filters = self._group_parts(as_tree(tree.children[0]), group.scope)
                condition = conjunction(filters) if filters else None
                group.operator = LeftJoin(group.operator, right, condition)
                group.scope |= possible(right)
            case "minus":
                group.operator = Minus(group.operator, self.group(as_tree(tree.children[0])))
            case "graph":
                name, inner = present(tree)
                group.join(self.graph(name, as_tree(inner)))
            case "service":
                group.join(self._service(tree))
            case "bind":
                self._bind(tree, group)
            case "values":
                group.join(self.values(tree))
            case _:
                raise self.wrong(
                    f"'{tree.data}' is not of this dialect", tree, kind=QuerySyntaxError
                )

    def graph(self, name: Node, group: Tree[Token]) -> Operator:
        """GRAPH: a pattern in a named graph."""
        return Graph(self.name(name), self.group(group))

    def _bind(self, tree: Tree[Token], group: OpenGroup) -> None:
        expression, name = present(tree)
        variable = self.variable(as_token(name))
        if variable in group.scope:
            raise self.wrong(
                f"?{variable.name} is already bound in this group, so BIND cannot bind it again",
                name,
                "bind another variable and compare the two in a FILTER",
            )
        self._note_unbound(expression, group.scope, "BIND")
        group.operator = Extend(group.operator, variable, self.expression(expression))
        group.scope.add(variable)

    def _note_unbound(self, node: Node, scope: Set[Variable], what: str) -> None:
        """FILTER and BIND see only their own group: say so where a variable is never bound."""
        for token in variable_tokens(node):
            if self.variable(token) not in scope and not self.in_exists:
                self.note(
                    f"{token} is never bound in the group of this {what}, and it sees no other",
                    token,
                )

    # -- services and data -----------------------------------------------------------------

    def _service(self, tree: Tree[Token]) -> Operator:
        name, inner = (node for node in present(tree) if not _is(node, "silent", "budget"))
        said = subtree(tree, "budget")
        budget, self.default_budget = self.default_budget, None  # what is inside is not ours
        around, self.in_service = self.in_service, True
        asked = self.group(as_tree(inner))
        self.default_budget, self.in_service = budget, around
        return Service(
            self.name(name),
            asked,
            subtree(tree, "silent") is not None,
            budget if said is None else self._budget(said),
            span(name),
        )

    def _budget(self, tree: Tree[Token]) -> Budget:
        parts: dict[str, Node] = {}
        policy_star = ""
        for part in subtrees(tree, "accuracy", "within", "policy", "requests"):
            if part.data in parts:
                word = {"requests": "BUDGET"}.get(part.data, part.data.upper())
                raise self.wrong(f"{word} is given twice", part, kind=QuerySyntaxError)
            parts[str(part.data)] = part.children[0]
            if part.data == "policy" and part.children[1] is not None:
                policy_star = "*"
        accuracy, policy, requests = (parts.get(key) for key in ("accuracy", "policy", "requests"))
        if accuracy is not None and not 0 <= float(str(accuracy)) <= 1:
            raise self.wrong(
                "an accuracy lies between 0 and 1", accuracy, "write 0.75 for three in four"
            )
        if policy is not None and str(policy).upper() + policy_star not in POLICIES:
            raise self.wrong(
                f"unknown policy '{policy}'", policy, f"policies are {', '.join(USABLE)}"
            )
        within = self.duration(as_tree(parts["within"])) if "within" in parts else None
        if within == 0:
            raise self.wrong(
                "nothing is answered WITHIN no time",
                parts["within"],
                "give it a length, such as 2s; BUDGET 0 sends no requests",
            )
        return Budget(
            None if accuracy is None else float(str(accuracy)),
            within,
            None if policy is None else str(policy).upper() + policy_star,
            None if requests is None else self.natural(as_token(requests), "BUDGET"),
            policy_span=None if policy is None else span(policy),
            rate=self.rate,
        )

    def values(self, tree: Tree[Token]) -> Values:
        """VALUES in either form."""
        block = as_tree(tree.children[0])
        if block.data == "values_one":
            name, *cells = present(block)
            return Values((self.variable(as_token(name)),), tuple((self._cell(c),) for c in cells))
        names = [node for node in present(block) if isinstance(node, Token)]
        variables = tuple(self.variable(name) for name in names)
        for position, name in enumerate(names):
            if variables.index(variables[position]) != position:
                raise self.wrong(f"{name} stands twice in VALUES", name, kind=QuerySyntaxError)
        rows = [self._row(row, len(variables), block) for row in subtrees(block, "row")]
        return Values(variables, tuple(rows))

    def _row(self, tree: Tree[Token], width: int, block: Tree[Token]) -> tuple[Term | None, ...]:
        cells = present(tree)
        if len(cells) != width:
            raise self.wrong(
                f"expected {width} values in a row of VALUES, found {len(cells)}",
                tree if cells else block,
                "write UNDEF for a value that is not given",
                QuerySyntaxError,
            )
        return tuple(self._cell(cell) for cell in cells)

    def _cell(self, node: Node) -> Term | None:
        if _is(node, "undef"):
            return None
        return self._data(node)

    def _data(self, node: Node) -> Term:
        tree = as_tree(node)
        if tree.data == "literal":
            return self.literal(tree)
        if tree.data == "quoted_data":
            subject, predicate, object_ = present(tree)
            if _is(subject, "literal"):
                raise self.wrong("a literal cannot be the subject of a triple", subject)
            return QuotedTriple(self._data(subject), self._data(predicate), self._data(object_))
        return self.iri(tree)

    # -- triples ---------------------------------------------------------------------------

    def _triples_block(self, tree: Tree[Token]) -> list[Pattern]:
        patterns: list[Pattern] = []
        for triples in tree.children:
            self.triples(as_tree(triples), patterns)
        return patterns

    def triples(self, tree: Tree[Token], into: list[Pattern]) -> None:
        """All triples about one subject, and those that its lists and property lists imply."""
        subject_node, *properties = present(tree)
        subject = self.node(subject_node, into)
        for part in properties:
            self._properties(subject, as_tree(part), into)

    def node(self, node: Node, into: list[Pattern]) -> PatternTerm:
        """A subject or object: a term, or a list or property list that adds triples of its own."""
        if isinstance(node, Tree):
            if node.data.startswith("collection"):
                return self._collection(node, into)
            if node.data.startswith("blank_properties"):
                subject = self.fresh()
                self._properties(subject, as_tree(node.children[0]), into)
                return subject
        return self.term(node)

    def _collection(self, tree: Tree[Token], into: list[Pattern]) -> PatternTerm:
        cells = [self.fresh() for _ in tree.children]
        for position, (cell, member) in enumerate(zip(cells, tree.children, strict=True)):
            last = position == len(cells) - 1
            rest: PatternTerm = Iri(RDF_NIL) if last else cells[position + 1]
            value = self.node(member, into)
            into.append(TriplePattern(cell, Iri(RDF_FIRST), value))
            into.append(TriplePattern(cell, Iri(RDF_REST), rest))
        return cells[0]

    def _properties(self, subject: PatternTerm, tree: Tree[Token], into: list[Pattern]) -> None:
        verb: Node | None = None
        for child in present(tree):
            if isinstance(child, Tree) and child.data.startswith("objects"):
                for each in child.children:
                    self._object(subject, verb, as_tree(each), into)
            else:
                verb = child

    def _object(
        self, subject: PatternTerm, verb: Node | None, tree: Tree[Token], into: list[Pattern]
    ) -> None:
        value_node, *annotations = present(tree)
        assert verb is not None, "the grammar puts a verb before its objects"
        value = self.node(value_node, into)
        predicate = self._verb(verb)
        if isinstance(predicate, Variable | Iri):
            into.append(TriplePattern(subject, predicate, value))
        else:
            into.append(PathPattern(subject, predicate, value))
        for annotation in annotations:
            if not isinstance(predicate, Variable | Iri):
                raise self.wrong(
                    "a path has no triple to annotate", annotation, kind=QuerySyntaxError
                )
            quoted = self._quotable(subject, predicate, value)
            self._properties(quoted, as_tree(as_tree(annotation).children[0]), into)

    def _quotable(
        self, subject: PatternTerm, predicate: Variable | Iri, value: PatternTerm
    ) -> PatternTerm:
        ground = isinstance(predicate, Iri)
        if ground and isinstance(subject, Term) and isinstance(value, Term):
            return QuotedTriple(subject, predicate, value)  # type: ignore[arg-type]  # ground
        return TriplePattern(subject, predicate, value)

    # -- paths -----------------------------------------------------------------------------

    def _verb(self, node: Node) -> Variable | Path:
        return self.variable(node) if isinstance(node, Token) else self.path(node)

    def path(self, node: Node) -> Path:
        """A property path; a single property is the property itself."""
        tree = as_tree(node)
        parts = present(tree)
        match tree.data:
            case "alternative":
                return Alternative(tuple(self.path(part) for part in parts))
            case "sequence":
                return Sequence(tuple(self.path(part) for part in parts))
            case "inverse":
                return Inverse(self.path(parts[0]))
            case "repeated":
                return self._repeated(self.path(parts[0]), str(as_tree(parts[1]).children[0]))
            case "negated":
                forward = tuple(
                    self.iri(part) for part in parts if not _is(part, "negated_inverse")
                )
                backward = tuple(
                    self.iri(as_tree(part).children[0])
                    for part in parts
                    if _is(part, "negated_inverse")
                )
                return NegatedSet(forward, backward)
            case _:
                return self.iri(tree)

    def _repeated(self, path: Path, how: str) -> Path:
        match how:
            case "?":
                return ZeroOrOne(path)
            case "*":
                return ZeroOrMore(path)
            case _:
                return OneOrMore(path)


def conjunction(conditions: list[Expression]) -> Expression:
    """Several conditions as one."""
    return conditions[0] if len(conditions) == 1 else Operation("&&", tuple(conditions))


def _is(node: Node, *names: str) -> bool:
    return isinstance(node, Tree) and node.data in names
