"""Reading texts: RDF-star in both modes, blank nodes, and what is told about bad data."""

from __future__ import annotations

import re

import pytest

from headrace.errors import DataError, InternalError, SettingError
from headrace.rdf.formats import Format
from headrace.rdf.options import Limits, ReadOptions, StarMode
from headrace.rdf.reading import read
from headrace.rdf.scopes import Scope
from headrace.rdf.terms import BlankNode, Iri, Literal, Quad, QuotedTriple
from headrace.rdf.vocabulary import RDF_REIFIES, XSD
from headrace.rdf.writing import to_nquads

PREFIX = "PREFIX : <x:>\n"
A, B, C, D = (Iri(f"x:{name}") for name in "abcd")
RDF12 = ReadOptions(star=StarMode.RDF12)
DOCUMENTS = (Format.TURTLE, Format.TRIG)


def told(text: str | bytes, syntax: Format, options: ReadOptions | None = None) -> list[str]:
    """What is read and what is told, in order, as lines."""
    lines = list[str]()
    quads = read(
        text,
        syntax,
        options=options or ReadOptions(),
        on_error=lambda error: lines.append(f"! {error}"),
    )
    for quad in quads:
        lines.append(to_nquads([quad]).strip())
    return lines


@pytest.mark.parametrize("syntax", DOCUMENTS)
def test_quoted_triples_are_terms(syntax: Format) -> None:
    text = f"{PREFIX}<< :a :b :c >> :b << :a :b << :c :b 1 >> >> ; :c [] ."
    quoted = QuotedTriple(A, B, C)
    inner = QuotedTriple(C, B, Literal("1", XSD + "integer"))
    assert list(read(text, syntax)) == [
        Quad(quoted, B, QuotedTriple(A, B, inner)),
        Quad(quoted, C, BlankNode("genid-0")),
    ]


def test_an_annotation_asserts_and_annotates() -> None:
    text = f"{PREFIX}:a :b :c {{| :d 1 {{| :d 2 |}} ; :b :b |}} ."
    one, two = (Literal(str(n), XSD + "integer") for n in (1, 2))
    first = QuotedTriple(A, B, C)
    assert list(read(text, Format.TURTLE)) == [
        Quad(A, B, C),
        Quad(first, D, one),
        Quad(QuotedTriple(first, D, one), D, two),
        Quad(first, B, B),
    ]


def test_a_quoted_triple_said_twice_is_one_term() -> None:
    text = f"{PREFIX}<< :a :b :c >> :d 1 . << :a :b :c >> :d 1 ."
    assert len(set(read(text, Format.TURTLE))) == 1


def test_quoted_triples_stay_in_their_graph() -> None:
    text = f"{PREFIX}:g {{ << :a :b :c >> :d 1 }} << :a :b :c >> :d 1 ."
    graphs = [quad.graph for quad in read(text, Format.TRIG)]
    assert graphs == [Iri("x:g"), None]


def test_a_reifier_that_is_written_out_is_kept() -> None:
    text = f"{PREFIX}[] <{RDF_REIFIES}> << :a :b :c >> ."
    [quad] = read(text, Format.TURTLE)
    assert quad == Quad(BlankNode("genid-0"), Iri(RDF_REIFIES), QuotedTriple(A, B, C))


ONLY_RDF12 = {
    "triple term": (":a :b <<( :a :b :c )>> .", 7),
    "named reifier": (":a :b :c ~ :r .", 10),
    "named reifier of a quoted triple": ("<< :a :b :c ~ :r >> :b 1 .", 13),
    "two annotations": (":a :b :c {| :b 1 |} # and\n {| :b 2 |} .", 18),
    "version": ('VERSION "1.2"', 1),
    "version in lower case, after a comment": ('version # x\n "1.2"', 1),
    "version directive": ('@version "1.2" .', 1),
    "base direction": (':a :b "x"@en-GB--ltr .', 10),
}


@pytest.mark.parametrize("syntax", DOCUMENTS)
@pytest.mark.parametrize("kind", ONLY_RDF12)
def test_what_only_rdf12_has_is_refused(kind: str, syntax: Format) -> None:
    text, column = ONLY_RDF12[kind]
    with pytest.raises(DataError, match=r"RDF 1\.2") as raised:
        list(read(PREFIX + text, syntax))
    assert (raised.value.line, raised.value.column) == (2, column)
    if kind != "base direction":
        list(read(PREFIX + text, syntax, options=RDF12))


