// Elements out of plain values. Nothing here or elsewhere parses HTML: text is always a text node.

export type Child = Node | string | number | null | undefined | false | Child[];
type Handler = (event: never) => void;
type Value = string | number | boolean | null | undefined | Handler;

const SVG = "http://www.w3.org/2000/svg";

/** An HTML element; `onclick` and the like are listeners, other names are attributes. */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Record<string, Value> = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  dress(element, attributes);
  put(element, children);
  return element;
}

/** The same for SVG. */
export function s<K extends keyof SVGElementTagNameMap>(
  tag: K,
  attributes: Record<string, Value> = {},
  ...children: Child[]
): SVGElementTagNameMap[K] {
  const element = document.createElementNS(SVG, tag);
  dress(element, attributes);
  put(element, children);
  return element;
}

/** Set attributes and listeners of an element. */
export function dress(element: Element, attributes: Record<string, Value>): void {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name.slice(2), value as EventListener);
    else if (value === false || value === null || value === undefined) element.removeAttribute(name);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
}

/** Append children; what is missing is left out. */
export function put(parent: Node, children: Child): void {
  if (Array.isArray(children)) for (const child of children) put(parent, child);
  else if (children instanceof Node) parent.appendChild(children);
  else if (typeof children === "string" || typeof children === "number")
    parent.appendChild(document.createTextNode(String(children)));
}

/** Replace all that an element contains. */
export function fill(parent: Element, ...children: Child[]): void {
  parent.replaceChildren();
  put(parent, children);
}

/** Set a text only if it is another, so that readers and selections are left in peace. */
export function say(element: Element, text: string): void {
  if (element.textContent !== text) element.textContent = text;
}

/** Bring a container's children in line with items, keeping the element of each key. */
export function keyed<T>(
  container: Element,
  items: readonly T[],
  key: (item: T) => string,
  make: (item: T) => HTMLElement,
  update: (element: HTMLElement, item: T) => void,
): void {
  const present = new Map<string, HTMLElement>();
  for (const child of [...container.children] as HTMLElement[]) {
    if (child.dataset["key"] === undefined) child.remove();
    else present.set(child.dataset["key"], child);
  }
  let place: ChildNode | null = container.firstChild;
  for (const item of items) {
    const name = key(item);
    let element = present.get(name);
    present.delete(name);
    if (!element) {
      element = make(item);
      element.dataset["key"] = name;
    }
    update(element, item);
    if (place === element) place = element.nextSibling;
    else container.insertBefore(element, place);
  }
  for (const left of present.values()) left.remove();
}

let counter = 0;
/** An id for a label and what it labels. */
export function fresh(prefix: string): string {
  counter += 1;
  return `${prefix}-${counter}`;
}
