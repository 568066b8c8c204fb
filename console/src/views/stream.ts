// One stream: its figures, its latest elements, its description, and a form to push to it.
import { api, pause, type Stream } from "../api";
import { fill, h, say } from "../dom";
import { bytes, count, duration, moment, rate } from "../format";
import { live } from "../live";
import { Sparkline } from "../sparkline";
import { action, confirmed, empty, field, Figure, go, linkTo, notice, type Context, type View } from "../view";

const SHOWN = 12;
const EVERY = 2000;
const TYPES: [string, string, string][] = [
  ["text/turtle", "Turtle", '<http://example.org/gate1> <http://example.org/registers> <http://example.org/car7> .\n'],
  ["application/trig", "TriG", '<http://example.org/g1> {\n  <http://example.org/gate1> <http://example.org/registers> <http://example.org/car7> .\n}\n'],
  ["application/n-quads", "N-Quads", '<http://example.org/gate1> <http://example.org/registers> <http://example.org/car7> .\n'],
  ["application/ld+json", "JSON-LD", '{\n  "@id": "http://example.org/gate1",\n  "http://example.org/registers": { "@id": "http://example.org/car7" }\n}\n'],
  ["application/x-timed-nquads", "Timed N-Quads", `${Date.now()}\t<http://example.org/gate1> <http://example.org/registers> <http://example.org/car7> .\n`],
];

export function stream({ signal, parameters }: Context): View {
  const name = parameters[0] ?? "";
  const body = h("div", { class: "query-body" });
  const title = h("h1", { dir: "auto" }, name);
  const iri = h("p", { class: "iri muted", dir: "auto" });
  let shown = false;
  const figures = new StreamFigures();
  live.each(signal, () => {
    const found = live.stream(name);
    if (!found) {
      if (!shown) fill(body, empty("There is no such stream.", "It was removed, or never made here.", h("a", { class: "button", href: linkTo.streams }, "All streams")));
      return;
    }
    if (!shown) {
      shown = true;
      say(title, found.title ?? found.name);
      say(iri, found.iri);
      fill(body, parts(found, signal), figures.element);
    }
    figures.show(found);
  });
  return { title: name, element: h("div", { class: "query" }, h("p", { class: "crumbs" }, h("a", { href: linkTo.streams }, "Streams"), " /"), title, iri, body) };
}

function parts(found: Stream, signal: AbortSignal): HTMLElement {
  return h("div", { class: "results" }, found.kind === "pushed" ? pushing(found) : null, latest(found.name, signal), description(found));
}

function pushing({ name }: Stream): HTMLElement {
  const type = h("select", { onchange: () => (body.value = TYPES.find(([id]) => id === type.value)?.[2] ?? "") }, TYPES.map(([id, words]) => h("option", { value: id }, words)));
  const body = h("textarea", { rows: 5, spellcheck: "false", class: "mono" });
  const at = h("input", { type: "text", placeholder: "now", autocomplete: "off" });
  const said = h("p", { role: "status", class: "muted" });
  body.value = TYPES[0]?.[2] ?? "";
  const push = action("Push", async () => {
    const { elements } = await api.push(name, type.value, body.value, type.value === "application/x-timed-nquads" ? "" : at.value.trim());
    say(said, `${count(elements)} ${elements === 1 ? "element is" : "elements are"} safe on the server's disk.`);
  }, { class: "primary" });
  return h(
    "section",
    { class: "pane mutates", "aria-labelledby": "push" },
    h("h2", { id: "push" }, "Push to it"),
    h(
      "form",
      { class: "form", onsubmit: (event: Event) => (event.preventDefault(), push.click()) },
      h("div", { class: "form-row" }, field("Type", type), field("Time", at, "ISO 8601, or milliseconds since the epoch")),
      field("Elements", body),
      h("div", { class: "actions" }, push, said),
    ),
  );
}

function latest(name: string, signal: AbortSignal): HTMLElement {
  const list = h("ol", { class: "elements" });
  const none = h("p", { class: "muted" }, "Nothing has come yet.");
  void (async () => {
    while (!signal.aborted) {
      try {
        const elements = document.hidden ? [] : await api.elements(name, SHOWN, signal);
        none.hidden = elements.length > 0 || list.children.length > 0;
        if (elements.length) fill(list, [...elements].reverse().map(({ at, quads }) => h("li", {}, h("time", { datetime: new Date(at).toISOString() }, moment(at)), h("pre", { dir: "auto" }, quads.trimEnd()))));
      } catch {
        // The banner says when the server is away; this list comes back with it.
      }
      await pause(EVERY, signal);
    }
  })();
  return h("section", { class: "pane", "aria-labelledby": "latest" }, h("h2", { id: "latest" }, "Latest elements"), none, h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Latest elements, the newest first" }, list));
}

function description({ name, kind, queries }: Stream): HTMLElement {
  const text = h("pre", { class: "turtle", tabindex: 0, "aria-label": "Description in Turtle" });
  const details = h("details", { ontoggle: () => void load() }, h("summary", {}, "Description in Turtle"), text);
  const load = async () => {
    if (details.open && !text.textContent) say(text, await api.describe(name));
  };
  const remove = action("Remove this stream", async () => {
    if (!(await confirmed(`Remove ${name}?`, "What was pushed to it is deleted.", "Remove"))) return;
    await api.removeStream(name);
    notice(`${name} is removed.`);
    go(linkTo.streams);
  }, { class: "quiet danger-text mutates" });
  return h("section", { class: "pane", "aria-labelledby": "about" }, h("h2", { id: "about" }, "About it"), details, kind === "pushed" && !queries.length ? h("div", { class: "actions" }, remove) : null);
}

class StreamFigures {
  readonly element: HTMLElement;
  private readonly line = new Sparkline();
  private readonly now = h("span", { class: "rate" });
  private readonly queries = h("p");
  private readonly figures = {
    elements: new Figure("Elements", "All that have come"),
    time: new Figure("Event time", "The greatest time so far"),
    lag: new Figure("Lag", "How far that is behind the clock"),
    late: new Figure("Late", "Came after the windows that they belong to had closed"),
    rejected: new Figure("Rejected", "Could not be read"),
    log: new Figure("On disk", "What is kept of it, and how much may be"),
  };

  constructor() {
    this.element = h(
      "aside",
      { class: "health pane", "aria-labelledby": "health" },
      h("h2", { id: "health" }, "How it flows"),
      h("div", { class: "stream-rate big" }, this.line.element, this.now),
      h("dl", { class: "figures" }, Object.values(this.figures).map((figure) => figure.element)),
      h("h3", {}, "Read by"),
      this.queries,
    );
  }

  show(stream: Stream): void {
    this.line.draw(stream.rates);
    say(this.now, rate(stream.rate));
    const { figures } = this;
    figures.elements.show(count(stream.elements));
    figures.time.show(moment(stream.high));
    figures.lag.show(stream.lag === null ? "–" : duration(stream.lag * 1000));
    figures.late.show(count(stream.late), stream.late ? "wait" : "");
    figures.rejected.show(count(stream.rejected), stream.rejected ? "bad" : "");
    figures.log.show(stream.kind === "derived" ? "nothing" : `${bytes(stream.log_bytes)} of ${bytes(stream.log_quota)}`);
    const names = stream.queries.join("\n");
    if (this.queries.dataset["names"] === names) return;
    this.queries.dataset["names"] = names;
    fill(this.queries, stream.queries.length ? stream.queries.map((name, at) => [at ? ", " : "", h("a", { href: linkTo.query(name) }, name)]) : h("span", { class: "muted" }, "no query"));
  }
}