@pytest.mark.parametrize(
    "text",
    [
        ":a :b <x:~> , '<<( ~ @en--ltr' . # ~ <<( VERSION \"1.2\"",
        ':a\\~b :VERSION "1.2" .',
        ':a-version :b ":version" , "x"@version .',
        "PREFIX version: <x:> version:a version:version 'version' .",
        ":a :b :c {| :b 1 |} , :d {| :b 1 |} .",
        ":a :b <x:--ltr> , 'x'@en-GB .",
    ],
)
def test_what_only_looks_like_rdf12_is_read(text: str) -> None:
    quads = list(read(PREFIX + text, Format.TURTLE))
    assert quads == list(read(PREFIX + text, Format.TURTLE, options=RDF12)) or "{|" in text


def test_a_quoted_triple_alone_is_no_statement() -> None:
    problem = "expected a statement about a quoted triple"
    assert problem in told(PREFIX + ":a :b :c . << :a :b :c >> .", Format.TURTLE)[0]
    assert list(read(PREFIX + "<< :a :b :c >> .", Format.TURTLE, options=RDF12))


def test_in_rdf12_a_quoted_triple_is_a_reifier() -> None:
    [said, reifies] = read(f"{PREFIX}:a :b << :a :b :c >> .", Format.TURTLE, options=RDF12)
    assert said == Quad(A, B, BlankNode("genid-0"))
    assert reifies == Quad(BlankNode("genid-0"), Iri(RDF_REIFIES), QuotedTriple(A, B, C))
    [quad] = read("<x:a> <x:b> <<( <x:a> <x:b> _:c )>> .", Format.N_TRIPLES, options=RDF12)
    assert quad.object == QuotedTriple(A, B, BlankNode("c"))


@pytest.mark.parametrize("syntax", [Format.N_TRIPLES, Format.TURTLE, Format.TRIG, Format.N_QUADS])
@pytest.mark.parametrize("options", [ReadOptions(), RDF12])
def test_text_with_a_base_direction_is_not_supported(syntax: Format, options: ReadOptions) -> None:
    with pytest.raises(DataError, match="direction"):
        list(read('<x:a> <x:b> "c"@en--ltr .', syntax, options=options))


def test_json_ld_with_a_base_direction_is_not_supported() -> None:
    text = '{"x:b": {"@value": "v", "@language": "en", "@direction": "ltr"}, "x:c": "d"}'
    assert told(text, Format.JSON_LD) == [
        '! text with a base direction is not supported, found "v"@en--ltr',
        '_:genid-0 <x:c> "d" .',
    ]


SEVERAL_NODES = """
PREFIX : <x:>
_:a :b [ :c _:genid-0 , [] ] , (1 _:genid--0) .
<< [] :b [] >> :c _:abcdef0123456789abcdef0123456789 .
"""


@pytest.mark.parametrize("options", [ReadOptions(), RDF12])
def test_a_text_read_again_has_the_same_blank_nodes(options: ReadOptions) -> None:
    first = list(read(SEVERAL_NODES, Format.TURTLE, options=options))
    assert first == list(read(SEVERAL_NODES, Format.TURTLE, options=options))
    nodes = set(re.findall(r"_:[^ ]+", to_nquads(first)))
    labelled = {"_:a", "_:genid--0", "_:genid---0", "_:abcdef0123456789abcdef0123456789"}
    assert labelled < nodes
    anonymous = 6 if options.star is StarMode.COMMUNITY else 7
    assert nodes - labelled == {f"_:genid-{n}" for n in range(anonymous)}


JSON_LD = '{"@id": "_:q", "x:a": [{"x:b": {}}, {"@list": [{}, "x"]}], "x:c": {"@id": "_:q"}}'
NESTED_XML = (
    '<r:RDF xmlns:r="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="x:">'
    '<e:T><e:p r:nodeID="n"/><e:q><e:T/></e:q></e:T></r:RDF>'
)


@pytest.mark.parametrize(
    ("text", "syntax"), [(JSON_LD, Format.JSON_LD), (NESTED_XML, Format.RDF_XML)]
)
def test_every_format_is_read_again_with_the_same_blank_nodes(text: str, syntax: Format) -> None:
    options = ReadOptions(rdf_xml=True)
    first = list(read(text, syntax, scope=Scope("7"), options=options))
    assert first == list(read(text, syntax, scope=Scope("7"), options=options))
    assert {"7.genid-0", "7.genid-1"} < set(re.findall(r"_:([^ ]+)", to_nquads(first)))


