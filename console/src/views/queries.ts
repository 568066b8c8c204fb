// All queries, and an editor for the next one.
import { api, Refused, vocabulary, type Checked, type Query } from "../api";
import { fill, h, keyed, say } from "../dom";
import { Editor, type Problem } from "../editor";
import { count, moment } from "../format";
import { live } from "../live";
import { draft } from "../settings";
import { action, chip, complaint, confirmed, empty, field, go, linkTo, notice, type Context, type View } from "../view";
import { TEMPLATES } from "./templates";

export const TONES: Record<Query["state"], string> = { starting: "wait", running: "good", stalled: "bad", paused: "wait", stopped: "bad" };

export function queries({ signal }: Context): View {
  const list = h("ul", { class: "rows", "aria-label": "Registered queries" });
  const none = h("div");
  const element = h(
    "div",
    { class: "split" },
    h("section", { class: "pane", "aria-labelledby": "registered" }, h("h2", { id: "registered" }, "Registered"), none, list),
    editing(signal),
  );
  live.each(signal, () => {
    const all = live.status?.queries ?? [];
    if (!all.length && !none.firstChild) none.append(empty("No query runs yet.", ["Write one, or let a ", h("a", { href: linkTo.start }, "demonstration"), " bring its own."]));
    if (all.length) none.replaceChildren();
    keyed(list, all, (query) => query.name, listed, update);
  });
  return { title: "Queries", element: h("div", {}, h("h1", {}, "Queries"), element) };
}

function listed(query: Query): HTMLElement {
  const name = query.name;
  return h(
    "li",
    { class: "query-row" },
    h("div", { class: "query-line" }, h("a", { href: linkTo.query(name), class: "query-name" }, name), h("span", { class: "state" })),
    h("p", { class: "query-figures muted" }),
    h(
      "div",
      { class: "actions small" },
      action("Pause", () => toggle(name), { class: "quiet toggle mutates" }),
      action("Remove", async () => void (await remove(name)), { class: "quiet mutates", "aria-label": `Remove ${name}` }),
    ),
  );
}

function update(element: HTMLElement, query: Query): void {
  const state = element.querySelector(".state") as HTMLElement;
  if (state.textContent !== query.state) fill(state, chip(query.state, TONES[query.state]));
  const last = query.last ? `last at ${moment(query.last.at)}` : "no window yet";
  say(element.querySelector(".query-figures") as HTMLElement, `${query.dialect} · ${count(query.evaluations)} windows, ${count(query.rows)} rows · ${last}${query.alerts.length ? " · contract not kept" : ""}`);
  const button = element.querySelector(".toggle") as HTMLButtonElement;
  button.hidden = query.state === "stopped";
  say(button, query.state === "paused" ? "Resume" : "Pause");
  button.setAttribute("aria-label", `${button.textContent} ${query.name}`);
}

/** Pause a query that runs, and let one go on that is paused. */
export async function toggle(name: string): Promise<void> {
  const paused = live.query(name)?.state === "paused";
  await (paused ? api.resume(name) : api.pause(name));
  notice(paused ? `${name} goes on.` : `${name} is paused.`);
}

/** Remove a query, if the user means it. */
export async function remove(name: string): Promise<boolean> {
  if (!(await confirmed(`Remove ${name}?`, "The query ends, and its results are deleted.", "Remove"))) return false;
  await api.remove(name);
  notice(`${name} is removed.`);
  return true;
}

