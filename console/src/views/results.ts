// A query's results as they come: a chart or a map, the windows, and a table that moves.
import { Chart, MOST_LINES } from "../chart";
import type { Query } from "../api";
import { fill, h, say } from "../dom";
import { ResultsFeed } from "../following";
import { count, moment, number, plural } from "../format";
import { live } from "../live";
import { Chartlet, type Spot } from "../map";
import { byName, position, series, type Evaluation } from "../results";
import { label, numeric, prefixes, text, type Row } from "../terms";
import { Table, type Line } from "../table";
import { empty, type Context } from "../view";
import { WindowStrip } from "../windows";

const REPLAYED = 200;
const ROWS = 200;
const PATIENCE = 120;
const MAPPED = 12;

export function results(query: Query, { signal }: Context): HTMLElement {
  const view = new ResultsView(query);
  view.start(signal);
  return view.element;
}

class ResultsView {
  readonly element: HTMLElement;
  private readonly feed: ResultsFeed;
  private readonly chart = new Chart();
  private readonly map = new Chartlet();
  private readonly strip = new WindowStrip();
  private readonly table: Table;
  private readonly connection = h("p", { class: "connection", role: "status" });
  private readonly note = h("p", { class: "muted note" });
  private readonly mapPane: HTMLElement;
  private readonly tally = h("span", { class: "muted" });
  private readonly value = h("select", { "aria-label": "Value", onchange: () => this.render() });
  private readonly key = h("select", { "aria-label": "One line for each", onchange: () => this.render() });
  private readonly mode = h("select", { "aria-label": "Rows shown", onchange: () => this.render() }, h("option", { value: "latest" }, "Latest window"), h("option", { value: "all" }, "All, newest first"));
  private readonly chartPane: HTMLElement;
  private readonly rowsPane: HTMLElement;
  private readonly waiting: HTMLElement;
  private frozen = false;
  private scheduled = false;
  private chosen = false;

  constructor(query: Query) {
    const names = prefixes(query.text);
    this.feed = new ResultsFeed(query.name, {
      changed: () => this.schedule(),
      connection: (state, detail) => this.connected(state, detail),
    });
    this.table = new Table(`Rows of ${query.name}`, () => names);
    const freeze = h("button", { type: "button", class: "quiet", "aria-pressed": "false", onclick: () => this.freeze(freeze) }, "Hold still");
    this.waiting = h("section", { class: "pane" }, empty("Waiting for the first window to close.", "The panel on this page says how far its streams have come, and what is missing if nothing comes."));
    this.chartPane = h(
      "section",
      { class: "pane", "aria-labelledby": "chart" },
      h("div", { class: "pane-head" }, h("h2", { id: "chart" }, "Over time"), h("div", { class: "controls" }, this.value, this.key)),
      this.chart.element,
      this.note,
    );
    this.mapPane = h(
      "section",
      { class: "pane", "aria-labelledby": "map" },
      h("h2", { id: "map" }, "On the map"),
      this.map.element,
      h("p", { class: "muted" }, "Large dots are of the newest window; older ones fade."),
    );
    this.mapPane.hidden = true;
    this.rowsPane = h(
      "section",
      { class: "pane", "aria-labelledby": "rows" },
      h("div", { class: "pane-head" }, h("h2", { id: "rows" }, "Rows"), this.tally, h("div", { class: "controls" }, this.mode, freeze)),
      this.strip.element,
      this.table.element,
    );
    this.chartPane.hidden = true;
    this.rowsPane.hidden = true;
    this.element = h("div", { class: "results" }, this.connection, this.waiting, this.chartPane, this.mapPane, this.rowsPane);
  }

  start(signal: AbortSignal): void {
    this.feed.start(signal, REPLAYED);
    signal.addEventListener("abort", () => this.chart.destroy());
    let state = "";
    live.each(signal, () => {
      // A paused query ends its events: when it goes on, so does the page.
      const now = live.status?.queries.find((query) => query.name === this.name)?.state ?? "";
      if (state === "paused" && now === "running") this.feed.start(signal, 0);
      state = now;
    });
  }

  private get name(): string {
    return this.feed.queryName;
  }

  private connected(state: "live" | "lost" | "ended", detail: string): void {
    this.connection.className = `connection ${state}`;
    say(this.connection, detail && `${detail[0]?.toUpperCase()}${detail.slice(1)}.`);
  }

  private freeze(button: HTMLElement): void {
    this.frozen = !this.frozen;
    button.setAttribute("aria-pressed", String(this.frozen));
    say(button, this.frozen ? "Go on" : "Hold still");
    if (!this.frozen) this.render();
  }

