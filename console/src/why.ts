// Why nothing comes out, in a sentence: the notes of the server, which all front ends show.
import type { Query, Refusal, Status, Stream } from "./api";
import { duration, plural } from "./format";
import { lastPart } from "./terms";

export interface Reason {
  tone: "good" | "wait" | "bad";
  text: string;
  advice: string;
}

const QUIET = 20;
const SHOWN = 3;

/** What keeps a query from giving rows, if anything does. */
export function reason(query: Query, status: Status): Reason {
  if (query.state === "stopped") return { tone: "bad", text: `It has stopped: ${query.error ?? "it failed"}.`, advice: "Remove it, correct the text and register it again." };
  if (query.state === "paused") return { tone: "wait", text: "It is paused.", advice: "Resume it: it sees what comes from then on." };
  if (status.problem) return { tone: "bad", text: `It stands still: ${status.problem}.`, advice: "The server tries again by itself, and what is pushed meanwhile is read then." };
  if (query.state === "starting") return { tone: "wait", text: "The server is starting.", advice: "" };
  const alert = query.alerts[0];
  if (alert) return { tone: "bad", text: `It cannot keep its contract with ${alert.endpoint}: ${alert.problem ?? "it is broken"}.`, advice: `Its answers go on, estimated to be ${Math.round(100 * alert.accuracy)} % accurate and ${Math.round(100 * alert.completeness)} % complete.` };
  const note = query.notes[0];
  if (note) return { tone: note.severity === "error" ? "bad" : "wait", text: sentence(note.text), advice: "" };
  const streams = query.streams.map((iri) => status.streams.find((stream) => stream.iri === iri));
  const stopped = streams.filter((stream): stream is Stream => !!stream && stream.rate === 0 && (stream.lag ?? 0) > QUIET);
  if (stopped.length && stopped.length === streams.length) {
    const lag = Math.min(...stopped.map((stream) => stream.lag ?? 0));
    return { tone: "wait", text: `${named(stopped)} ${stopped.length === 1 ? "has" : "have"} been quiet for ${duration(lag * 1000)}.`, advice: "Windows close only as event time moves on. Push more, or send a heartbeat." };
  }
  if (query.overloaded) return { tone: "wait", text: "The server cannot keep up with this query.", advice: "Longer steps, narrower windows or fewer queries help." };
  if (query.evaluations === 0) return { tone: "wait", text: "It runs. No window has closed since it was registered.", advice: "" };
  if (query.rows === 0) return { tone: "good", text: `It runs. ${plural(query.evaluations, "window has", "windows have")} closed, and nothing in them matched.`, advice: "" };
  if (query.last?.rows === 0) return { tone: "good", text: "It runs. The last window was empty.", advice: "" };
  return { tone: "good", text: "It runs.", advice: "" };
}

/** What the server refuses now, a line each: the worst first, and not very many. */
export function refusals(refused: Refusal[]): string {
  const lines = refused.slice(0, SHOWN).map(({ requests, reason }) => sentence(`${requests} are refused: ${reason}`));
  if (refused.length > SHOWN) lines.push(`${plural(refused.length - SHOWN, "more kind of requests is", "more kinds of requests are")} refused.`);
  return lines.join("\n");
}

/** A note of the server as a sentence of its own. */
function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.?]$/.test(text) ? "" : "."}`;
}

function named(streams: Stream[]): string {
  return streams.map((stream) => stream.title ?? lastPart(stream.iri)).join(" and ");
}
