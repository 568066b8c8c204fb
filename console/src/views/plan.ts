// How a query is run: its operators drawn, with what flows through them, and how that has changed.
import { api, pause, Refused, type Plan, type Query } from "../api";
import { fill, h, say } from "../dom";
import { bytes, count, duration, moment, plural } from "../format";
import { outline, PlanDrawing } from "../graph";
import { complaint, type Context } from "../view";

const EVERY = 4000;

export function plan(query: Query, { signal }: Context): HTMLElement {
  const drawing = new PlanDrawing();
  const which = h("select", { "aria-label": "Which graph", onchange: () => void refresh() }, h("option", { value: "rewritten" }, "As it is run"), h("option", { value: "operators" }, "As it is written"));
  const words = h("p", { class: "muted" });
  const told = h("details", {}, h("summary", {}, "The same as a list"));
  const patterns = h("div");
  const changes = h("div");
  const stages = h("div");
  const problem = h("p", { class: "bad", role: "status" });

  // Figures need a run over what streams hold; where that cannot be had, the plan still can.
  const shown = async () => {
    try {
      return await api.plan(query.name, which.value, true, signal);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      return api.plan(query.name, which.value, false, signal);
    }
  };
  const refresh = async () => {
    try {
      const found = await shown();
      say(problem, "");
      drawing.show(found);
      fill(told, told.firstElementChild, outline(found));
      say(words, [found.strategy, found.evaluated && `Evaluated ${found.evaluated}.`].filter(Boolean).map((each) => capital(String(each)).replace(/\.?$/, ".")).join(" "));
      fill(patterns, figures(found));
      fill(changes, routes(found));
      if (!stages.firstChild) fill(stages, rewritings(found));
    } catch (error) {
      if (!signal.aborted) say(problem, complaint(error));
    }
  };
  void (async () => {
    await document.fonts.ready;
    while (!signal.aborted) {
      if (!document.hidden) await refresh();
      await pause(EVERY, signal);
    }
  })();
  return h(
    "div",
    { class: "results" },
    h(
      "section",
      { class: "pane", "aria-labelledby": "operators" },
      h("div", { class: "pane-head" }, h("h2", { id: "operators" }, "Operators"), h("div", { class: "controls" }, which)),
      problem,
      drawing.element,
      told,
      words,
    ),
    h("section", { class: "pane", "aria-labelledby": "flows" }, h("h2", { id: "flows" }, "What flows through"), patterns, h("h3", {}, "Changes of plan"), changes),
    h("section", { class: "pane", "aria-labelledby": "rewritings" }, h("h2", { id: "rewritings" }, "How it was rewritten"), stages),
  );
}

const capital = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);

/** Each operator with what was expected of it and what it found. */
function figures({ operators = [], live }: Plan): HTMLElement {
  const most = Math.max(1, ...operators.map(({ seen }) => seen ?? 0));
  const state = live?.state_bytes === undefined ? "" : ` The server keeps ${bytes(live.state_bytes)} of state for all queries.`;
  return h(
    "div",
    { class: "flows" },
    h(
      "div",
      { class: "table-box", tabindex: 0, role: "region", "aria-label": "Operators with their figures" },
      h(
        "table",
        {},
        h("thead", {}, h("tr", {}, ["Operator", "Expected", "Found", "Takes"].map((name, at) => h("th", { scope: "col", class: at ? "right" : "" }, name)), h("td", { class: "bar-cell" }))),
        h(
          "tbody",
          {},
          operators.map(({ depth, operator, estimated, seen, milliseconds }) =>
            h(
              "tr",
              {},
              h("td", { class: `mono depth-${Math.min(depth, 8)}` }, operator),
              h("td", { class: "right muted" }, estimated === null ? "–" : count(estimated)),
              h("td", { class: "right" }, seen === null ? "–" : count(seen)),
              h("td", { class: "right muted" }, milliseconds === null ? "–" : duration(milliseconds)),
              h("td", { class: "bar-cell" }, seen === null ? null : h("meter", { min: 0, max: most, value: seen, "aria-label": `${count(seen)} found` })),
            ),
          ),
        ),
      ),
    ),
    h("p", { class: "muted" }, `Expected: solutions in one window. Found: solutions in what the streams hold now, over all windows of it.${state}`),
  );
}

function routes({ live }: Plan): HTMLElement {
  const list = live?.routes ?? [];
  if (!list.length) {
    const total = live?.route_changes ?? 0;
    return h("p", { class: "muted" }, total ? `The order of joins has changed ${plural(total, "time")}.` : "None so far: the order of joins fits what flows.");
  }
  return h("ol", { class: "changes" }, [...list].reverse().map(({ at, changes, text }) =>
    h("li", {}, h("time", { datetime: new Date(at).toISOString() }, moment(at)), " ", text ?? `the order of joins changed (${plural(changes, "change")} so far)`)));
}

function rewritings({ stages = [] }: Plan): HTMLElement {
  const rules = stages.filter((stage) => stage.equation);
  if (!rules.length) return h("p", { class: "muted" }, "It runs as it is written.");
  return h("ol", { class: "stages" }, rules.map(({ stage, equation, algebra }) =>
    h("li", {}, h("strong", {}, stage.replaceAll("_", " ")), h("p", { class: "muted" }, equation ?? ""), h("pre", { tabindex: 0 }, algebra))));
}
