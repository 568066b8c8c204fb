"""A pattern of the algebra as a SELECT query for a remote endpoint.

Parsing the text gives the same algebra again, up to the names of anonymous variables and these
simplifications, which do not change what it means:

* a join with the one empty solution on the left is what it is joined with; a union, sequence or
  alternative of one is that one; a path of one property is a triple; a union of none has no rows;
* a slice of everything is not written;
* DISTINCT, ORDER BY or LIMIT without a projection gets one to all variables, and one to no
  variable gets a constant;
* a GROUP BY whose aggregates are used by anything but the columns, HAVING and ORDER BY of its own
  level becomes a subquery of its own, with a name for each aggregate; one that nothing uses is
  not written;
* a quoted triple in an expression is a call of TRIPLE.
"""

from __future__ import annotations

from headrace.algebra.expressions import Exists, TriplePattern, Variable
from headrace.algebra.operators import (
    Annotate,
    Bgp,
    Distinct,
    Extend,
    Filter,
    Graph,
    Group,
    Join,
    LeftJoin,
    Minus,
    Operator,
    OrderBy,
    OrderKey,
    Project,
    Reduced,
    Service,
    Slice,
    Temporal,
    Union,
    Values,
    Window,
)
from headrace.algebra.scope import certain, possible, possible_in_order
from headrace.algebra.walk import expressions, parts, within
from headrace.background.text_expressions import ExpressionWriter
from headrace.background.text_levels import Grouping, Level
from headrace.background.text_terms import ground_text
from headrace.errors import TooLargeError, UnsupportedError


def query_text(operator: Operator, bindings: Values | None = None) -> str:
    """The query that asks for the solutions of a pattern, or for those that fit some bindings.

    >>> from headrace.rdf.terms import Iri
    >>> print(query_text(Bgp((TriplePattern(Variable("s"), Iri("x:p"), Variable("_:b")),))))
    SELECT ?s WHERE { ?s <x:p> ?anon0 }

    Raises:
        UnsupportedError: if there is something in it that no endpoint can evaluate.
    """
    try:
        return _written(operator, bindings)
    except RecursionError:
        raise TooLargeError("the pattern of a SERVICE nests too deeply to be sent") from None


def page_text(operator: Operator, bindings: Values | None, after: int, *, ordered: bool) -> str:
    """The same query, without so many of its first solutions.

    >>> from headrace.rdf.terms import Iri
    >>> pattern = Bgp((TriplePattern(Variable("s"), Iri("x:p"), Variable("o")),))
    >>> print(page_text(pattern, None, 20, ordered=True))
    SELECT ?s ?o WHERE { ?s <x:p> ?o } ORDER BY ?s ?o OFFSET 20
    """
    text = query_text(operator, bindings)
    names = [f"?{each.name}" for each in possible_in_order(operator) if not each.is_anonymous]
    order = f" ORDER BY {' '.join(names)}" if ordered and names else ""
    return f"{text}{order} OFFSET {after}"


def _written(operator: Operator, bindings: Values | None) -> str:
    writer = _Writer(_names(operator))
    columns = tuple(each for each in possible_in_order(operator) if not each.is_anonymous)
    pattern = writer.group(operator)
    if bindings is not None and bindings.variables:
        values = writer.values(bindings)
        inline = _takes_bindings(operator) and possible(bindings) <= certain(operator)
        pattern = f"{values} {pattern}" if inline else f"{values} {{ {pattern} }}"
    base = "" if writer.base is None else f"BASE {ground_text(writer.base)} "
    return f"{base}SELECT {writer.columns(columns)} WHERE {{ {pattern} }}"


def _takes_bindings(operator: Operator) -> bool:
    """Whether bindings may stand beside the elements of a pattern, where servers use them best."""
    return isinstance(operator.input if isinstance(operator, Filter) else operator, Bgp)


def _names(operator: Operator) -> frozenset[str]:
    """All names of variables in a pattern, those inside EXISTS included."""
    found: set[str] = set()
    waiting = [operator]
    while waiting:
        for each in within(waiting.pop()):
            found |= {variable.name for variable in possible(each)}
            for part in (part for expression in expressions(each) for part in parts(expression)):
                if isinstance(part, Variable):
                    found.add(part.name)
                elif isinstance(part, Exists):
                    waiting.append(part.pattern)
    return frozenset(found)