function editing(signal: AbortSignal): HTMLElement {
  const verdict = h("div", { class: "verdict", role: "status" });
  const name = h("input", { type: "text", placeholder: "chosen for you", autocomplete: "off", spellcheck: "false", pattern: "[A-Za-z0-9][\\w.\\-]{0,63}" });
  const problems: Problem[] = [];
  const terms: string[] = [];
  let offered = false;
  let refused: { text: string; problems: Problem[] } | null = null;

  const editor = new Editor({
    text: draft.get() ?? "",
    label: "Query",
    placeholder: "SELECT … FROM STREAM <…> [RANGE 10s STEP 5s] WHERE { … }",
    known: { streams: () => live.status?.streams.map((stream) => stream.iri) ?? [], terms: () => terms, continuous: true },
    changed: (text) => {
      draft.set(text);
      if (!text.trim()) fill(verdict);
    },
    submit: () => register.click(),
    check: async (text) => {
      const found = await checked(text, verdict, () => editor.toProblem());
      if (refused?.text === text) found.push(...refused.problems);
      problems.splice(0, problems.length, ...found);
      return found;
    },
  });
  signal.addEventListener("abort", () => editor.destroy());
  void vocabulary().then((found) => terms.push(...found));
  live.each(signal, () => {
    // Nobody should have to begin with nothing, if there is a stream to ask.
    const stream = live.status?.streams[0]?.iri;
    if (!offered && stream && !editor.text && draft.get() === null) editor.text = TEMPLATES[0]?.text(stream) ?? "";
    offered ||= stream !== undefined;
  });

  const register = action("Register", async () => {
    const text = editor.text;
    if (!text.trim()) return notice("There is nothing to register yet.", "bad");
    try {
      const query = await api.register(text, name.value.trim() || null);
      draft.set(null);
      notice(`${query.name} is registered.`);
      go(linkTo.query(query.name));
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      refused = { text, problems: error.problems };
      const hint = error.problems[0]?.hint;
      fill(verdict, h("p", { class: "bad" }, h("strong", {}, "Not registered: "), error.message, hint ? h("span", { class: "hint-line" }, hint) : null));
    }
  }, { class: "primary" });

  const choice = h(
    "select",
    {
      onchange: () => {
        const template = TEMPLATES[Number(choice.value)];
        if (template) editor.text = template.text(live.status?.streams[0]?.iri ?? "http://example.org/stream");
        choice.value = "";
        editor.focus();
      },
    },
    h("option", { value: "" }, "Begin with …"),
    TEMPLATES.map((template, at) => h("option", { value: at }, template.name)),
  );
  choice.setAttribute("aria-label", "Begin with a template");
  return h(
    "section",
    { class: "pane grow", "aria-labelledby": "new-query" },
    h("div", { class: "pane-head" }, h("h2", { id: "new-query" }, "New query"), choice),
    editor.element,
    verdict,
    h("div", { class: "register mutates" }, field("Name", name), register, h("span", { class: "muted hint" }, h("kbd", {}, "Ctrl"), " ", h("kbd", {}, "Enter"))),
  );
}

/** Ask the server what a text is, show it below the editor, and give the problems to underline. */
async function checked(text: string, verdict: HTMLElement, toProblem: () => void): Promise<Problem[]> {
  let found: Checked;
  try {
    found = await api.check(text);
  } catch (error) {
    fill(verdict, h("p", { class: "muted" }, `Cannot be checked now: ${complaint(error)}`));
    return [];
  }
  const warnings = found.warnings.map((each): Problem => ({ ...each, severity: "warning" }));
  const first = found.errors[0];
  if (first) {
    fill(
      verdict,
      h(
        "p",
        { class: "bad" },
        first.line ? h("button", { type: "button", class: "link", onclick: toProblem }, `Line ${first.line}, column ${first.column ?? 1}`) : "Error",
        h("span", { class: "message", dir: "auto" }, first.message),
        first.hint ? h("span", { class: "hint-line" }, first.hint) : null,
      ),
    );
  } else {
    fill(
      verdict,
      h("p", { class: "good" }, found.summary?.replace(/^ok, /, "") ?? "This query is right."),
      found.continuous === false ? h("p", { class: "wait" }, "It has no window, so it is no continuous query. Ask it on the ", h("a", { href: linkTo.sparql }, "SPARQL"), " page.") : null,
      warnings.map((each) => h("p", { class: "wait" }, each.message, each.hint ? ` ${each.hint}` : "")),
      found.unknown_streams.length ? h("p", { class: "wait" }, "Streams are made on the ", h("a", { href: linkTo.streams }, "Streams"), " page.") : null,
    );
  }
  return [...found.errors, ...warnings];
}
