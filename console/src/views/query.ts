// One query: its live results, its plan, its text.
import type { Query } from "../api";
import { fill, h, say } from "../dom";
import { count, duration, bytes, moment } from "../format";
import { live } from "../live";
import { draft } from "../settings";
import { shortened } from "../terms";
import { action, chip, empty, Figure, go, linkTo, tabs, type Context, type View } from "../view";
import { reason } from "../why";
import { plan } from "./plan";
import { remove, toggle, TONES } from "./queries";
import { results } from "./results";
import { TEMPLATES } from "./templates";
import { source } from "./source";

const PATIENCE = 2500;

export function query(context: Context): View {
  const name = context.parameters[0] ?? "";
  const tab = context.parameters[1] ?? "results";
  const state = h("span", { class: "state" });
  const body = h("div", { class: "query-body" });
  const pauses = action("Pause", () => toggle(name), { class: "quiet mutates" });
  const actions = h(
    "div",
    { class: "actions" },
    pauses,
    action("Remove", async () => {
      if (await remove(name)) go(linkTo.queries);
    }, { class: "quiet danger-text mutates" }),
  );
  const parts = tabs("Parts of the query", [
    ["Results", linkTo.query(name)],
    ["Plan", linkTo.query(name, "plan")],
    ["Text", linkTo.query(name, "text")],
  ], tab === "plan" ? "Plan" : tab === "text" ? "Text" : "Results");
  const element = h(
    "div",
    { class: "query" },
    h("p", { class: "crumbs" }, h("a", { href: linkTo.queries }, "Queries"), " /"),
    h(
      "div",
      { class: "title-line" },
      h("h1", { dir: "auto" }, name),
      state,
      actions,
    ),
    parts,
    body,
  );
  const health = new Health();
  const opened = Date.now();
  let shown = false;
  live.each(context.signal, () => {
    const found = live.query(name);
    if (!found || !live.status) {
      if (shown) fill(state, chip("removed"));
      // One that was registered a moment ago comes with the next news of the server.
      if (shown || Date.now() - opened < PATIENCE) return;
      actions.hidden = parts.hidden = true;
      fill(body, empty("There is no such query.", "It was removed, or never registered here.", h("a", { class: "button", href: linkTo.queries }, "All queries")));
      return;
    }
    if (!shown) {
      shown = true;
      actions.hidden = parts.hidden = false;
      fill(body, part(tab, found, context), health.element);
    }
    if (state.textContent !== found.state) fill(state, chip(found.state, TONES[found.state]));
    pauses.hidden = found.state === "stopped";
    say(pauses, found.state === "paused" ? "Resume" : "Pause");
    health.show(found);
  });
  return { title: name, element };
}

function part(tab: string, found: Query, context: Context): HTMLElement {
  if (tab === "plan") return plan(found, context);
  if (tab === "text") return source(found, () => {
    draft.set(found.text);
    go(linkTo.queries);
  });
  return results(found, context);
}

/** How a query is doing, and why nothing comes if nothing does. */
class Health {
  readonly element: HTMLElement;
  private first = "";
  private readonly verdict = h("p", { class: "why" });
  private readonly streams = h("ul", { class: "plain-list" });
  private readonly figures = {
    time: new Figure("Event time", "The greatest time that its streams have reached"),
    lag: new Figure("Lag", "How far that is behind the clock"),
    windows: new Figure("Windows", "How often it was evaluated"),
    rows: new Figure("Rows", "All that it gave"),
    late: new Figure("Late", "Elements of its streams that came after their windows had closed"),
    rejected: new Figure("Rejected", "Elements of its streams that could not be read"),
    skipped: new Figure("Skipped", "Evaluations that were left out under load"),
    state: new Figure("State", "What the server keeps in memory for all queries"),
  };

  constructor() {
    this.element = h(
      "aside",
      { class: "health pane", "aria-labelledby": "health" },
      h("h2", { id: "health" }, "How it is doing"),
      this.verdict,
      h("dl", { class: "figures" }, Object.values(this.figures).map((figure) => figure.element)),
      h("h3", {}, "Reads"),
      this.streams,
      h("div", { class: "actions" }, action("Write a query over this", () => {
        draft.set(TEMPLATES[0]?.text(this.first) ?? "");
        go(linkTo.queries);
      })),
    );
  }

  show(query: Query): void {
    const status = live.status;
    if (!status) return;
    const { tone, text, advice } = reason(query, status);
    const words = `${text}${advice ? ` ${advice}` : ""}`;
    if (this.verdict.textContent !== words) fill(this.verdict, h("strong", {}, text), advice ? ` ${advice}` : "");
    this.verdict.className = `why ${tone}`;
    const streams = status.streams.filter((stream) => query.streams.includes(stream.iri));
    const sum = (part: "late" | "rejected") => streams.reduce((total, stream) => total + stream[part], 0);
    const highs = streams.map((stream) => stream.high).filter((high) => high !== null);
    const lags = streams.map((stream) => stream.lag).filter((lag) => lag !== null);
    const { figures } = this;
    figures.time.show(highs.length ? moment(Math.min(...highs)) : "–");
    figures.lag.show(lags.length ? duration(Math.max(...lags) * 1000) : "–");
    figures.windows.show(count(query.evaluations));
    figures.rows.show(count(query.rows));
    figures.late.show(count(sum("late")), sum("late") ? "wait" : "");
    figures.rejected.show(count(sum("rejected")), sum("rejected") ? "bad" : "");
    figures.skipped.show(count(query.skipped), query.skipped ? "wait" : "");
    figures.state.show(bytes(status.state_bytes));
    this.first = query.streams[0] ?? "";
    const listed = query.streams.join("\n");
    if (this.streams.dataset["streams"] === listed) return;
    this.streams.dataset["streams"] = listed;
    fill(this.streams, query.streams.map((iri) => {
      const stream = status.streams.find((each) => each.iri === iri);
      return h("li", {}, stream ? h("a", { href: linkTo.stream(stream.name), title: iri }, stream.title ?? stream.name) : shortened(iri));
    }));
  }
}
