// Why nothing comes out, in a sentence: the commonest question about continuous queries.
import type { Query, Status, Stream } from "./api";
import { duration, plural } from "./format";
import { lastPart } from "./terms";

export interface Reason {
  tone: "good" | "wait" | "bad";
  text: string;
  advice: string;
}

const QUIET = 20;

/** What keeps a query from giving rows, if anything does. */
export function reason(query: Query, status: Status): Reason {
  if (query.state === "stopped") return { tone: "bad", text: `It has stopped: ${query.error ?? "it failed"}.`, advice: "Remove it, correct the text and register it again." };
  if (query.state === "paused") return { tone: "wait", text: "It is paused.", advice: "Resume it: it sees what comes from then on." };
  if (status.problem) return { tone: "bad", text: status.problem, advice: "The server cannot go on before this is mended." };
  const alert = query.alerts[0];
  if (alert) return { tone: "bad", text: `It cannot keep its contract with ${alert.endpoint}: ${alert.problem ?? "it is broken"}.`, advice: `Its answers go on, estimated to be ${Math.round(100 * alert.accuracy)} % accurate and ${Math.round(100 * alert.completeness)} % complete.` };
  const streams = query.streams.map((iri) => status.streams.find((stream) => stream.iri === iri));
  const silent = streams.filter((stream): stream is Stream => stream?.elements === 0);
  if (silent.length && silent.length === streams.length)
    return { tone: "wait", text: `Nothing has come on ${named(silent)} yet.`, advice: "Push an element on the Streams page, or start the demo that feeds it." };
  if (query.evaluations === 0)
    return { tone: "wait", text: "No window has closed since it was registered.", advice: "A window closes when its streams have come past its end. Give it the width of one step." };
  const stopped = streams.filter((stream): stream is Stream => !!stream && stream.rate === 0 && (stream.lag ?? 0) > QUIET);
  if (stopped.length && stopped.length === streams.length) {
    const lag = Math.min(...stopped.map((stream) => stream.lag ?? 0));
    return { tone: "wait", text: `${named(stopped)} ${stopped.length === 1 ? "has" : "have"} been quiet for ${duration(lag * 1000)}.`, advice: "Windows close only as event time moves on. Push more, or send a heartbeat." };
  }
  if (query.overloaded) return { tone: "wait", text: "The server cannot keep up with this query.", advice: "Longer steps, narrower windows or fewer queries help." };
  if (query.rows === 0)
    return { tone: "wait", text: `${plural(query.evaluations, "window has", "windows have")} closed, and nothing in them matched.`, advice: "Compare the patterns with what flows on the stream: its latest elements are on the Streams page." };
  if (query.last?.rows === 0) return { tone: "good", text: "It runs. The last window was empty.", advice: "" };
  return { tone: "good", text: "It runs.", advice: "" };
}

function named(streams: Stream[]): string {
  return streams.map((stream) => stream.title ?? lastPart(stream.iri)).join(" and ");
}
