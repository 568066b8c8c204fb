// The first page: from nothing to a moving chart in one click, and from there to an own query.
import { api, pause, type Demo } from "../api";
import { fill, h, s, say } from "../dom";
import { hero } from "../hero";
import { plural, rate } from "../format";
import { live } from "../live";
import { action, chip, empty, go, linkTo, notice, type Context, type View } from "../view";

const PICTURES: Record<string, string[]> = {
  tollgates: ["M4 46h56", "M10 46V16h14v30M8 16h18", "M24 24h34", "M34 24v7M43 24v7M52 24v7"],
  tunnel: ["M6 46V32a26 22 0 0 1 52 0v14", "M18 46V34a14 12 0 0 1 28 0v12", "M32 46v-5M32 36v-3"],
  conference: ["M21 14a8 8 0 1 0 .1 0M45 18a7 7 0 1 0 .1 0", "M6 46v-3a15 11 0 0 1 30 0v3M40 46h18v-3a13 9 0 0 0-19-6"],
};

/** How many tries, half a second apart, a demo has until its queries are seen. */
const TRIES = 30;

export function start({ signal }: Context): View {
  const cards = h("ul", { class: "cards" });
  const figures = h("p", { class: "muted", role: "status" });
  const element = h(
    "div",
    { class: "start" },
    h(
      "section",
      { class: "hero" },
      h(
        "div",
        {},
        h("h1", {}, "Queries that never end"),
        h("p", { class: "lede" }, "Register a SPARQL query over streams of RDF, and it answers again and again as the data flow. Start a demonstration and watch it move; then write your own."),
        figures,
      ),
      hero(),
    ),
    h("section", { "aria-labelledby": "demos" }, h("h2", { id: "demos" }, "Start a stream"), cards),
    h("section", { "aria-labelledby": "steps" }, h("h2", { id: "steps" }, "Then"), steps()),
  );
  let listed = "";
  live.each(signal, () => {
    const status = live.status;
    if (!status || live.connection !== "live") return;
    // What runs may change from elsewhere too: the cards follow.
    const now = [...status.queries, ...status.streams].map(({ name }) => name).join("\n") + live.restarts;
    if (now !== listed || cards.querySelector(".empty")) void show(cards);
    listed = now;
    const flowing = status.streams.reduce((sum, stream) => sum + stream.rate, 0);
    say(figures, status.streams.length || status.queries.length
      ? `Now: ${plural(status.streams.length, "stream")} with ${rate(flowing).replace("/s", "")} elements a second, ${plural(status.queries.length, "query", "queries")}.`
      : "Nothing is running yet.");
  });
  return { title: "Start", element };
}

function steps(): HTMLElement {
  return h(
    "ol",
    { class: "steps" },
    h("li", {}, h("a", { href: linkTo.queries }, "Write a query"), " in the dialect that you know: C-SPARQL, CQELS-QL or RSP-QL. Mistakes are marked as you type."),
    h("li", {}, h("a", { href: linkTo.streams }, "Make a stream"), " of your own, and push RDF to it from here or over HTTP."),
    h("li", {}, h("a", { href: linkTo.sparql }, "Look around"), " with plain SPARQL over static data and what is in the streams now."),
  );
}

async function show(cards: HTMLElement): Promise<void> {
  let demos: Demo[];
  try {
    demos = await api.demos();
  } catch {
    fill(cards, h("li", { class: "wide" }, empty("The demonstrations cannot be listed.", "The server does not answer. This page tries again by itself when it is back.")));
    return;
  }
  fill(cards, demos.map((demo) => card(demo, () => show(cards))));
}

function card(demo: Demo, again: () => Promise<void>): HTMLElement {
  const picture = s("svg", { viewBox: "0 0 64 56", class: "picture", "aria-hidden": "true" }, (PICTURES[demo.name] ?? []).map((path) => s("path", { d: path })));
  const begin = action("Start and watch", async () => {
    await api.startDemo(demo.name);
    const name = await firstQuery(demo);
    if (name) go(linkTo.query(name));
    else await again();
  }, { class: "primary mutates" });
  const end = action("Stop", async () => {
    await api.stopDemo(demo.name);
    notice(`${demo.title}: stopped, and what it had made is removed.`);
    await again();
  }, { class: "quiet mutates", "aria-label": `Stop ${demo.title}` });
  const first = demo.queries[0];
  const watch = first ? h("a", { class: "button primary", href: linkTo.query(first), "aria-label": `Watch ${demo.title}` }, "Watch") : null;
  begin.setAttribute("aria-label", `Start and watch: ${demo.title}`);
  return h(
    "li",
    { class: "card demo" },
    h("div", { class: "card-head" }, picture, demo.running ? chip("running", "good") : null),
    h("h3", {}, demo.title),
    h("p", {}, demo.description),
    h("div", { class: "actions" }, demo.running ? [watch, end] : begin),
  );
}

/** The first query of a demo, once the server has it. */
async function firstQuery(demo: Demo): Promise<string | null> {
  for (let tries = 0; tries < TRIES; tries += 1) {
    const started = (await api.demos()).find((each) => each.name === demo.name);
    const found = started?.queries.find((name) => live.query(name));
    if (found) return found;
    await pause(500);
  }
  return null;
}
