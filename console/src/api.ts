// The HTTP interface of the server, as the console uses it.
import type { Problem } from "./editor";
import { EventParser, type ServerEvent } from "./sse";
import { token } from "./settings";
import type { Row, Term } from "./terms";

export interface Stream {
  name: string;
  iri: string;
  title: string | null;
  description: string | null;
  time: string;
  delay: string | null;
  kind: "pushed" | "derived";
  url: string;
  elements: number;
  late: number;
  rejected: number;
  high: number | null;
  lag: number | null;
  rate: number;
  rates: number[];
  log_bytes: number;
  log_quota: number;
  queries: string[];
  notes: Note[];
}

/** A contract with an endpoint that is not kept; or is again, if there is no problem. */
export interface Alert {
  endpoint: string;
  at: number;
  problem: string | null;
  accuracy: number;
  completeness: number;
}

/** Why a query gives no rows, or what else should be known about it. */
export interface Note {
  code: string;
  severity: "error" | "warning" | "info";
  text: string;
  query?: string;
  stream?: string;
  subject?: string;
}

export interface Query {
  name: string;
  state: "starting" | "running" | "stalled" | "paused" | "stopped";
  error: string | null;
  text: string;
  dialect: string;
  form: "select" | "ask" | "construct" | "describe";
  vars: string[];
  summary: string;
  streams: string[];
  stream: string | null;
  registered: number;
  evaluations: number;
  failed: number;
  rows: number;
  skipped: number;
  overloaded: boolean;
  /** Contracts with endpoints that are not kept now. */
  alerts: Alert[];
  notes: Note[];
  route_changes: number;
  last: { id: number; at: number; rows: number } | null;
}

/** A kind of request that is refused until its reason is gone. */
export interface Refusal {
  requests: string;
  reason: string;
  status: number;
  limit: string | null;
  /** Whether the server is ready nonetheless. */
  is_ready: boolean;
}

export interface Status {
  version: string;
  runner: string;
  ready: boolean;
  problem: string | null;
  /** What is refused now, the worst first. */
  refused: Refusal[];
  read_only: boolean;
  now: number;
  uptime: number;
  batches: number;
  batch_seconds: number;
  state_bytes: number;
  memory_bytes: number;
  streams: Stream[];
  queries: Query[];
}

export interface Checked {
  ok: boolean;
  dialect: string | null;
  continuous: boolean | null;
  summary: string | null;
  errors: Problem[];
  warnings: Problem[];
  name: string | null;
  vars: string[];
  streams: string[];
  unknown_streams: string[];
}

export interface Demo {
  name: string;
  title: string;
  description: string;
  running: boolean;
  streams: string[];
  queries: string[];
}

export interface PlanNode {
  id: number;
  kind: string;
  title: string;
  details: string[];
  /** How many solutions it has found in what streams hold now. */
  rows: number | null;
}

export interface Plan {
  graph?: { nodes: PlanNode[]; edges: { source: number; target: number; label: string }[]; prefixes: Record<string, string> };
  strategy?: string;
  evaluated?: string;
  notes?: string[];
  operators?: { depth: number; operator: string; estimated: number | null; seen: number | null; milliseconds: number | null }[];
  stages?: { stage: string; equation?: string; algebra: string }[];
  live?: {
    state_bytes?: number;
    route_changes?: number;
    routes?: { at: number; changes: number; text?: string }[];
  };
}

export interface Solutions {
  head: { vars?: string[] };
  results?: { bindings: Row[] };
  boolean?: boolean;
}

/** What the server said no with. */
export class Refused extends Error {
  constructor(
    readonly status: number,
    message: string,
    readonly problems: Problem[] = [],
    readonly retryAfter: number | null = null,
  ) {
    super(message);
  }
}

/** There was no answer. */
export class Unreachable extends Error {}

// The bundle lies in a folder of the server, whose root is the folder above.
const ROOT = new URL("..", import.meta.url);

let askForToken: (wrong: boolean) => Promise<void> = async () => undefined;
/** Who asks the user for a token when the server wants one. */
export function onTokenNeeded(ask: (wrong: boolean) => Promise<void>): void {
  askForToken = ask;
}

