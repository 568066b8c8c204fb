// What is around the views: navigation, connection, theme, notices, dialogs, shortcuts.
import { onTokenNeeded } from "./api";
import { fill, fresh, h, s, say } from "./dom";
import { refusals } from "./why";
import { bytes } from "./format";
import { live } from "./live";
import { theme, token, type Theme } from "./settings";
import { field, go, linkTo, onNotice, type View } from "./view";

const PAGES: [string, string, string][] = [
  ["Start", linkTo.start, "s"],
  ["Queries", linkTo.queries, "q"],
  ["Streams", linkTo.streams, "t"],
  ["SPARQL", linkTo.sparql, "p"],
];
const THEMES: Theme[] = ["auto", "light", "dark"];
const NOTICE = 6000;
const COMPLAINT = 20_000;

export class Shell {
  private readonly main = h("main", { id: "main", tabindex: -1 });
  private readonly links = PAGES.map(([name, target]) => h("a", { href: target }, name));
  private readonly notices = h("div", { class: "notices", role: "status", "aria-live": "polite" });
  private readonly banner = h("div", { class: "banner", role: "status", hidden: true });
  private readonly footer = h("footer", {});
  private restarts = 0;

  build(): void {
    const skip = h("a", { href: "#main", class: "skip", onclick: (event: Event) => (event.preventDefault(), this.main.focus()) }, "Skip to the content");
    document.body.replaceChildren(
      skip,
      h("header", { class: "top" }, brand(), h("nav", { class: "pages", "aria-label": "Pages" }, this.links), h("div", { class: "tools" }, themeSwitch(), help())),
      this.banner,
      this.main,
      this.footer,
      this.notices,
    );
    onNotice((text, tone) => this.notice(text, tone));
    onTokenNeeded(askForToken);
    live.each(new AbortController().signal, () => this.connected());
    document.addEventListener("keydown", shortcuts());
  }

  show(view: View, path: string, first: boolean): void {
    document.title = `${view.title} · Headrace`;
    this.links.forEach((link, at) => {
      const target = PAGES[at]?.[1] ?? "";
      const current = target === linkTo.start ? path === "" : path.startsWith(target.slice(2));
      if (current) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    });
    // What went wrong elsewhere is no longer of use, and may cover what is.
    if (!first) for (const complaint of this.notices.querySelectorAll(".bad")) complaint.remove();
    fill(this.main, view.element);
    scrollTo(0, 0);
    if (!first) this.main.focus({ preventScroll: true });
  }

  private connected(): void {
    const { connection, status } = live;
    if (connection === "lost") this.say("lost", "The connection is lost. What you see is as it was; trying again …");
    else if (connection === "refused") this.say("lost", `The server refuses: ${live.problem}`);
    else if (status && !status.ready && !status.problem) this.say("wait", "The server is starting …");
    else if (status?.refused.length) this.say(status.refused.every((each) => each.is_ready) ? "wait" : "lost", refusals(status.refused));
    else if (live.restarts > this.restarts) {
      this.restarts = live.restarts;
      this.say("back", "Connected again. Everything goes on where it was.");
      setTimeout(() => live.connection === "live" && (this.banner.hidden = true), NOTICE);
    } else if (!this.banner.classList.contains("back")) this.banner.hidden = true;
    if (!status) return;
    document.documentElement.classList.toggle("read-only", status.read_only);
    const parts = [`Headrace ${status.version}`, `runner ${status.runner}`, `${bytes(status.memory_bytes)} in memory`, status.read_only ? "reading only" : ""];
    say(this.footer, parts.filter(Boolean).join(" · "));
  }

  private say(kind: string, text: string): void {
    this.banner.hidden = false;
    this.banner.className = `banner ${kind}`;
    say(this.banner, text);
  }

  private notice(text: string, tone: "good" | "bad"): void {
    const close = h("button", { type: "button", class: "link", "aria-label": "Dismiss", onclick: () => item.remove() }, "×");
    const item = h("div", { class: `notice ${tone}` }, h("span", { dir: "auto" }, text), close);
    // Another try is under way when the next is told: what it says is what counts.
    for (const complaint of this.notices.querySelectorAll(".bad")) complaint.remove();
    this.notices.append(item);
    setTimeout(() => item.remove(), tone === "good" ? NOTICE : COMPLAINT);
    while (this.notices.children.length > 4) this.notices.firstChild?.remove();
  }
}

