import assert from "node:assert/strict";
import test from "node:test";
import type { Query, Refusal, Status, Stream } from "../src/api";
import { reason, refusals } from "../src/why";

const stream = { name: "cars", iri: "x:cars", title: "Cars", elements: 10, late: 0, rejected: 0, rate: 2, lag: 0.2, queries: [] } as unknown as Stream;
const query = { name: "q", state: "running", error: null, streams: ["x:cars"], evaluations: 3, rows: 5, overloaded: false, alerts: [], notes: [], last: { id: 1, at: 1, rows: 2 } } as unknown as Query;
const status = (streams: Stream[]) => ({ problem: null, streams }) as unknown as Status;
const said = (changed: Partial<Query>, changedStream: Partial<Stream> = {}) => reason({ ...query, ...changed }, status([{ ...stream, ...changedStream }]));

test("each reason for silence has its words", () => {
  assert.equal(said({}).tone, "good");
  assert.match(said({ state: "paused" }).text, /paused/);
  const stalled = reason({ ...query, state: "stalled" }, { problem: "cannot write /data/source.log: No space left on device; make room there", streams: [stream] } as unknown as Status);
  assert.equal(stalled.tone, "bad");
  assert.match(stalled.text, /stands still: cannot write \/data\/source.log.*make room there/);
  assert.match(said({ state: "stopped", error: "too many rows" }).text, /too many rows/);
  const note = { code: "unknown-predicate", severity: "warning" as const, text: "'q' looks for <x:p>: did you mean <x:P>?" };
  assert.deepEqual(said({ notes: [note] }), { tone: "wait", text: note.text, advice: "" });
  const bad = { code: "all-rejected", severity: "error" as const, text: "all elements of <x:s> were rejected" };
  assert.deepEqual(said({ notes: [bad] }), { tone: "bad", text: "All elements of <x:s> were rejected.", advice: "" });
  assert.match(said({ evaluations: 0 }).text, /No window has closed/);
  assert.match(said({ rows: 0 }).text, /nothing in them matched/);
  assert.match(said({}, { rate: 0, lag: 120 }).text, /quiet for 2 min/);
  assert.match(said({ overloaded: true }).text, /cannot keep up/);
  const alert = { endpoint: "http://e.x/sparql", at: 1, problem: "it does not answer", accuracy: 0.5, completeness: 0.25 };
  assert.match(said({ alerts: [alert] }).text, /contract with http:\/\/e\.x\/sparql: it does not answer/);
  assert.match(said({ alerts: [alert] }).advice, /50 % accurate and 25 % complete/);
});

test("each refusal has its line, and many are counted", () => {
  const refusal = (stream: string): Refusal => ({ requests: `pushes to stream '${stream}'`, reason: "cannot write a.log: No space left on device", status: 503, limit: null, is_ready: false });
  assert.equal(refusals([refusal("a")]), "Pushes to stream 'a' are refused: cannot write a.log: No space left on device.");
  assert.equal(refusals(["a", "b", "c", "d"].map(refusal)).split("\n").at(-1), "1 more kind of requests is refused.");
  assert.equal(refusals(["a", "b", "c", "d", "e"].map(refusal)).split("\n").at(-1), "2 more kinds of requests are refused.");
});
