"""Whole queries: their four forms and their solution modifiers, as SPARQL 1.1 section 18.2.4."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from lark import Token, Tree

from headrace.algebra.expressions import (
    Aggregate,
    Expression,
    PatternTerm,
    TriplePattern,
    Variable,
)
from headrace.algebra.operators import (
    Bgp,
    Distinct,
    Extend,
    Filter,
    Group,
    Join,
    Operator,
    OrderBy,
    OrderKey,
    Project,
    Reduced,
    Slice,
)
from headrace.algebra.query import (
    Ask,
    Construct,
    Dataset,
    Describe,
    Form,
    Query,
    Select,
    TemplateQuad,
)
from headrace.algebra.scope import of_term, possible, possible_in_order
from headrace.algebra.walk import rewritten, within
from headrace.dialects.translate.patterns import Pattern, PatternTranslator, conjunction
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
from headrace.errors import QuerySyntaxError, Span, nearest
from headrace.rdf.terms import Iri, Literal


@dataclass(frozen=True, slots=True)
class Head:
    """One column of a SELECT clause: a variable, and how it is computed if it is."""

    variable: Variable
    expression: Expression | None
    node: Node


class QueryTranslator(PatternTranslator):
    """Translates a parsed query into a value of the algebra."""

    grammar: ClassVar[tuple[str, ...]]
    """The files whose rules together are the dialect's grammar."""

    def translate(self, tree: Tree[Token]) -> Query:
        """The whole query."""
        for child in present(tree):
            part = as_tree(child)
            if part.data == "prologue":
                self.prologue(part)
            elif part.data == "registration":
                self.registration(part)
            elif part.data == "emit":
                self.emission(part)
            else:
                return self.query(part)
        raise self.wrong("expected a query", tree, kind=QuerySyntaxError)

    def registration(self, tree: Tree[Token]) -> None:
        """Take over a REGISTER clause; plain SPARQL has none."""
        raise self.wrong("plain SPARQL has no REGISTER", tree, kind=QuerySyntaxError)

    def emission(self, tree: Tree[Token]) -> None:
        """Take over RSTREAM, ISTREAM or DSTREAM; plain SPARQL has none."""
        raise self.wrong("plain SPARQL emits no stream", tree, kind=QuerySyntaxError)

    def query(self, tree: Tree[Token]) -> Query:
        """A query without its prologue."""
        dataset_tree = subtree(tree, "dataset")
        dataset = Dataset() if dataset_tree is None else self.dataset(dataset_tree)
        form, pattern = self._form(tree)
        return self.finished(Query(form, pattern, dataset))

    def finished(self, query: Query) -> Query:
        """Add what the dialect knows beyond the SPARQL part."""
        return query

    def dataset(self, tree: Tree[Token]) -> Dataset:
        """FROM clauses."""
        default: list[Iri] = []
        named: list[Iri] = []
        schemas: list[Iri] = []
        spans: list[Span] = []
        for child in tree.children:
            clause = as_tree(child)
            match clause.data:
                case "from_default":
                    default.append(self.iri(clause.children[0]))
                case "from_named":
                    named.append(self.iri(clause.children[0]))
                case "from_schema":
                    schemas.append(self.iri(clause.children[0]))
                    spans.append(span(clause))
                case _:
                    self.source_clause(clause)
        return Dataset(tuple(default), tuple(named), tuple(schemas), tuple(spans))

    def source_clause(self, tree: Tree[Token]) -> None:
        """Take over a FROM clause that is the dialect's own."""
        raise self.wrong("plain SPARQL has no streams", tree, kind=QuerySyntaxError)

    # -- forms -----------------------------------------------------------------------------

    def _form(self, tree: Tree[Token]) -> tuple[Form, Operator]:
        match tree.data:
            case "select":
                return self._select(tree)
            case "construct":
                return self._construct(tree)
            case "construct_where":
                return self._construct_where(tree)
            case "describe":
                return self._describe(tree)
            case _:
                return Ask(), self._modified(tree, self.where(tree), [], quantifier=None)

    def where(self, tree: Tree[Token]) -> Operator:
        """The WHERE clause; DESCRIBE may have none."""
        where = subtree(tree, "where")
        return Bgp() if where is None else self.where_clause(where)

    def where_clause(self, tree: Tree[Token]) -> Operator:
        """The group of a WHERE clause."""
        return self.group(as_tree(subtree(tree, "group")))

    def _select(self, tree: Tree[Token]) -> tuple[Form, Operator]:
        pattern = self.subselect(tree)
        return Select(possible_in_order(pattern)), pattern

    def subselect(self, tree: Tree[Token]) -> Operator:
        """A SELECT query at any level; it ends in the projection to its columns."""
        enclosing = self.bgp
        pattern = self.where(tree)
        clause = as_tree(tree.children[0])
        quantifier = subtree(clause, "quantifier")
        word = None if quantifier is None else str(quantifier.children[0]).upper()
        heads = self.heads(clause, tree, pattern)
        result = self._modified(tree, pattern, heads, word)
        self._note_empty_columns(heads, result)
        self.bgp = enclosing
        return result

    def heads(self, clause: Tree[Token], tree: Tree[Token], pattern: Operator) -> list[Head]:
        """The columns of a SELECT clause."""
        star = subtree(clause, "star")
        if star is not None:
            if is_grouped(tree):
                raise self.wrong(
                    "SELECT * has no meaning with GROUP BY",
                    star,
                    "name the grouped variables and aggregates to select",
                    QuerySyntaxError,
                )
            return [Head(variable, None, star) for variable in self._visible(tree, pattern)]
        return [self.head(node) for node in present(as_tree(clause.children[-1]))]

    def _visible(self, tree: Tree[Token], pattern: Operator) -> list[Variable]:
        """The variables that `*` stands for: those of the pattern and of a VALUES after it."""
        values = subtree(tree, "values")
        written = () if values is None else self.values(values).variables
        every = dict.fromkeys((*possible_in_order(pattern), *written))
        return [variable for variable in every if not variable.is_anonymous]

    def _note_empty_columns(self, heads: list[Head], result: Operator) -> None:
        """A column that nothing binds is not wrong, but hardly meant."""
        projection = next(each for each in within(result) if isinstance(each, Project))
        bound = possible(projection.input)
        for head in heads:
            if isinstance(head.node, Token) and head.variable not in bound:
                known = (each.name for each in bound if not each.is_anonymous)
                near = nearest(head.variable.name, known)
                suggestion = f"; did you mean ?{near}?" if near else ""
                self.note(
                    f"?{head.variable.name} is never bound, so its column is empty{suggestion}",
                    head.node,
                )

    def head(self, node: Node) -> Head:
        """One column."""
        if isinstance(node, Token):
            return Head(self.variable(node), None, node)
        expression, name = present(node)
        return Head(self.variable(as_token(name)), self._counting(expression), node)

    def _counting(self, node: Node) -> Expression:
        """An expression in which aggregates may stand."""
        self.aggregates_allowed = True
        expression = self.expression(node)
        self.aggregates_allowed = False
        return expression

    def _construct(self, tree: Tree[Token]) -> tuple[Form, Operator]:
        template = self._template(as_tree(subtree(tree, "template")))
        operator = self._modified(tree, self.where(tree), [], quantifier=None)
        bound = possible(operator)
        for quad, node in template:
            self._check_template(quad, node, bound)
        return Construct(tuple(quad for quad, _ in template)), operator

    def _construct_where(self, tree: Tree[Token]) -> tuple[Form, Operator]:
        self._next_bgp()
        patterns: list[Pattern] = []
        block = subtree(tree, "triples_template")
        for triples in [] if block is None else block.children:
            self.triples(as_tree(triples), patterns)
        template = tuple(
            TemplateQuad(each.subject, each.predicate, each.object)
            for each in patterns
            if isinstance(each, TriplePattern)
        )
        return Construct(template), self._modified(tree, Bgp(tuple(patterns)), [], quantifier=None)

    def _template(self, tree: Tree[Token]) -> list[tuple[TemplateQuad, Node]]:
        self.bgp = None
        quads: list[tuple[TemplateQuad, Node]] = []
        inner = subtree(tree, "template_quads")
        for child in [] if inner is None else subtrees(inner, "triples_template", "quads"):
            if child.data == "quads":
                name, *blocks = present(child)
                graph = self.term(name)
                for block in blocks:
                    quads.extend(self._template_block(as_tree(block), graph))
            else:
                quads.extend(self._template_block(child, None))
        return quads

    def _template_block(
        self, tree: Tree[Token], graph: PatternTerm | None
    ) -> list[tuple[TemplateQuad, Node]]:
        quads: list[tuple[TemplateQuad, Node]] = []
        for triples in tree.children:
            patterns: list[Pattern] = []
            self.triples(as_tree(triples), patterns)
            quads.extend(
                (TemplateQuad(each.subject, each.predicate, each.object, graph), triples)
                for each in patterns
                if isinstance(each, TriplePattern)
            )
        return quads

    def _check_template(self, quad: TemplateQuad, node: Node, bound: frozenset[Variable]) -> None:
        if isinstance(quad.subject, Literal):
            raise self.wrong(
                "a literal cannot be the subject of a triple, so this template makes none", node
            )
        for term in (quad.subject, quad.predicate, quad.object, quad.graph):
            for variable in [] if term is None else of_term(term):
                if variable not in bound and not variable.is_anonymous:
                    self.note(
                        f"?{variable.name} is never bound by WHERE, so the template makes no triple"
                        " with it",
                        node,
                    )

    def _describe(self, tree: Tree[Token]) -> tuple[Form, Operator]:
        pattern = self.where(tree)
        operator = self._modified(tree, pattern, [], quantifier=None)
        targets = subtree(tree, "targets")
        if targets is None:
            if is_grouped(tree):
                star = as_tree(subtree(tree, "star"))
                raise self.wrong("DESCRIBE * has no meaning with GROUP BY", star)
            return Describe(tuple(self._visible(tree, pattern))), operator
        return Describe(tuple(self.name(node) for node in present(targets))), operator

    # -- solution modifiers ----------------------------------------------------------------

    def _modified(
        self, tree: Tree[Token], pattern: Operator, heads: list[Head], quantifier: str | None
    ) -> Operator:
        """Group, filter groups, compute columns, order, project, and slice, in this order."""
        modifiers = as_tree(subtree(tree, "modifiers"))
        pattern, heads, grouped = self.level(tree, pattern, heads)
        having = self._having(modifiers, heads)
        order = self._order_keys(modifiers)
        if grouped:
            pattern, heads, having, order = self._grouped(modifiers, pattern, heads, having, order)
        if having:
            pattern = Filter(conjunction(having), pattern)
        values = subtree(tree, "values")
        if values is not None:
            pattern = Join(pattern, self.values(values))
        pattern = self._extended(pattern, heads)
        if order:
            pattern = OrderBy(pattern, tuple(order))
        if tree.data in {"select", "subselect"}:
            pattern = Project(pattern, tuple(dict.fromkeys(head.variable for head in heads)))
        elif subtree(modifiers, "limits") is not None:
            # All of it; but now the order below is this query's own, and that of a subquery is not.
            pattern = Project(pattern, possible_in_order(pattern))
        if quantifier is not None:
            pattern = Distinct(pattern) if quantifier == "DISTINCT" else Reduced(pattern)
        return self._sliced(modifiers, pattern)

    def level(
        self, tree: Tree[Token], pattern: Operator, heads: list[Head]
    ) -> tuple[Operator, list[Head], bool]:
        """Prepare a query level, and say whether its solutions are grouped."""
        return pattern, heads, is_grouped(tree)

    def _extended(self, pattern: Operator, heads: list[Head]) -> Operator:
        scope = set(possible(pattern))
        seen: set[Variable] = set()
        for head in heads:
            if head.expression is not None:
                if head.variable in scope or head.variable in seen:
                    raise self.wrong(
                        f"?{head.variable.name} already has a value here, so AS cannot give it one",
                        self._alias(head.node),
                        "choose another name after AS",
                    )
                pattern = Extend(pattern, head.variable, head.expression)
            seen.add(head.variable)
        return pattern

    def _alias(self, node: Node) -> Node:
        return node if isinstance(node, Token) else present(node)[-1]

    def _having(self, modifiers: Tree[Token], heads: list[Head]) -> list[Expression]:
        """HAVING conditions, in which the names of computed columns stand for what they compute."""
        tree = subtree(modifiers, "having")
        if tree is None:
            return []
        computed: dict[Variable, Expression] = {}

        def by_name(part: Expression) -> Expression | None:
            match part:
                case Variable():
                    return computed.get(part)
                case Aggregate():
                    # It is over variables of the pattern, whatever a column is called.
                    return part
                case _:
                    return None

        for head in heads:
            if head.expression is not None:
                computed[head.variable] = rewritten(head.expression, by_name)
        return [rewritten(self._counting(node), by_name) for node in present(tree)]

    def _order_keys(self, modifiers: Tree[Token]) -> list[OrderKey]:
        tree = subtree(modifiers, "order_by")
        if tree is None:
            return []
        return [
            OrderKey(self._counting(present(as_tree(key))[0]), as_tree(key).data == "descending")
            for key in present(tree)
        ]

    def _sliced(self, modifiers: Tree[Token], pattern: Operator) -> Operator:
        limits = subtree(modifiers, "limits")
        if limits is None:
            return pattern
        limit, offset = subtree(limits, "limit"), subtree(limits, "offset")
        return Slice(
            pattern,
            0 if offset is None else self.natural(as_token(offset.children[0]), "OFFSET"),
            None if limit is None else self.natural(as_token(limit.children[0]), "LIMIT"),
        )

    # -- grouping --------------------------------------------------------------------------

    def _grouped(
        self,
        modifiers: Tree[Token],
        pattern: Operator,
        heads: list[Head],
        having: list[Expression],
        order: list[OrderKey],
    ) -> tuple[Operator, list[Head], list[Expression], list[OrderKey]]:
        """Collect the aggregates of all clauses into one Group; variables take their place."""
        pattern, keys = self.keys(modifiers, pattern)
        self._check_grouped(heads, keys, modifiers)
        collected: dict[Aggregate, Variable] = {}

        def lifted(part: Expression) -> Expression | None:
            if isinstance(part, Aggregate):
                if part not in collected:  # no two subqueries may share the name of a result
                    collected[part] = Variable(f"_:.agg{self._grouped_values + len(collected)}")
                return collected[part]
            return None

        heads = [
            Head(
                each.variable,
                None if each.expression is None else rewritten(each.expression, lifted),
                each.node,
            )
            for each in heads
        ]
        having = [rewritten(each, lifted) for each in having]
        order = [OrderKey(rewritten(key.expression, lifted), key.descending) for key in order]
        self._grouped_values += len(collected)
        aggregates = tuple((variable, aggregate) for aggregate, variable in collected.items())
        return Group(pattern, keys, aggregates), heads, having, order

    def keys(
        self, modifiers: Tree[Token], pattern: Operator
    ) -> tuple[Operator, tuple[Variable, ...]]:
        """The keys of GROUP BY; one that is computed is bound before grouping."""
        keys: list[Variable] = []
        tree = subtree(modifiers, "group_by")
        for node in [] if tree is None else present(tree):
            if isinstance(node, Token):
                keys.append(self.variable(node))
                continue
            inner = present(node) if node.data == "group_alias" else [node]
            expression = self.expression(inner[0])
            if isinstance(expression, Variable) and len(inner) == 1:
                keys.append(expression)
                continue
            name = self.variable(as_token(inner[1])) if len(inner) > 1 else self.fresh("key")
            if name in possible(pattern):
                raise self.wrong(
                    f"?{name.name} already has a value here, so AS cannot give it one", inner[1]
                )
            pattern = Extend(pattern, name, expression)
            keys.append(name)
        return pattern, tuple(dict.fromkeys(keys))

    def _check_grouped(
        self, heads: list[Head], keys: tuple[Variable, ...], modifiers: Tree[Token]
    ) -> None:
        """What a grouped query computes comes from its keys, its aggregates and earlier columns."""
        known = set(keys)
        for head in heads:
            self._check_keys(self._body(head), known, keys)
            known.add(head.variable)
        for clause in subtrees(modifiers, "having", "order_by"):
            self._check_keys(clause, known, keys)

    def _check_keys(self, node: Node, known: set[Variable], keys: tuple[Variable, ...]) -> None:
        for token in variable_tokens(node):
            if self.variable(token) not in known:
                grouped = ", ".join(f"?{key.name}" for key in keys if not key.is_anonymous)
                raise self.wrong(
                    f"{token} is not grouped: a group may hold many values of it",
                    token,
                    f"add {token} to GROUP BY, or aggregate it, as in SAMPLE({token})"
                    + (f"; grouped are {grouped}" if grouped else ""),
                )

    def _body(self, head: Head) -> Node:
        return head.node if isinstance(head.node, Token) else present(head.node)[0]


def is_grouped(tree: Tree[Token]) -> bool:
    """Whether a query level has GROUP BY or an aggregate of its own, not one of a subquery."""
    modifiers = subtree(tree, "modifiers")
    clause = subtree(tree, "select_clause")
    if modifiers is not None and subtree(modifiers, "group_by") is not None:
        return True
    searched: list[Node | None] = [clause]
    if modifiers is not None:
        searched += [subtree(modifiers, "having"), subtree(modifiers, "order_by")]
    while searched:
        node = searched.pop()
        if isinstance(node, Tree):
            if node.data == "aggregate":
                return True
            if node.data != "group":  # the pattern of an EXISTS is another level
                searched.extend(node.children)
    return False