function brand(): HTMLElement {
  const waves = ["M2 7c2.700-2.400 5.300-2.400 8 0s5.300 2.400 8 0", "M2 12c2.700-2.400 5.300-2.400 8 0s5.300 2.400 8 0", "M2 17c2.700-2.400 5.300-2.400 8 0s5.300 2.400 8 0"];
  return h("a", { href: linkTo.start, class: "brand" }, s("svg", { viewBox: "0 0 20 22", "aria-hidden": "true" }, waves.map((d) => s("path", { d }))), "Headrace");
}

function themeSwitch(): HTMLElement {
  const words: Record<Theme, string> = { auto: "Auto", light: "Light", dark: "Dark" };
  const word = h("span");
  const half = s("svg", { viewBox: "0 0 16 16", "aria-hidden": "true" }, s("path", { d: "M8 1a7 7 0 1 0 0 14A7 7 0 0 0 8 1m0 1.600v10.800a5.400 5.400 0 0 1 0-10.800" }));
  const button = h("button", { type: "button", class: "quiet tool", onclick: () => {
    theme.set(THEMES[(THEMES.indexOf(theme.get()) + 1) % THEMES.length] ?? "auto");
    label();
  } }, half, word);
  const label = () => {
    say(word, words[theme.get()]);
    button.setAttribute("aria-label", `Colours: ${words[theme.get()].toLowerCase()}. Switch`);
  };
  label();
  return button;
}

const KEYS: [string, string][] = [
  ["g s", "Start"],
  ["g q", "Queries, with the editor"],
  ["g t", "Streams"],
  ["g p", "SPARQL"],
  ["e", "into the editor"],
  ["Esc then Tab", "out of the editor"],
  ["Ctrl Enter", "register, or ask"],
  ["Ctrl Space", "what could stand here"],
  ["F8", "the next mistake"],
  ["?", "this list"],
];

function help(): HTMLElement {
  return h("button", { type: "button", class: "quiet tool", "aria-label": "Keyboard shortcuts", "data-help": true, onclick: () => showKeys() }, "?");
}

function showKeys(): void {
  if (document.querySelector("dialog[open]")) return;
  const title = fresh("dialog");
  const dialog = h(
    "dialog",
    { "aria-labelledby": title },
    h("h2", { id: title }, "By keyboard"),
    h("dl", { class: "keys" }, KEYS.map(([key, words]) => h("div", {}, h("dt", {}, key.split(" ").map((part, at) => [at ? " " : "", part === "then" ? part : h("kbd", {}, part)])), h("dd", {}, words)))),
    h("div", { class: "actions" }, h("button", { type: "button", class: "primary", onclick: () => dialog.close() }, "Close")),
  );
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

const isTyping = (target: EventTarget | null) => target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));

/** `g` and a letter goes to a page; single keys do little things. */
function shortcuts(): (event: KeyboardEvent) => void {
  let leader = 0;
  return (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target) || document.querySelector("dialog[open]")) return;
    const page = PAGES.find(([, , key]) => key === event.key);
    if (event.timeStamp - leader < 1500 && leader && page) {
      event.preventDefault();
      go(page[1]);
      leader = 0;
    } else if (event.key === "g") leader = event.timeStamp;
    else if (event.key === "?") showKeys();
    else if (event.key === "e") {
      const editor = document.querySelector<HTMLElement>(".cm-content[contenteditable=true]");
      if (editor) {
        event.preventDefault();
        editor.focus();
      }
    }
  };
}

let asking: Promise<void> | null = null;

/** Ask for the token once, however many requests wait for it. */
function askForToken(wrong: boolean): Promise<void> {
  asking ??= new Promise<void>((resolve) => {
    const title = fresh("dialog");
    const input = h("input", { type: "password", autocomplete: "off", required: true });
    const form = h(
      "form",
      { class: "form", onsubmit: (event: Event) => {
        event.preventDefault();
        token.set(input.value.trim());
        dialog.close();
      } },
      h("h2", { id: title }, "This server asks for a token"),
      h("p", {}, "It was set when the server was started. It stays in this tab until you close it."),
      wrong ? h("p", { class: "bad", role: "alert" }, "That token was not accepted.") : null,
      field("Token", input),
      h("div", { class: "actions" }, h("button", { class: "primary" }, "Go on")),
    );
    const dialog = h("dialog", { "aria-labelledby": title, oncancel: (event: Event) => event.preventDefault() }, form);
    dialog.addEventListener("close", () => {
      dialog.remove();
      asking = null;
      resolve();
    });
    document.body.append(dialog);
    dialog.showModal();
  });
  return asking;
}
