// A query's results as they come, put together window by window.
import { follow, Refused } from "./api";
import { number } from "./format";
import { Results, type Evaluation } from "./results";
import type { ServerEvent } from "./sse";
import type { Row, Term } from "./terms";

interface WindowEvent {
  at: number;
  windows: Record<string, { open: number | null; close: number | null }>;
  op?: string;
  error?: string;
  skipped?: boolean;
  truncated?: unknown;
  accuracy?: number;
  completeness?: number;
}

/** What a view is told. */
export interface Watcher {
  changed: () => void;
  connection: (state: "live" | "lost" | "ended", detail: string) => void;
}

export class ResultsFeed {
  readonly results = new Results();
  form = "select";
  op = "rstream";
  private pending: Row[] = [];

  constructor(
    readonly queryName: string,
    private readonly watcher: Watcher,
  ) {}

  start(signal: AbortSignal, last: number): void {
    follow({
      path: `queries/${encodeURIComponent(this.queryName)}/events`,
      parameters: { last: String(last) },
      signal,
      event: (event) => this.take(event),
      ends: (event) => event.event === "end" && !/shutdown/.test(event.data),
      opened: (again) => this.watcher.connection("live", again ? "connected again; nothing was missed" : ""),
      lost: (wait) => this.watcher.connection("lost", `connection lost; next attempt in ${Math.max(1, Math.round(wait / 1000))} s`),
    }).catch((error: unknown) => {
      this.watcher.connection("ended", error instanceof Refused ? error.message : String(error));
    });
  }

  private take({ event, data }: ServerEvent): void {
    if (event === "sparql_results_head") this.head(JSON.parse(data) as { form: string; vars?: string[] });
    else if (event === "sparql_results_binding") this.pending.push(JSON.parse(data) as Row);
    else if (event === "sparql_results_triple") this.pending.push(tripleRow(JSON.parse(data) as Term[]));
    else if (event === "sparql_results_boolean") this.pending.push(booleanRow(JSON.parse(data) as { boolean: boolean }));
    else if (event === "rsp_window") this.close(JSON.parse(data) as WindowEvent);
    else if (event === "lagged") this.watcher.connection("live", "some windows were missed: this page was too slow or away too long");
    else if (event === "end") this.end(JSON.parse(data) as { reason: string });
  }

  private head({ form, vars }: { form: string; vars?: string[] }): void {
    this.form = form;
    this.pending = [];
    if (form === "select") this.results.variables = vars ?? [];
    else this.results.variables = form === "ask" ? ["answer"] : ["subject", "predicate", "object"];
    this.watcher.changed();
  }

  private close(event: WindowEvent): void {
    const { at, windows, op } = event;
    if (op) this.op = op;
    const bounds = Object.entries(windows).map(([name, { open, close }]): Evaluation["bounds"][number] => [name, open, close]);
    if (this.pending.some((row) => row["graph"]) && !this.results.variables.includes("graph")) this.results.variables.push("graph");
    this.results.add({ at, bounds, rows: this.pending, remarks: remarks(event) });
    this.pending = [];
    this.watcher.changed();
  }

  private end({ reason }: { reason: string }): void {
    const words: Record<string, string> = {
      removed: "the query was removed",
      paused: "the query is paused",
      stopped: "the query has stopped",
    };
    if (words[reason]) this.watcher.connection("ended", words[reason]);
  }
}

function remarks({ error, skipped, truncated, accuracy, completeness }: WindowEvent): string[] {
  return [
    error ? `failed: ${error}` : "",
    skipped ? "skipped under load" : "",
    truncated ? "cut short: there are more rows than the server sends" : "",
    accuracy === undefined ? "" : `estimated accuracy ${number(accuracy)}`,
    completeness === undefined ? "" : `estimated completeness ${number(completeness)}`,
  ].filter(Boolean);
}

function tripleRow([subject, predicate, object, graph]: Term[]): Row {
  return graph ? { subject, predicate, object, graph } : { subject, predicate, object };
}

function booleanRow({ boolean }: { boolean: boolean }): Row {
  return { answer: { type: "literal", value: boolean ? "yes" : "no" } };
}
