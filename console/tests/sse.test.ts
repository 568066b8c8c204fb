import assert from "node:assert/strict";
import test from "node:test";
import { EventParser } from "../src/sse";

const TEXT = 'retry: 1000\n\nevent: head\ndata: {"a":1}\n\n: keep-alive\n\nid: 17\r\nevent: rsp_window\r\ndata: one\r\ndata: two\r\n\r\ndata: ümlaut\r\r';
const WANTED = [
  { id: null, event: "head", data: '{"a":1}' },
  { id: "17", event: "rsp_window", data: "one\ntwo" },
  { id: "17", event: "message", data: "ümlaut" },
];

test("events are the same however the text is cut", () => {
  for (let size = 1; size < TEXT.length; size += 1) {
    const parser = new EventParser();
    const found = [];
    for (let at = 0; at < TEXT.length; at += size) found.push(...parser.push(TEXT.slice(at, at + size)));
    found.push(...parser.push("\n"));
    assert.deepEqual(found, WANTED, `in pieces of ${size}`);
  }
});

test("an event that was not ended is not there yet", () => {
  assert.deepEqual(new EventParser().push("data: half"), []);
});
