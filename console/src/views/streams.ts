// All streams with what flows in them now, and a form for a new one.
import { api, type Stream } from "../api";
import { fill, h, keyed, say } from "../dom";
import { count, moment, plural, rate } from "../format";
import { live } from "../live";
import { Sparkline } from "../sparkline";
import { shortened } from "../terms";
import { action, chip, empty, field, go, linkTo, notice, type Context, type View } from "../view";

export function streams({ signal }: Context): View {
  const list = h("ul", { class: "rows", "aria-label": "Streams" });
  const none = h("div");
  const lines = new Map<string, Sparkline>();
  live.each(signal, () => {
    const all = live.status?.streams ?? [];
    if (!all.length && !none.firstChild) none.append(empty("There is no stream yet.", ["Make one beside this list, or start a ", h("a", { href: linkTo.start }, "demonstration"), "."]));
    if (all.length) none.replaceChildren();
    keyed(list, all, (stream) => stream.name, (stream) => listed(stream, lines), (element, stream) => update(element, stream, lines));
  });
  return {
    title: "Streams",
    element: h(
      "div",
      {},
      h("h1", {}, "Streams"),
      h("div", { class: "split streams" }, h("section", { class: "pane grow", "aria-labelledby": "all-streams" }, h("h2", { id: "all-streams" }, "Flowing now"), none, list), making()),
    ),
  };
}

function listed(stream: Stream, lines: Map<string, Sparkline>): HTMLElement {
  const line = new Sparkline();
  lines.set(stream.name, line);
  return h(
    "li",
    { class: "stream-row" },
    h("div", { class: "stream-words" }, h("a", { href: linkTo.stream(stream.name), class: "query-name" }, stream.title ?? stream.name), h("span", { class: "kind" }), h("p", { class: "iri muted", dir: "auto" }, stream.iri), h("p", { class: "stream-figures muted" })),
    h("div", { class: "stream-rate" }, line.element, h("span", { class: "rate" })),
  );
}

function update(element: HTMLElement, stream: Stream, lines: Map<string, Sparkline>): void {
  lines.get(stream.name)?.draw(stream.rates);
  say(element.querySelector(".rate") as HTMLElement, rate(stream.rate));
  const kind = element.querySelector(".kind") as HTMLElement;
  if (stream.kind === "derived" && !kind.firstChild) fill(kind, chip("made by a query"));
  const wrong = [stream.late ? `${count(stream.late)} late` : "", stream.rejected ? `${count(stream.rejected)} rejected` : ""].filter(Boolean).join(", ");
  const parts = [plural(stream.elements, "element"), wrong, stream.high === null ? "" : `at ${moment(stream.high)}`, stream.queries.length ? `read by ${stream.queries.join(", ")}` : "read by nobody"];
  say(element.querySelector(".stream-figures") as HTMLElement, parts.filter(Boolean).join(" · "));
}

function making(): HTMLElement {
  const name = h("input", { type: "text", required: true, pattern: "[A-Za-z0-9][\\w.\\-]{0,63}", autocomplete: "off", spellcheck: "false" });
  const iri = h("input", { type: "url", autocomplete: "off", spellcheck: "false", placeholder: "its address here" });
  const title = h("input", { type: "text", autocomplete: "off" });
  const time = h("select", {}, h("option", { value: "arrival" }, "when they arrive"), h("option", { value: "said" }, "what they say (prov:generatedAtTime)"));
  const delay = h("input", { type: "text", placeholder: "5s", autocomplete: "off" });
  const make = async () => {
    const stream = await api.makeStream({
      name: name.value.trim(),
      time: time.value,
      ...(iri.value.trim() ? { iri: iri.value.trim() } : {}),
      ...(title.value.trim() ? { title: title.value.trim() } : {}),
      ...(delay.value.trim() ? { delay: delay.value.trim() } : {}),
    });
    notice(`${stream.name} is made.`);
    go(linkTo.stream(stream.name));
  };
  const button = action("Make stream", make, { class: "primary" });
  const form = h(
    "form",
    { class: "form", onsubmit: (event: Event) => (event.preventDefault(), button.click()) },
    field("Name", name, "Letters, digits, -, _ and ., a letter or digit first"),
    field("IRI", iri, `By which queries read it, such as ${shortened("http://example.org/cars")}`),
    field("Title", title),
    field("Times of elements", time),
    field("Delay", delay, "How far out of order elements may come"),
    h("div", { class: "actions" }, button),
  );
  return h("section", { class: "pane mutates", "aria-labelledby": "new-stream" }, h("h2", { id: "new-stream" }, "New stream"), form);
}