def test_scopes_keep_nodes_apart() -> None:
    text = "_:a <x:b> [] ."
    [one] = read(text, Format.TURTLE, scope=Scope("1"))
    assert one == Quad(BlankNode("1.a"), B, BlankNode("1.genid-0"))
    [two] = read(text, Format.TURTLE, scope=Scope("2", labels="s"))
    assert two == Quad(BlankNode("s.a"), B, BlankNode("2.genid-0"))
    [three] = read("_:2.genid-0 <x:b> [] .", Format.TURTLE, scope=Scope("2", labels=""))
    assert three.subject != three.object
    with pytest.raises(InternalError):
        Scope("a b")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('"01"^^<x:t>', Literal("01", "x:t")),
        ("01", Literal("01", XSD + "integer")),
        ("+1.50", Literal("+1.50", XSD + "decimal")),
        ("1E0", Literal("1E0", XSD + "double")),
        ("'x'@EN-gb", Literal("x", language="en-gb")),
        ("'x\\u0000\\U0001F600'", Literal("x\0\U0001f600")),
    ],
)
def test_literals_keep_their_form(text: str, expected: Literal) -> None:
    [quad] = read(f"<x:a> <x:b> {text} .", Format.TURTLE)
    assert quad.object == expected


LINES = """\
<x:a> <x:b> <x:c> .
<x:a> <x:b> bad .
<x:a> <x:b> "not closed .
<x:a> <x:b> "\\uD800" .
<< <x:a> <x:b> "\\uD800" >> <x:b> <x:c> .
<x:a> <x:b> <x:c> . <x:a> <x:b> <x:d> .
<< <x:a> <x:b> <x:c> >> <x:b> <y> .
<< <x:a> <x:b> <x:c> >> <x:b> "c"@abcdefghi .
<< <x:a> <x:b> <x:c> >> <x:b> "c" . more
<< "a" <x:b> <x:c> >> <x:b> "c" .
<x:a> << <x:a> <x:b> <x:c> >> "c" .
<x:a> <x:b> <<( <x:a> <x:b> <x:c> )>> .
<x:a> <x:b> <x:c> <x:d> <x:e> .
# << a comment
<< <x:a> <x:b> <x:c> >> <x:b> "\\t\\u00e9\\\\"^^<x:t> . # fine
"""
LINES_TOLD = """\
<x:a> <x:b> <x:c> .
! 2:13: the object of a triple must be an IRI, a blank node or a literal, found 'bad'
! 3:13: expected the end of what starts here, found the end of the text
! 4:14: the escape sequence '\\uD800' is encoding D800 that is not a valid unicode character
! 5:17: expected the code of a character, found '\\\\uD800"'
! 6:21: only a single triple or quad can be written in a line, found IriRef("x:a")
! 7:31: expected an absolute IRI: No scheme found in an absolute IRI, found '<y>'
! 8:35: expected a language tag: A subtag may be eight characters in length at maximum, found \
'abcdefghi'
! 9:36: expected the end of the line after '.', found 'more'
! 10:4: expected a subject: an IRI, a blank node or a quoted triple, found '"a"'
! 11:7: expected a predicate: an IRI, found '<<'
! 12:13: expected an object: an IRI, a blank node, a literal or a quoted triple, found '<<('
! 13:25: quads must be followed by a dot, found '<x:e>'
<< <x:a> <x:b> <x:c> >> <x:b> "\\t\u00e9\\\\"^^<x:t> .
"""


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_a_bad_line_leaves_the_others_readable(newline: str) -> None:
    text = LINES.replace("\n", newline)
    assert told(text, Format.N_QUADS) == LINES_TOLD.splitlines()
    assert told(text.encode(), Format.N_QUADS) == LINES_TOLD.splitlines()


def test_bad_bytes_leave_the_other_lines_readable() -> None:
    data = b'<x:a> <x:b> "\xff" .\n<x:a> <x:b> "c" .\n<x:a> <x:b> \x00 .\n'
    found = told(data, Format.N_TRIPLES)
    assert found[0] == "! 1:14: expected UTF-8, found the byte 0xFF"
    assert found[1] == '<x:a> <x:b> "c" .'
    assert found[2].startswith("! 3:13:")
    assert told("<x:a> <x:b> '\ud800' .", Format.TURTLE) == [
        "! 1:14: expected a character, found the half of one, U+D800"
    ]
    assert told(b"<x:a>\n<x:b> '\xc3\xa9\xff' .", Format.TURTLE) == [
        "! 2:9: expected UTF-8, found the byte 0xFF"
    ]


