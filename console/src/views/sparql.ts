// Plain SPARQL over static data and what the streams hold now.
import { api, Refused, vocabulary, type Solutions } from "../api";
import { fill, h } from "../dom";
import { Editor, type Problem } from "../editor";
import { count, duration, plural } from "../format";
import { live } from "../live";
import { Table } from "../table";
import { prefixes, shortened } from "../terms";
import { action, chip, complaint, notice, type Context, type View } from "../view";
import { PLAIN } from "./templates";

const ACCEPT = "application/sparql-results+json, text/turtle;q=0.9";
const SHOWN = 1000;
let kept = PLAIN;

export function sparql({ signal }: Context): View {
  const answer = h("div", { class: "answer" });
  const said = h("p", { class: "muted", role: "status" });
  const download = h("select", { "aria-label": "Download the answer", onchange: () => void save() }, h("option", { value: "" }, "Download …"), ["csv", "tsv", "json", "xml", "turtle"].map((each) => h("option", { value: each }, each.toUpperCase())));
  const terms: string[] = [];
  let refused: Problem[] = [];
  void vocabulary().then((found) => terms.push(...found));
  const editor = new Editor({
    text: kept,
    label: "SPARQL query",
    known: { streams: () => live.status?.streams.map((stream) => stream.iri) ?? [], terms: () => terms, continuous: false },
    changed: (text) => (kept = text),
    submit: () => run.click(),
    check: async (text) => {
      const again = refused;
      refused = [];
      try {
        return again.length ? again : (await api.check(text)).errors;
      } catch {
        return [];
      }
    },
  });
  signal.addEventListener("abort", () => editor.destroy());

  const run = action("Ask", async () => {
    const began = performance.now();
    fill(said, "Asking …");
    try {
      const response = await api.sparql(editor.text, ACCEPT, signal);
      const body = await response.text();
      const took = duration(performance.now() - began);
      const json = (response.headers.get("Content-Type") ?? "").includes("json");
      fill(said, show(answer, body, json, editor.text), ` in ${took}`);
    } catch (error) {
      if (signal.aborted) return;
      fill(said, h("span", { class: "bad" }, complaint(error)));
      answer.replaceChildren();
      if (error instanceof Refused && error.problems.length) {
        refused = error.problems;
        editor.check();
        editor.toProblem();
      }
    }
  }, { class: "primary" });

  const save = async () => {
    const format = download.value;
    download.value = "";
    if (!format) return;
    const types: Record<string, string> = { csv: "text/csv", tsv: "text/tab-separated-values", json: "application/sparql-results+json", xml: "application/sparql-results+xml", turtle: "text/turtle" };
    try {
      const response = await api.sparql(editor.text, types[format] ?? ACCEPT, signal);
      const link = h("a", { href: URL.createObjectURL(await response.blob()), download: `answer.${format === "turtle" ? "ttl" : format}` });
      link.click();
      URL.revokeObjectURL(link.href);
    } catch (error) {
      notice(complaint(error), "bad");
    }
  };

  return {
    title: "SPARQL",
    element: h(
      "div",
      {},
      h("h1", {}, "SPARQL"),
      h("p", { class: "lede small" }, "One answer, now: over static data, and over what has come on each stream in the last minutes, which is a named graph by the stream's IRI."),
      h(
        "div",
        { class: "split sparql" },
        h("section", { class: "pane grow", "aria-labelledby": "ask" }, h("h2", { id: "ask" }, "Query"), editor.element, h("div", { class: "actions" }, run, h("span", { class: "muted hint" }, h("kbd", {}, "Ctrl"), " ", h("kbd", {}, "Enter")), download, said)),
        graphs(editor),
      ),
      answer,
    ),
  };
}

/** Show an answer, and say what it is. */
function show(answer: HTMLElement, body: string, json: boolean, query: string): string {
  if (!json) {
    fill(answer, h("div", { class: "pane" }, h("pre", { class: "turtle", tabindex: 0 }, body)));
    return plural(body.split("\n").filter((line) => /\.\s*$/.test(line)).length, "line of statements", "lines of statements");
  }
  const solutions = JSON.parse(body) as Solutions;
  if (solutions.boolean !== undefined) {
    fill(answer, h("div", { class: "pane" }, h("p", { class: "big-answer" }, solutions.boolean ? "yes" : "no")));
    return "Answered";
  }
  const rows = solutions.results?.bindings ?? [];
  const names = prefixes(query);
  const table = new Table("Answer", () => names);
  table.show(solutions.head.vars ?? [], rows.slice(0, SHOWN).map((row, at) => ({ key: String(at), lead: null, row })), false);
  fill(answer, h("div", { class: "pane" }, rows.length ? table.element : h("p", { class: "muted" }, "Nothing matches.")));
  return rows.length > SHOWN ? `${SHOWN} of ${count(rows.length)} rows` : plural(rows.length, "row");
}

function graphs(editor: Editor): HTMLElement {
  const list = h("ul", { class: "plain-list" });
  const pane = h("section", { class: "pane", "aria-labelledby": "graphs" }, h("h2", { id: "graphs" }, "Graphs"), list);
  void api.graphs().then(
    (found) =>
      fill(
        list,
        found.map(({ iri, statements, kind }) =>
          h(
            "li",
            {},
            h("button", { type: "button", class: "link", title: iri ?? "the default graph", onclick: () => {
              editor.text = `SELECT ?s ?p ?o\nWHERE {\n  ${iri ? `GRAPH <${iri}> { ?s ?p ?o }` : "?s ?p ?o"}\n}\nLIMIT 50\n`;
              editor.focus();
            } }, iri ? shortened(iri) : "default graph"),
            " ",
            kind === "stream" ? chip("stream") : null,
            h("span", { class: "muted" }, ` ${plural(statements, "statement")}`),
          ),
        ),
        found.length ? null : h("li", { class: "muted" }, "Nothing is loaded, and no stream is there."),
      ),
    () => fill(list, h("li", { class: "muted" }, "They cannot be listed now.")),
  );
  return pane;
}
