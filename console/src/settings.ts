// What the browser remembers: the theme for good, the token for this tab only.

const TOKEN = "headrace.token";
const THEME = "headrace.theme";
const DRAFT = "headrace.draft";

export type Theme = "auto" | "light" | "dark";

function read(store: () => Storage, key: string): string | null {
  try {
    return store().getItem(key);
  } catch {
    return null;
  }
}

function write(store: () => Storage, key: string, value: string | null): void {
  try {
    if (value === null) store().removeItem(key);
    else store().setItem(key, value);
  } catch {
    // A browser that keeps nothing still works; it only asks again.
  }
}

const tab = () => sessionStorage;
const always = () => localStorage;

export const token = {
  get: () => read(tab, TOKEN),
  set: (value: string | null) => write(tab, TOKEN, value),
};

export const draft = {
  get: () => read(tab, DRAFT),
  set: (value: string | null) => write(tab, DRAFT, value),
};

export const theme = {
  get: (): Theme => {
    const value = read(always, THEME);
    return value === "light" || value === "dark" ? value : "auto";
  },
  set(value: Theme): void {
    write(always, THEME, value === "auto" ? null : value);
    theme.apply();
  },
  apply(): void {
    document.documentElement.dataset["theme"] = theme.get();
    window.dispatchEvent(new Event("themechange"));
  },
};
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => window.dispatchEvent(new Event("themechange")));

export const calm = matchMedia("(prefers-reduced-motion: reduce)");

let probe: HTMLElement | null = null;

/** A colour of the theme that is shown, for canvases, which know no custom properties. */
export function tone(name: string): string {
  if (!probe) {
    probe = document.createElement("span");
    probe.hidden = true;
    document.body.append(probe);
  }
  probe.style.color = `var(${name})`;
  return getComputedStyle(probe).color;
}