  /** Draw soon, and not more often than people can look. */
  private schedule(): void {
    if (this.scheduled || this.frozen) return;
    this.scheduled = true;
    setTimeout(() => {
      this.scheduled = false;
      if (!this.frozen) this.render();
    }, PATIENCE);
  }

  private render(): void {
    const { results } = this.feed;
    const last = results.last;
    this.waiting.hidden = results.seen > 0;
    this.rowsPane.hidden = results.seen === 0;
    if (!last) return;
    if (!this.chosen && results.rows) {
      this.chosen = true;
      this.mode.value = this.feed.op === "rstream" && last.bounds.length ? "latest" : "all";
    }
    this.draw();
    this.strip.show(results.evaluations);
    this.rows(last);
  }

  private rows(last: Evaluation): void {
    const { results } = this.feed;
    const latest = this.mode.value === "latest";
    const pairs: [Evaluation, Row][] = latest ? last.rows.slice(0, ROWS).map((row) => [last, row]) : results.newest(ROWS);
    const keys = results.columns().keys;
    const lines = pairs.map(([evaluation, row], at): Line => {
      const own = latest ? keys.map((name) => text(row[name])).join("\n") || String(at) : `${evaluation.at}\n${results.variables.map((name) => text(row[name])).join("\n")}`;
      return { key: own, lead: moment(evaluation.at), row };
    });
    this.table.show(results.variables, lines, true, latest ? null : "at");
    const total = latest ? last.rows.length : results.rows;
    say(this.tally, total > ROWS ? `${ROWS} of ${count(total)}` : plural(total, "row"));
  }

  private draw(): void {
    const { results } = this.feed;
    const { numbers, keys, place } = results.columns();
    this.chartPane.hidden = numbers.length === 0;
    this.mapPane.hidden = place === null;
    if (place) this.mapped(place, keys, numbers);
    if (!numbers.length) return;
    options(this.value, numbers, numbers.map((name) => `?${name}`));
    options(this.key, [...keys, ""], [...keys.map((name) => `by ?${name}`), "in one line"], keys.find((name) => this.few(name)) ?? keys[0] ?? "");
    this.value.hidden = numbers.length < 2;
    this.key.hidden = keys.length === 0;
    const key = this.key.value || null;
    say(this.chartPane.querySelector("h2") as HTMLElement, `?${this.value.value}${key ? ` by ?${key}` : ""}`);
    this.charted(this.value.value, key);
  }

  /** Whether a variable has few enough values for a line each. */
  private few(name: string): boolean {
    const values = new Set(this.feed.results.newest(ROWS).map(([, row]) => label(row[name])));
    return values.size > 0 && values.size <= MOST_LINES;
  }

  private charted(value: string, key: string | null): void {
    const { times, lines, left } = series(this.feed.results, value, key, MOST_LINES);
    this.chart.show(times, lines, `?${value} over time`, this.feed.op !== "rstream");
    say(this.note, left ? `${plural(left, "other line is", "other lines are")} not drawn; the table has all rows.` : "");
  }

  private mapped(place: NonNullable<ReturnType<ResultsFeed["results"]["columns"]>["place"]>, keys: string[], numbers: string[]): void {
    const groups = new Map<string, number>();
    const spots: Spot[] = [];
    const recent = this.feed.results.evaluations.slice(-MAPPED);
    const key = keys[0];
    recent.forEach((evaluation, at) => {
      for (const row of evaluation.rows) {
        const found = position(row, place);
        if (!found) continue;
        const name = key ? label(row[key]) : "";
        groups.set(name, 0);
        const detail = numbers.map((each) => `${each} ${text(row[each])}`).join(", ");
        const value = numbers[0] ? numeric(row[numbers[0]]) : null;
        spots.push({ latitude: found[0], longitude: found[1], name, detail, value: value === null ? "" : number(value), age: (recent.length - 1 - at) / MAPPED, group: 0 });
      }
    });
    // The same order as that of the lines, so that both have the same colours.
    [...groups.keys()].sort(byName).forEach((name, at) => groups.set(name, at));
    for (const spot of spots) spot.group = groups.get(spot.name) ?? 0;
    this.map.show(spots, `${plural(groups.size, "place")}; the values are in the table below`);
  }
}

/** Options of a select; what was chosen stays so if it still can. */
function options(select: HTMLSelectElement, values: string[], words: string[], preferred?: string): void {
  const wanted = values.join("\n");
  if (select.dataset["values"] === wanted) return;
  const before = select.value;
  select.dataset["values"] = wanted;
  fill(select, values.map((value, at) => h("option", { value }, words[at])));
  select.value = values.includes(before) && before ? before : (preferred ?? values[0] ?? "");
}

