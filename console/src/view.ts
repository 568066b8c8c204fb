// What a view is, and small things that views share.
import { fresh, h, say, type Child } from "./dom";
import { Refused, Unreachable } from "./api";

export interface Context {
  /** Ends when the user goes elsewhere. */
  signal: AbortSignal;
  parameters: string[];
}

export interface View {
  title: string;
  element: HTMLElement;
}

export const go = (path: string) => {
  location.hash = path;
};

export const linkTo = {
  start: "#/",
  queries: "#/queries",
  query: (name: string, tab = "") => `#/queries/${encodeURIComponent(name)}${tab && `/${tab}`}`,
  streams: "#/streams",
  stream: (name: string) => `#/streams/${encodeURIComponent(name)}`,
  sparql: "#/sparql",
};

let announcer: (text: string, tone: "good" | "bad") => void = () => undefined;
export function onNotice(announce: typeof announcer): void {
  announcer = announce;
}
/** Tell the user something that passes. */
export const notice = (text: string, tone: "good" | "bad" = "good") => announcer(text, tone);

export function complaint(error: unknown): string {
  if (error instanceof Refused) {
    const { line, column } = error.problems[0] ?? {};
    return line ? `Line ${line}, column ${column ?? 1}: ${error.message}` : error.message;
  }
  if (error instanceof Unreachable) return error.message;
  return error instanceof Error ? error.message : String(error);
}

/** A button that works once at a time, and says what went wrong. */
export function action(label: Child, act: () => Promise<void> | void, attributes: Record<string, string | boolean> = {}): HTMLButtonElement {
  const button = h("button", { type: "button", ...attributes, onclick: () => void run() }, label);
  const run = async () => {
    button.disabled = true;
    button.setAttribute("aria-busy", "true");
    try {
      await act();
    } catch (error) {
      if (!(error instanceof DOMException && error.name === "AbortError")) notice(complaint(error), "bad");
    } finally {
      button.disabled = false;
      button.removeAttribute("aria-busy");
    }
  };
  return button;
}

/** A labelled control. */
export function field(label: string, control: HTMLElement, help = ""): HTMLElement {
  control.id ||= fresh("field");
  const note = help ? h("p", { class: "field-help", id: fresh("help") }, help) : null;
  if (note) control.setAttribute("aria-describedby", note.id);
  return h("div", { class: "field" }, h("label", { for: control.id }, label), control, note);
}

/** A figure with its name. */
export class Figure {
  readonly element: HTMLElement;
  private readonly value = h("dd");
  constructor(name: string, help = "") {
    this.element = h("div", { class: "figure-pair", title: help }, h("dt", {}, name), this.value);
  }
  show(text: string, tone = ""): void {
    say(this.value, text);
    this.value.className = tone;
  }
}

export function empty(title: string, text: Child, ...actions: Child[]): HTMLElement {
  return h("div", { class: "empty" }, h("p", { class: "empty-title" }, title), h("p", {}, text), actions.length ? h("div", { class: "actions" }, actions) : null);
}

export function chip(text: string, tone = ""): HTMLElement {
  return h("span", { class: `chip ${tone}` }, text);
}

/** Links that look like tabs. */
export function tabs(label: string, entries: [string, string][], current: string): HTMLElement {
  return h(
    "nav",
    { class: "tabs", "aria-label": label },
    entries.map(([name, target]) => h("a", { href: target, "aria-current": name === current ? "page" : false }, name)),
  );
}

/** Ask before something that cannot be undone. */
export function confirmed(question: string, detail: string, verb: string): Promise<boolean> {
  return new Promise((resolve) => {
    const title = fresh("dialog");
    const dialog = h(
      "dialog",
      { "aria-labelledby": title },
      h("h2", { id: title }, question),
      h("p", {}, detail),
      h(
        "div",
        { class: "actions" },
        h("button", { type: "button", class: "danger", onclick: () => dialog.close("yes") }, verb),
        h("button", { type: "button", class: "quiet", onclick: () => dialog.close("") }, "Cancel"),
      ),
    );
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(dialog.returnValue === "yes");
    });
    document.body.append(dialog);
    dialog.showModal();
  });
}