def test_many_lines_are_read_in_order_whatever_they_hold() -> None:
    plain = [f'<x:a> <x:b> "{n}" .' for n in range(2500)]
    plain[1200] = "<< <x:a> <x:b> <x:c> >> <x:b> <x:c> ."
    plain[2400] = "bad"
    found = told("\n".join(plain), Format.N_TRIPLES)
    assert found[:2400] == plain[:2400]
    assert found[2400].startswith("! 2401:1:")
    assert found[2401:] == plain[2401:]


def test_turtle_is_read_on_after_an_error() -> None:
    text = (
        f"{PREFIX}:a :b bad .\n:a :b :c ; :d .\n:lost :b :c .\n:a :b ' . :evil :evil :evil . ' .\n"
    )
    assert told(text, Format.TURTLE) == [
        "! 2:7: bad is not a valid RDF object",
        "<x:a> <x:b> <x:c> .",
        "! 3:15: . is not a valid RDF object; the next statement is skipped",
        '<x:a> <x:b> " . :evil :evil :evil . " .',
    ]


@pytest.mark.parametrize(
    "text",
    [
        ":a :b 'not closed .\n:c :d 'hello . :evil :evil :evil . ' .",
        ":a :b\\' bad ' . :evil :evil :evil . ' .",
        ":a :b% 'x . :evil :evil :evil . ' .",
        "@base <x y> . :a :b <c> .",
        "PREFIX : bad . :a :b :c .",
        "@prefix : <x:%zz> . :a :b :c .",
    ],
)
def test_turtle_is_not_read_on_where_it_might_be_misread(text: str) -> None:
    [problem] = told(PREFIX + text, Format.TURTLE, ReadOptions(base="x:/"))
    assert problem.startswith("! 2:")
    assert problem.endswith("; the rest of the document is not read")


@pytest.mark.parametrize(
    ("text", "syntax"),
    [
        (f"{PREFIX}:a :b :c . :g {{ :a bad :b . :d :d :d . }} :d :d :d .", Format.TRIG),
        (NESTED_XML.replace("<e:q>", "<e:x>"), Format.RDF_XML),
        ('{"@id": "x:a", "x:b": [1, 2,], "x:d": "d"}', Format.JSON_LD),
    ],
)
def test_other_documents_are_not_read_on(text: str, syntax: Format) -> None:
    found = told(text, syntax, ReadOptions(rdf_xml=True))
    assert found[-1].endswith("; the rest of the document is not read")
    assert sum(line.startswith("!") for line in found) == 1


def test_a_document_of_errors_is_given_up() -> None:
    found = told(PREFIX + "bad .\n" * 500, Format.TURTLE, ReadOptions(limits=Limits(errors=7)))
    assert len(found) == 7
    assert found[-1].endswith("not read")


def test_errors_have_the_name_of_the_text() -> None:
    for syntax in (Format.N_TRIPLES, Format.TURTLE, Format.TIMED_N_QUADS, Format.JSON_LD):
        with pytest.raises(DataError) as raised:
            list(read("bad", syntax, name="a.txt"))
        assert raised.value.name == "a.txt"
        assert str(raised.value).startswith("a.txt:1:1: ")


def test_a_base_must_be_absolute() -> None:
    with pytest.raises(SettingError, match="expected an absolute IRI as base"):
        list(read("<a> <b> <c> .", Format.TURTLE, options=ReadOptions(base="a")))
    [quad] = read("<a> <#b> <> .", Format.TURTLE, options=ReadOptions(base="http://e/d/f"))
    assert quad == Quad(Iri("http://e/d/a"), Iri("http://e/d/f#b"), Iri("http://e/d/f"))


def test_a_byte_order_mark_is_passed_over() -> None:
    for syntax in (Format.N_TRIPLES, Format.TURTLE):
        assert list(read("\ufeff<x:a> <x:b> <x:c> .".encode(), syntax)) == [Quad(A, B, C)]
        assert list(read("\ufeff<x:a> <x:b> <x:c> .", syntax)) == [Quad(A, B, C)]