function target(path: string, parameters: Record<string, string> = {}): URL {
  const url = new URL(path.replace(/^\//, ""), ROOT);
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
  return url;
}

export async function send(path: string, options: RequestInit & { parameters?: Record<string, string> } = {}): Promise<Response> {
  const { parameters, ...request } = options;
  for (;;) {
    const headers = new Headers(request.headers);
    const known = token.get();
    if (known) headers.set("Authorization", `Bearer ${known}`);
    let response: Response;
    try {
      response = await fetch(target(path, parameters), { ...request, headers, credentials: "same-origin", cache: "no-store" });
    } catch (error) {
      if (request.signal?.aborted) throw error;
      throw new Unreachable("the server does not answer");
    }
    if (response.status === 401) {
      await askForToken(known !== null);
      continue;
    }
    if (!response.ok) throw await refusal(response);
    return response;
  }
}

async function refusal(response: Response): Promise<Refused> {
  const wait = Number(response.headers.get("Retry-After"));
  let said = `${response.status} ${response.statusText}`;
  let problems: Problem[] = [];
  try {
    const body = (await response.json()) as { title?: string; detail?: string; errors?: Problem[] };
    said = body.detail || body.title || said;
    problems = body.errors ?? [];
  } catch {
    // Not ours, perhaps a proxy's: the status has to do.
  }
  return new Refused(response.status, said, problems, Number.isFinite(wait) && wait > 0 ? wait : null);
}

const json = (value: unknown, method = "POST"): RequestInit => ({
  method,
  body: JSON.stringify(value),
  headers: { "Content-Type": "application/json" },
});
const segment = encodeURIComponent;

async function get<T>(path: string, options: RequestInit & { parameters?: Record<string, string> } = {}): Promise<T> {
  const headers = { Accept: "application/json", ...(options.headers as Record<string, string> | undefined) };
  return (await (await send(path, { ...options, headers })).json()) as T;
}

export const api = {
  check: (text: string) => get<Checked>("check", json({ text })),
  register: (text: string, name: string | null) => get<Query>("queries", json(name ? { text, name } : { text })),
  pause: (name: string) => send(`queries/${segment(name)}/pause`, { method: "POST" }),
  resume: (name: string) => send(`queries/${segment(name)}/resume`, { method: "POST" }),
  remove: (name: string) => send(`queries/${segment(name)}`, { method: "DELETE" }),
  plan: (name: string, graph: string, live: boolean, signal?: AbortSignal) =>
    get<Plan>(`queries/${segment(name)}/plan`, { parameters: { format: "json", graph, live: String(live) }, signal }),
  demos: async () => (await get<{ demos: Demo[] }>("demos")).demos,
  startDemo: (name: string) => get<Demo>(`demos/${segment(name)}`, { method: "POST" }),
  stopDemo: (name: string) => send(`demos/${segment(name)}`, { method: "DELETE" }),
  makeStream: (stream: { name: string; iri?: string; title?: string; delay?: string; time?: string }) => get<Stream>("streams", json(stream)),
  removeStream: (name: string) => send(`streams/${segment(name)}`, { method: "DELETE" }),
  describe: async (name: string) => (await send(`streams/${segment(name)}`, { headers: { Accept: "text/turtle" } })).text(),
  elements: async (name: string, last: number, signal?: AbortSignal) =>
    (await get<{ elements: { at: number; quads: string }[] }>(`streams/${segment(name)}/elements`, { parameters: { last: String(last) }, signal })).elements,
  push: (name: string, type: string, body: string, at: string) =>
    get<{ elements: number; duplicate: boolean }>(`streams/${segment(name)}`, {
      method: "POST",
      body,
      headers: { "Content-Type": type },
      parameters: at ? { at } : {},
    }),
  graphs: async () => (await get<{ graphs: { iri: string | null; statements: number; kind: string }[] }>("graphs")).graphs,
  sparql: (query: string, accept: string, signal: AbortSignal) =>
    send("sparql", { method: "POST", body: query, headers: { "Content-Type": "application/sparql-query", Accept: accept }, signal }),
};

/** Predicates and classes that were seen in streams and static data. */
export async function vocabulary(): Promise<string[]> {
  try {
    const found = await get<{ predicates?: string[]; classes?: string[] }>("vocabulary");
    return [...(found.predicates ?? []), ...(found.classes ?? [])];
  } catch {
    return [];
  }
}

export type Triple = Term[];

export interface Following {
  path: string;
  parameters?: Record<string, string>;
  signal: AbortSignal;
  event: (event: ServerEvent) => void;
  /** Called when a connection is made, with how often it had been lost before. */
  opened?: (again: number) => void;
  /** Called when it is lost, with the milliseconds until the next attempt. */
  lost?: (wait: number) => void;
  /** Whether an event ends it all. */
  ends?: (event: ServerEvent) => boolean;
}

const FIRST_WAIT = 500;
const LONGEST_WAIT = 8000;
// The server sends something every 15 seconds; a connection that is silent for longer is dead.
const SILENCE = 40_000;

/** Follow a stream of events for as long as the signal allows, connecting again where it breaks. */
export async function follow(wanted: Following): Promise<void> {
  let last: string | null = null;
  let wait = FIRST_WAIT;
  let lost = 0;
  while (!wanted.signal.aborted) {
    const connection = new AbortController();
    const stop = () => connection.abort();
    wanted.signal.addEventListener("abort", stop);
    try {
      const headers: Record<string, string> = { Accept: "text/event-stream" };
      if (last !== null) headers["Last-Event-ID"] = last;
      const parameters = last === null ? wanted.parameters : undefined;
      const response = await send(wanted.path, { headers, parameters, signal: connection.signal });
      wanted.opened?.(lost);
      wait = FIRST_WAIT;
      for await (const event of events(response, connection)) {
        if (event.id) last = event.id;
        wanted.event(event);
        if (wanted.ends?.(event)) return;
      }
    } catch (error) {
      if (wanted.signal.aborted) return;
      if (error instanceof Refused && error.status < 500 && error.status !== 429) throw error;
    } finally {
      wanted.signal.removeEventListener("abort", stop);
      connection.abort();
    }
    if (wanted.signal.aborted) return;
    lost += 1;
    wanted.lost?.(wait);
    await pause(wait, wanted.signal);
    wait = Math.min(wait * 1.7, LONGEST_WAIT);
  }
}

async function* events(response: Response, connection: AbortController): AsyncGenerator<ServerEvent> {
  const parser = new EventParser();
  const decoder = new TextDecoder();
  const reader = response.body?.getReader();
  if (!reader) return;
  for (;;) {
    const timer = setTimeout(() => connection.abort(), SILENCE);
    const { done, value } = await reader.read().finally(() => clearTimeout(timer));
    if (done) return;
    yield* parser.push(decoder.decode(value, { stream: true }));
  }
}

export function pause(milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, milliseconds);
    signal?.addEventListener("abort", () => (clearTimeout(timer), resolve()), { once: true });
  });
}