class _Writer(ExpressionWriter):
    def group(self, operator: Operator) -> str:
        """What stands between the braces of a group that means an operator."""
        if _is_level(operator):
            return self._level(operator)
        return " ".join(self._elements(operator))

    def columns(self, variables: tuple[Variable, ...]) -> str:
        """The columns of a SELECT; without any, one that nobody asks for."""
        return " ".join(map(self.name, variables)) or f"(1 AS ?{self.unused()})"

    def values(self, values: Values) -> str:
        """VALUES with all its rows."""
        names = " ".join(map(self.name, values.variables))
        rows = (
            f"({' '.join('UNDEF' if cell is None else ground_text(cell) for cell in row)})"
            for row in values.rows
        )
        return f"VALUES ({names}) {{ {' '.join(rows)} }}"

    # -- patterns --------------------------------------------------------------------------

    def _elements(self, operator: Operator) -> list[str]:
        """The elements of a group that means an operator."""
        match operator:
            case Bgp():
                return self._triples(operator)
            case Join(left, right):
                return self._join(left, right)
            case LeftJoin(left, right, condition):
                inner = self._opened(right)
                if condition is not None:
                    inner.append(f"FILTER {self.constraint(condition)}")
                return [*self._opened(left), f"OPTIONAL {{ {' '.join(inner)} }}"]
            case Minus(left, right):
                return [*self._opened(left), f"MINUS {{ {self.group(right)} }}"]
            case Filter(condition, source):
                return [*self._opened(source), f"FILTER {self.constraint(condition)}"]
            case Extend(source, variable, expression):
                bind = f"BIND({self.expression(expression)} AS {self.name(variable)})"
                return [*self._opened(source), bind]
            case _:
                return [self._element(operator)]

    def _element(self, operator: Operator) -> str:
        """An operator as one element of a group."""
        match operator:
            case Union(branches):
                groups = (f"{{ {self.group(branch)} }}" for branch in branches)
                return " UNION ".join(groups) or "VALUES () { }"
            case Values():
                return self.values(operator)
            case Graph(name, source):
                return f"GRAPH {self.term(name)} {{ {self.group(source)} }}"
            case Service(endpoint, source, silent, budget):
                if budget is not None:
                    raise _local("a SERVICE with a budget", operator)
                word = "SERVICE SILENT" if silent else "SERVICE"
                return f"{word} {self.term(endpoint)} {{ {self.group(source)} }}"
            case Window():
                raise _local("a window of a stream", operator)
            case Temporal():
                raise _local(operator.relation.upper(), operator)
            case Annotate():
                raise _local("AGGREGATE", operator)
            case _:
                return f"{{ {self.group(operator)} }}"

    def _triples(self, bgp: Bgp) -> list[str]:
        lines = []
        for each in bgp.patterns:
            if isinstance(each, TriplePattern):
                lines.append(self.triple(each.subject, each.predicate, each.object))
            else:
                ends = self.term(each.subject), self.term(each.object)
                lines.append(f"{ends[0]} {self.path(each.path)} {ends[1]}")
        return [" . ".join(lines)] if lines else []

    def _join(self, left: Operator, right: Operator) -> list[str]:
        before = self._opened(left)
        # Two patterns of triples side by side would be read as one.
        if isinstance(right, Bgp) and right.patterns and not _ends_in_triples(left):
            return [*before, *self._triples(right)]
        return [*before, self._element(right)]

    def _opened(self, operator: Operator) -> list[str]:
        """The elements that mean an operator where others follow in the same group."""
        if isinstance(operator, Filter) or _is_level(operator):
            # A filter is about its whole group, and a subquery is alone in one.
            return [f"{{ {self.group(operator)} }}"]
        return self._elements(operator)

    # -- subqueries ------------------------------------------------------------------------

    def _level(self, operator: Operator) -> str:
        if isinstance(operator, Group):
            return self._grouped_alone(operator)
        level = Level.of(operator)
        grouping = Grouping.of(level)
        if grouping is not None:
            return self._grouped(level, grouping)
        return (
            f"SELECT {level.quantifier}{self.columns(level.columns)}"
            f" WHERE {{ {self.group(level.pattern)} }}" + self._modifiers(level, level.order)
        )

    def _grouped(self, level: Level, grouping: Grouping) -> str:
        computed = dict(grouping.computed)
        columns = [
            f"({self.expression(grouping.spelled(computed[each]))} AS {self.name(each)})"
            if each in computed
            else self.name(each)
            for each in level.columns
        ]
        having = ""
        if grouping.having is not None:
            having = f" HAVING {self.constraint(grouping.spelled(grouping.having))}"
        order = tuple(
            OrderKey(grouping.spelled(key.expression), key.descending) for key in level.order
        )
        return (
            f"SELECT {level.quantifier}{' '.join(columns)}"
            f" WHERE {{ {self.group(grouping.group.input)} }}"
            + self._keys(grouping.group)
            + having
            + self._modifiers(level, order)
        )

    def _grouped_alone(self, group: Group) -> str:
        """A grouping as a subquery whose columns are its keys and its aggregates."""
        columns = [*map(self.name, group.keys)]
        columns += [
            f"({self.aggregate(call)} AS {self.name(name)})" for name, call in group.aggregates
        ]
        selected = " ".join(columns) or f"(COUNT(*) AS ?{self.unused()})"
        return f"SELECT {selected} WHERE {{ {self.group(group.input)} }}{self._keys(group)}"

    def _keys(self, group: Group) -> str:
        return f" GROUP BY {' '.join(map(self.name, group.keys))}" if group.keys else ""

    def _modifiers(self, level: Level, order: tuple[OrderKey, ...]) -> str:
        text = ""
        if order:
            keys = (
                f"{'DESC' if key.descending else 'ASC'}{self.constraint(key.expression)}"
                for key in order
            )
            text += f" ORDER BY {' '.join(keys)}"
        if level.limit is not None:
            text += f" LIMIT {level.limit}"
        return text + (f" OFFSET {level.offset}" if level.offset else "")


def _is_level(operator: Operator) -> bool:
    return isinstance(operator, Group | OrderBy | Project | Distinct | Reduced | Slice)


def _ends_in_triples(operator: Operator) -> bool:
    match operator:
        case Bgp():
            return bool(operator.patterns)
        case Join(left, right):
            return isinstance(right, Bgp) and bool(right.patterns) and not _ends_in_triples(left)
        case _:
            return False


def _local(what: str, operator: Service | Window | Temporal | Annotate) -> UnsupportedError:
    hint = "move it out of the SERVICE"
    name = type(operator).__name__.lower()
    return UnsupportedError(f"{what} cannot be sent to a remote endpoint ({name})", hint=hint)
