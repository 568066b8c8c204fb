import assert from "node:assert/strict";
import test from "node:test";
import { alone, KEPT_EVALUATIONS, KEPT_ROWS, position, Results, series, type Evaluation } from "../src/results";
import type { Row, Term } from "../src/terms";

const XSD = "http://www.w3.org/2001/XMLSchema#";
const integer = (value: number): Term => ({ type: "literal", value: String(value), datatype: `${XSD}integer` });
const word = (value: string): Term => ({ type: "literal", value });
const iri = (value: string): Term => ({ type: "uri", value });
const evaluation = (at: number, rows: Row[]): Evaluation => ({ at, bounds: [], rows, remarks: [] });

function filled(variables: string[], ...rows: Row[][]): Results {
  const results = new Results();
  results.variables = variables;
  rows.forEach((each, at) => results.add(evaluation(at * 1000, each)));
  return results;
}

test("numbers are drawn by what names them", () => {
  const results = filled(["gate", "n"], [{ gate: iri("x:a"), n: integer(1) }, { gate: iri("x:b"), n: integer(2) }], [{ gate: iri("x:a"), n: integer(3) }]);
  assert.deepEqual(results.columns(), { numbers: ["n"], keys: ["gate"], place: null });
  const { times, lines, left } = series(results, "n", "gate", 8);
  assert.deepEqual(times, [0, 1000]);
  assert.deepEqual(lines, [{ name: "x:a", values: [1, 3] }, { name: "x:b", values: [2, null] }]);
  assert.equal(left, 0);
});

test("a number that is only text is no number", () => {
  assert.deepEqual(filled(["n"], [{ n: word("7") }]).columns().numbers, []);
});

test("places are found by their names or as points", () => {
  const named = filled(["who", "lat", "long"], [{ who: iri("x:a"), lat: word("46.2"), long: word("6.1") }]);
  assert.deepEqual(named.columns(), { numbers: [], keys: ["who"], place: { latitude: "lat", longitude: "long" } });
  assert.deepEqual(position({ lat: word("46.2"), long: word("6.1") }, { latitude: "lat", longitude: "long" }), [46.2, 6.1]);
  const point = filled(["where"], [{ where: word("POINT(6.1 46.2)") }]);
  assert.deepEqual(point.columns().place, { point: "where" });
  assert.deepEqual(position({ where: word("POINT(6.1 46.2)") }, { point: "where" }), [46.2, 6.1]);
});

test("what is kept is bounded", () => {
  const results = new Results();
  results.variables = ["n"];
  const rows = Array.from({ length: 300 }, (_, at) => ({ n: integer(at) }));
  for (let at = 0; at < 2 * KEPT_EVALUATIONS; at += 1) results.add(evaluation(at, rows));
  assert.ok(results.evaluations.length <= KEPT_EVALUATIONS);
  assert.ok(results.rows <= KEPT_ROWS);
  assert.equal(results.rows, results.evaluations.length * rows.length);
  assert.equal(results.seen, 2 * KEPT_EVALUATIONS);
});

test("lines that have values now are drawn before those that had more", () => {
  const row = (name: string): Row => ({ car: iri(`x:${name}`), n: integer(1) });
  const early = Array.from({ length: 30 }, () => [row("gone")]);
  const late = Array.from({ length: 20 }, (_, at) => (at % 2 ? [row("here"), row("seldom")] : [row("here")]));
  const { lines, left } = series(filled(["car", "n"], ...early, ...late), "n", "car", 2);
  assert.deepEqual(lines.map(({ name }) => name), ["x:here", "x:seldom"]);
  assert.equal(left, 1);
});

test("values with none beside them are found", () => {
  assert.deepEqual(alone([1, null, 2, 3, null, null, 4]), [0, 6]);
  assert.deepEqual(alone([null, 5, null]), [1]);
  assert.deepEqual(alone([1, 2]), []);
});
