// RDF terms as people read them: short names, plain numbers; and what of them can be drawn.
import { h } from "./dom";
import { rounded } from "./format";
import words from "./words.json";

export interface Term {
  type: "uri" | "literal" | "bnode" | "triple" | "typed-literal";
  value: string | { subject: Term; predicate: Term; object: Term };
  datatype?: string;
  "xml:lang"?: string;
}
export type Row = Record<string, Term | undefined>;

const XSD = "http://www.w3.org/2001/XMLSchema#";
const NUMBERS = new Set(
  ["integer", "decimal", "double", "float", "long", "int", "short", "byte", "nonNegativeInteger", "positiveInteger", "unsignedInt", "unsignedLong"].map(
    (name) => XSD + name,
  ),
);

const known: [string, string][] = Object.entries(words.prefixes).map(([prefix, space]) => [space, prefix]);

/** The prefixes that a query declares, longest namespace first, before those that everybody knows. */
export function prefixes(text: string): [string, string][] {
  const found: [string, string][] = [];
  for (const match of text.matchAll(/PREFIX\s+([\w.-]*):\s*<([^>]*)>/gi)) found.push([match[2] ?? "", match[1] ?? ""]);
  return [...found, ...known].filter(([space]) => space).sort((one, other) => other[0].length - one[0].length);
}

/** An IRI as it would be written with prefixes, or its last part if it has none. */
export function shortened(iri: string, names: [string, string][] = known): string {
  for (const [space, prefix] of names) {
    if (iri.startsWith(space) && /^[\w.-]*$/.test(iri.slice(space.length))) return `${prefix}:${iri.slice(space.length)}`;
  }
  return `<${iri}>`;
}

/** The name of a thing without its namespace: good for legends and chips. */
export function lastPart(iri: string): string {
  const parts = iri.split(/[/#]/).filter(Boolean);
  return parts.at(-1) ?? iri;
}

export function text(term: Term | undefined, names?: [string, string][]): string {
  if (!term) return "";
  if (typeof term.value !== "string") {
    const { subject, predicate, object } = term.value;
    return `<< ${text(subject, names)} ${text(predicate, names)} ${text(object, names)} >>`;
  }
  if (term.type === "uri") return shortened(term.value, names);
  if (term.type === "bnode") return `_:${term.value}`;
  return term.value;
}

/** What a legend calls a term. */
export function label(term: Term | undefined): string {
  if (!term) return "(none)";
  return term.type === "uri" && typeof term.value === "string" ? lastPart(term.value) : text(term);
}

export function numeric(term: Term | undefined): number | null {
  if (!term || typeof term.value !== "string" || !term.datatype || !NUMBERS.has(term.datatype)) return null;
  const value = Number(term.value.replace(/^\+?INF$/, "Infinity").replace(/^-INF$/, "-Infinity"));
  return Number.isFinite(value) ? value : null;
}

/** A number in a plain literal too: coordinates are often written so. */
export function coordinate(term: Term | undefined): number | null {
  const value = numeric(term);
  if (value !== null || !term || typeof term.value !== "string" || term.type !== "literal") return value;
  return /^[+-]?\d+(\.\d+)?$/.test(term.value.trim()) ? Number(term.value) : null;
}

/** A term as an element: a link only if it leads to the web, and never more than text. */
export function shown(term: Term | undefined, names?: [string, string][]): HTMLElement {
  if (!term) return h("span", { class: "term none" }, h("span", { class: "hidden" }, "unbound"), "·");
  const words = text(term, names);
  if (term.type === "uri" && typeof term.value === "string") {
    const attributes = { class: "term iri", title: term.value, dir: "auto" };
    if (/^https?:\/\/[^\s]+$/i.test(term.value))
      return h("a", { ...attributes, href: term.value, rel: "noreferrer noopener", target: "_blank" }, words);
    return h("span", attributes, words);
  }
  const value = numeric(term);
  if (value !== null) {
    const inexact = /#(double|float)$/.test(term.datatype ?? "");
    return h("span", { class: "term number", title: `${words} ${shortened(term.datatype ?? "", names)}` }, inexact ? rounded(value) : words);
  }
  const language = term["xml:lang"];
  return h("span", { class: `term ${term.type}`, dir: "auto", lang: language, title: term.datatype ? shortened(term.datatype, names) : language }, words);
}
