import assert from "node:assert/strict";
import test from "node:test";
import { bytes, duration, moment, number, plural } from "../src/format";
import { offsetIn } from "../src/offsets";
import { numeric, prefixes, shortened, text } from "../src/terms";

test("offsets in code points are offsets of the editor", () => {
  assert.equal(offsetIn("a😀b", 0), 0);
  assert.equal(offsetIn("a😀b", 2), 3);
  assert.equal(offsetIn("ab", 9), 2);
});

test("IRIs are as short as the query allows", () => {
  const names = prefixes("PREFIX ex: <http://example.org/>\nPREFIX deep: <http://example.org/deep#> SELECT * { }");
  assert.equal(shortened("http://example.org/deep#x", names), "deep:x");
  assert.equal(shortened("http://example.org/x", names), "ex:x");
  assert.equal(shortened("http://example.org/x y", names), "<http://example.org/x y>");
  assert.equal(shortened("http://www.w3.org/2001/XMLSchema#integer", names), "xsd:integer");
});

test("terms as text", () => {
  const triple = { subject: { type: "uri" as const, value: "x:s" }, predicate: { type: "uri" as const, value: "x:p" }, object: { type: "literal" as const, value: "o" } };
  assert.equal(text({ type: "triple", value: triple }), "<< <x:s> <x:p> o >>");
  assert.equal(text({ type: "bnode", value: "b1" }), "_:b1");
  assert.equal(numeric({ type: "literal", value: "INF", datatype: "http://www.w3.org/2001/XMLSchema#double" }), null);
});

test("figures for people", () => {
  assert.equal(duration(61_000), "1 min 1 s");
  assert.equal(duration(60_000), "1 min");
  assert.equal(duration(400), "400 ms");
  assert.equal(bytes(51_200), "51 kB");
  assert.equal(number(0.000012), "1.200e-5");
  assert.equal(plural(1, "row"), "1 row");
  assert.equal(moment(null), "–");
});
