// The console: which view is shown follows from the part of the address after the hash.
import "./locale";
import "./style.css";
import { live } from "./live";
import { theme } from "./settings";
import { Shell } from "./shell";
import { notice, type Context, type View } from "./view";
import { queries } from "./views/queries";
import { query } from "./views/query";
import { sparql } from "./views/sparql";
import { start } from "./views/start";
import { stream } from "./views/stream";
import { streams } from "./views/streams";

const VIEWS: Record<string, { all: (context: Context) => View; one?: (context: Context) => View }> = {
  "": { all: start },
  queries: { all: queries, one: query },
  streams: { all: streams, one: stream },
  sparql: { all: sparql },
};

const shell = new Shell();
let current = new AbortController();

function show(first: boolean): void {
  const path = location.hash.replace(/^#\/?/, "");
  const [name = "", ...parameters] = path.split("/").map(decoded);
  const views = VIEWS[name] ?? { all: start };
  current.abort();
  current = new AbortController();
  const make = parameters.length && views.one ? views.one : views.all;
  shell.show(make({ signal: current.signal, parameters }), path, first);
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

theme.apply();
shell.build();
window.addEventListener("hashchange", () => show(false));
show(true);
live.alert = (alert) => notice(alert.says, alert.problem ? "bad" : "good");
live.start(new AbortController().signal);
